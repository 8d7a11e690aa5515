// Package crash defines the domain: reports, signatures, buckets, releases, bugs, filings, people,
// and the kinds of errors. It is pure: it uses no network, no database and no clock. It parses no
// wire format; crash/apport does.
package crash

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error, so that handlers and commands can choose an HTTP status or an exit code
// without parsing messages. Kinds are errors themselves: errors.Is(err, crash.NotFound).
type Kind uint8

// The kinds of errors. An error without a kind is internal: it is logged, and people see a generic
// message.
const (
	Invalid          Kind = iota + 1 // the request is not valid
	Unauthenticated                  // not signed in, or the credentials are wrong
	Forbidden                        // signed in, but not allowed
	NotFound                         // the object does not exist
	Conflict                         // the state of the object does not permit the request
	TooLarge                         // over a documented limit
	UnsupportedMedia                 // the media type is not supported
	Unprocessable                    // valid, but impossible for this object
	Refused                          // the external tracker refused
	Unavailable                      // a service that mishap depends on is unavailable; a retry may succeed
	TooMany                          // too many requests; RetryAfter says when to retry
)

var kindNames = [...]string{
	Invalid: "invalid", Unauthenticated: "unauthenticated", Forbidden: "forbidden", NotFound: "not found",
	Conflict: "conflict", TooLarge: "too large", UnsupportedMedia: "unsupported media type",
	Unprocessable: "unprocessable", Refused: "refused", Unavailable: "unavailable", TooMany: "too many requests",
}

// Error returns the name of the kind. It makes a Kind an error, for errors.Is.
func (k Kind) Error() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "internal"
}

// Error is an error with a sentence that may be shown to the person who caused it.
type Error struct {
	Kind       Kind
	Code       string        // stable code for programs, in snake case: "unknown_bucket"
	Message    string        // one sentence: what happened, why, what to do
	RetryAfter time.Duration // when a retry can succeed; 0: unspecified
	Err        error         // the cause, for the log only; may be nil
}

// Errorf returns an *Error whose message may be shown.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because returns a copy of e with a cause, which only the log shows.
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

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Kind}
}

// KindOf returns the kind of err, or 0 if it is internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	return 0
}
