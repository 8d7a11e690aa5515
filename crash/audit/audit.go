// Package audit describes the audit log: who did what, from where, and with which result. It also
// carries the person, rule or task that acts in the context of a call. Package db stores records.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Reading is the prefix of actions that read private data.
const Reading = "read."

// Refusals of requests, and actions that the middleware records.
const (
	RequestRefused = "request.refused"
	SignInRefused  = "user.sign-in-refused"
	RequestOther   = "request.other"
	CommandOther   = "command.other"
)

// Actions maps every action to words for people. Recording another action is an error.
var Actions = map[string]string{
	"access.grant":            "Gave a role to a group",
	"access.revoke":           "Took a role from a group",
	"audit.drop":              "Removed old records of this log",
	"bug.create":              "Asked for a bug",
	"bug.comment-refused":     "Commented on a bug, but the tracker refused",
	"bug.comment-sent":        "Commented on a bug",
	"bug.comment-unknown":     "Commented on a bug, with unknown outcome",
	"bug.fall-back":           "Changed to the account of mishap for a bug",
	"bug.filed":               "Filed a bug",
	"bug.give-up":             "Gave up filing a bug",
	"bug.link":                "Linked a bug",
	"bug.reconciled":          "Found a bug in the tracker and linked it",
	"bug.relink":              "Linked a bug again",
	"bug.retry":               "Tried to file a bug again",
	"bug.section-changed":     "Stopped updating the section in a bug, because someone changed it",
	"bug.section-failed":      "Failed to update the section in a bug",
	"bug.section-foreign":     "Left the section in a bug alone, because it is of others",
	"bug.section-removed":     "Stopped updating the section in a bug, because someone removed it",
	"bug.section-resumed":     "Resumed updating the section in a bug",
	"bug.section-written":     "Updated the section in a bug",
	"bug.unlink":              "Unlinked a bug",
	"candidate.declined":      "Declined a proposed bug",
	"candidate.filed":         "Approved a proposed bug",
	"candidate.proposed":      "Proposed a bug",
	"candidate.waiting":       "Restored a proposed bug",
	CommandOther:              "Ran a command that may change data",
	"core.ask":                "Asked machines for a core dump",
	"core.withdraw":           "Withdrew the request for a core dump",
	"delivery.again":          "Sent an event to an endpoint again",
	"endpoint.add":            "Added an endpoint",
	"endpoint.change":         "Changed an endpoint",
	"endpoint.delete":         "Deleted an endpoint",
	"endpoint.disable":        "Switched an endpoint off",
	"endpoint.enable":         "Switched an endpoint on",
	"endpoint.off":            "Switched off an endpoint that failed",
	"endpoint.rotate":         "Changed the secret of an endpoint",
	"endpoint.test":           "Tested an endpoint",
	"follow.add":              "Followed a package, problem or search",
	"follow.remove":           "Stopped following",
	"filing.restored":         "Compared a restored database with the tracker",
	"problem.embargo":         "Embargoed a problem",
	"problem.lift-embargo":    "Lifted the embargo of a problem",
	"installs.import":         "Imported numbers of machines",
	"mail.address":            "Set an email address",
	"mail.address-confirm":    "Confirmed an email address",
	"mail.address-remove":     "Removed an email address",
	"mail.retry":              "Sent an email again",
	"mail.settings":           "Changed settings of mail",
	"mail.test":               "Sent a test email",
	"mail.unsubscribe":        "Unsubscribed from mail",
	"mail.weekly-add":         "Subscribed to a weekly report",
	"mail.weekly-remove":      "Ended a weekly report",
	"note.add":                "Added a note",
	"note.change":             "Changed or deleted a note",
	"notifications.resume":    "Resumed notifications",
	"notifications.stop":      "Stopped all notifications",
	"door.close":              "Closed a door",
	"door.open":               "Opened a door",
	"project.create":          "Created a project",
	"project.key":             "Added a key to a project",
	"project.list":            "Changed whether DrKonqi’s list has a project",
	"project.revoke":          "Revoked a key of a project",
	"problem.assign":          "Assigned a problem",
	"problem.merge":           "Merged a problem",
	"problem.rename":          "Renamed a problem",
	"problem.return":          "Showed a muted problem again",
	"problem.split":           "Split a problem",
	"problem.tag":             "Tagged a problem",
	"problem.triage":          "Set the status of a problem",
	"problem.unassign":        "Removed the assignee of a problem",
	"problem.unmerge":         "Undid a merge",
	"problem.unname":          "Undid a new name",
	"problem.unsplit":         "Undid a split",
	"problem.untag":           "Removed a tag from a problem",
	"problem.untriage":        "Undid the status of a problem",
	"read.api":                "Read private data through the API",
	"read.compare":            "Compared reports",
	"read.core":               "Downloaded a core dump",
	"read.file":               "Downloaded a report",
	"read.log":                "Exported this log",
	"read.machine":            "Viewed the history of a machine",
	"read.report":             "Viewed a report",
	"read.reports":            "Downloaded a list of reports",
	"read.values":             "Viewed private values of the reports of a problem",
	"read.tracker-secret":     "Viewed the access token of the tracker",
	"regroup.start":           "Started regrouping",
	"regroup.stop":            "Stopped regrouping",
	RequestOther:              "Sent a request that may change something",
	RequestRefused:            "Requested something",
	"routes.save":             "Saved where bugs go",
	"rule.change":             "Changed a rule",
	"rule.create":             "Created a rule",
	"rule.delete":             "Deleted a rule",
	"rule.restore":            "Restored a rule",
	"similar.forget":          "Returned to the built-in weights of similar problems",
	"similar.learn":           "Learned which problems are similar",
	"search.change":           "Changed a saved search",
	"search.delete":           "Deleted a saved search",
	"search.restore":          "Restored a saved search",
	"search.save":             "Saved a search",
	"session.end":             "Ended a session",
	"symbols.retry":           "Symbolised a report again",
	"template.drop":           "Deleted a template of bugs",
	"template.save":           "Saved a template of bugs",
	"token.add":               "Created an API token",
	"token.revoke":            "Revoked an API token",
	"tracker.connect":         "Connected the tracker",
	"tracker.confirm-own":     "Finished connecting an own account at the tracker",
	"tracker.connect-own":     "Began to connect an own account at the tracker",
	"tracker.disconnect-own":  "Disconnected an own account at the tracker",
	"tracker.forget":          "Disconnected the tracker",
	"tracker.own-rejected":    "The tracker rejected an own account",
	"tracker.prefer-own":      "Chose the account that files bugs",
	"tracker.recheck":         "Read bugs again",
	"tracker.request":         "Began to connect the tracker",
	"tracker.updates":         "Saved what mishap writes to bugs",
	"tracker.updates-drop":    "Deleted a rule about what mishap writes to bugs",
	"identity.groups":         "The groups of a person changed at the provider",
	"identity.link":           "Connected another way to sign in",
	"identity.unlink":         "Disconnected a way to sign in",
	"session.end-by-provider": "Signed out at the provider",
	"problem.hold":            "Held a problem",
	"problem.lift-hold":       "Lifted the hold of a problem",
	"privacy.apply":           "Began to remove secret fields of stored reports",
	"privacy.check":           "Began to check the fields of stored reports",
	"privacy.expire":          "Began to remove private fields of old reports",
	"privacy.finished":        "Finished removing fields of stored reports",
	"machine.erase":           "Asked to erase a machine",
	"machine.erased":          "Erased a machine",
	"archive.add":             "Added an archive",
	"archive.move":            "Moved reports to or from an archive",
	"archive.remove":          "Removed an archive",
	"machine.unblock":         "Let an erased machine send reports again",
	"read.machine-dump":       "Downloaded everything about a machine",
	"tracker.updates-order":   "Reordered the rules about what mishap writes to bugs",
	"user.add":                "Added an account",
	"user.disable":            "Disabled an account",
	"user.enable":             "Enabled an account",
	"user.password":           "Changed a password",
	"user.remove":             "Removed an account",
	"user.role":               "Changed the role of an account",
	"user.sign-in":            "Signed in",
	SignInRefused:             "Failed to sign in",
	"user.sign-out":           "Signed out",
	"user.team":               "Gave a service account to another team",
	"user.tracker-name":       "Changed a name at the tracker",
	"user.recovery-code-used": "Signed in with a recovery code",
	"user.recovery-codes":     "Made new recovery codes",
	"user.totp-on":            "Switched on an authenticator app",
	"user.totp-off":           "Switched off an authenticator app",
	"user.totp-reset":         "Removed the authenticator app of an account",

	"core.download": "Downloaded a core dump", // recorded before downloads were read.core
}

