package crash

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of trouble an error is, so that the edge of the program can choose an answer (an HTTP status, an
// exit code) without reading texts. Kinds are errors themselves: errors.Is(err, crash.NotFound).
type Kind uint8

// The kinds. Anything that carries none of them is internal: it is logged, and the person sees a generic text.
const (
	Invalid          Kind = iota + 1 // the request makes no sense as it stands
	Unauthenticated                  // nobody is signed in, or the proof does not hold
	Forbidden                        // signed in, but not allowed
	NotFound                         // no such thing
	Conflict                         // the thing is in a state that does not permit this
	TooLarge                         // over a stated limit
	UnsupportedMedia                 // a media type that is not read here
	Unprocessable                    // understood, but it cannot be done with this thing
	Refused                          // the external tracker said no
	Unavailable                      // a part of the house is away; trying later makes sense
	TooMany                          // too often in too short a time; RetryAfter says when to go on
)

var kindNames = [...]string{
	Invalid: "invalid", Unauthenticated: "unauthenticated", Forbidden: "forbidden", NotFound: "not found",
	Conflict: "conflict", TooLarge: "too large", UnsupportedMedia: "unsupported media type",
	Unprocessable: "unprocessable", Refused: "refused", Unavailable: "unavailable", TooMany: "too many requests",
}

// Error makes a Kind usable with errors.Is.
func (k Kind) Error() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "internal"
}

// Error is an error with a sentence that may be shown to the person who caused it.
type Error struct {
	Kind       Kind
	Code       string        // stable word for programs, snake_case: "unknown_bucket"
	Message    string        // one sentence: what happened, why, what to do
	RetryAfter time.Duration // when trying again makes sense; 0: not said
	Err        error         // the cause, for the log only; may be nil
}

// Errorf builds an *Error whose message may be shown.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because returns a copy of e with the cause added for the log.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Kind}
}

// KindOf returns the kind that err carries, or 0 when it is internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	return 0
}
