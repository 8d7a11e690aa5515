// Package audit describes the audit log: who did what, from where, and with which result. It also
// carries the person, rule or task that acts in the context of a call. Package db stores records.
package audit

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"
)

// Kind is the kind of an actor.
type Kind string

// The kinds of actors.
const (
	Unknown Kind = ""        // recorded before actors had kinds
	Person  Kind = "person"  // in a browser
	Token   Kind = "token"   // a program with an API token
	Rule    Kind = "rule"    // a rule
	Job     Kind = "job"     // mishap itself
	Command Kind = "command" // the command line
	Visitor Kind = "visitor" // nobody is signed in
)

// Kinds lists the kinds that new records have.
var Kinds = []Kind{Person, Token, Rule, Job, Command, Visitor}

// Actor is who makes a change or reads private data. The middleware of the web side, the runner of
// rules, the periodic tasks and the command line each put one into the context.
type Actor struct {
	Kind      Kind
	Person    string // name of the account; empty: none
	Via       string // name and first characters of the token, name of the rule or task, or system user
	Address   string // of the client; empty: unknown
	RequestID string

	recorded atomic.Bool
}

// MarkRecorded notes that a record of the current request or command exists, or that it changed
// nothing.
func (a *Actor) MarkRecorded() { a.recorded.Store(true) }

// Recorded reports whether MarkRecorded was called.
func (a *Actor) Recorded() bool { return a.recorded.Load() }

type actorKey struct{}

// WithActor returns a context with an actor.
func WithActor(ctx context.Context, a *Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context, or nil.
func ActorOf(ctx context.Context) *Actor {
	a, _ := ctx.Value(actorKey{}).(*Actor)
	return a
}

// The results of actions.
const (
	Done    = "done"
	Refused = "refused"
)

// Record is a record of the audit log. Its JSON form is that of exports.
type Record struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	Kind      Kind            `json:"kind"`
	Person    string          `json:"person"`
	Via       string          `json:"via"`
	Address   string          `json:"address"`
	RequestID string          `json:"request_id"`
	Action    string          `json:"action"`
	Object    string          `json:"object"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Detail    json.RawMessage `json:"detail"`
	Result    string          `json:"result"`
	Reason    string          `json:"reason,omitempty"`
}

// Cursor is the place of a record in the log, newest first. The zero Cursor is before all records.
type Cursor struct {
	At time.Time
	ID int64
}

// Filter selects records. Zero fields select all.
type Filter struct {
	Person       string // account, or system user of the command line
	Action       string
	Object       string
	Address      string
	Result       string
	Since, Until time.Time // Until is exclusive
}