// valueless are actions whose records have no values before and after.
var valueless = []string{
	// They change nothing, or repeat a job or a mail.
	RequestRefused, SignInRefused, "bug.comment-refused", "bug.section-failed", "bug.section-foreign",
	"endpoint.test", "mail.retry", "mail.test", "symbols.retry", "tracker.recheck",
	// The middleware does not know what a request has changed. What a command or a comparison changes leaves
	// records of its own.
	RequestOther, CommandOther, "filing.restored",
	// What was dropped, erased or removed must not stay. The detail has the numbers.
	"audit.drop", "machine.erased", "privacy.finished",
	// The tracker has the text, or it is text of others.
	"bug.comment-sent", "bug.comment-unknown", "bug.section-changed", "bug.section-removed",
	"bug.section-resumed", "bug.section-written",
	// The history of the note has all its texts.
	"note.add", "note.change",
	// A session has begun or ended, which the detail describes; a token works only once it is confirmed.
	"session.end", "session.end-by-provider", "tracker.request", "user.sign-in", "user.sign-out",
	"core.download", // reads
}

// Valueless reports whether records of an action have no values before and after. Those that read have
// none either.
func Valueless(action string) bool {
	return strings.HasPrefix(action, Reading) || slices.Contains(valueless, action)
}

// UnknownAction says that there is no such action, and lists those that there are.
func UnknownAction(action string) string {
	return fmt.Sprintf("There is no action %.60q. The actions are %s.", action,
		strings.Join(slices.Sorted(maps.Keys(Actions)), ", "))
}

// Words returns an action in words, and whether it is known.
func Words(action string) (words string, known bool) {
	if words, known = Actions[action]; known {
		return words, true
	}
	return action, false
}

// Verb returns the first word of an action, such as "merged". The history of a problem shows it.
func Verb(action string) string {
	words, _ := Words(action)
	verb, _, _ := strings.Cut(words, " ")
	return strings.ToLower(verb)
}
