package crash

import "time"

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	EventNew         EventKind = "new"          // a problem was seen for the first time
	EventRegressed   EventKind = "regressed"    // a problem was seen again in a version that has the fix
	EventRising      EventKind = "rising"       // many more machines than usual report a problem
	EventProposed    EventKind = "proposed"     // a problem is new in a version that is only proposed
	EventSymbolised  EventKind = "symbolised"   // the functions of a problem have names now
	EventQuiet       EventKind = "quiet"        // a problem has not been seen for some time
	EventUnmuted     EventKind = "unmuted"      // the condition of a muted problem was met
	EventStorm       EventKind = "storm"        // many problems of one package are new
	EventRefused     EventKind = "refused"      // the tracker refused a bug
	EventTracker     EventKind = "tracker"      // the tracker does not accept the credentials
	EventAssigned    EventKind = "assigned"     // a problem was assigned to a person
	EventMentioned   EventKind = "mentioned"    // a note names a person
	EventEndpointOff EventKind = "endpoint off" // an endpoint was switched off because deliveries failed
	EventToken       EventKind = "token"        // an API token expires soon
	EventAccount     EventKind = "account"      // somebody else changed how a person signs in
	EventMany        EventKind = "many"         // a summary of events beyond a limit
)

// EventKinds lists all kinds of events. Those that need attention first come first.
var EventKinds = []EventKind{
	EventTracker, EventEndpointOff, EventRefused, EventAccount, EventRegressed, EventStorm, EventUnmuted, EventProposed,
	EventNew,
	EventRising, EventMentioned, EventAssigned, EventToken, EventSymbolised, EventQuiet, EventMany,
}

// OwnEvents are the kinds of events about a person's own account, about which people without a role are
// told, too.
var OwnEvents = []EventKind{EventAccount, EventToken}

// Event is something that happened and that someone is told about. Its texts contain no private data.
type Event struct {
	ID       int64
	Edge     string // identifies the change; the same change causes one event
	Kind     EventKind
	At       time.Time
	Bucket   *BucketID // nil: not about one problem
	Title    string    // of the problem, or a few words
	Package  string
	Source   string // source package
	Release  Release
	Version  string
	Machines int64  // 0: unknown, or none
	Text     string // one sentence
	Rule     int64  // the rule that detected it; 0: none
	Thread   string // title of the first event about the problem, in mail; empty: this is not mail
}

// Recipients are the people and endpoints that are told about an event.
type Recipients struct {
	People    []Recipient
	Endpoints []int64
}

// Recipient is a person who is told about an event.
type Recipient struct {
	User   int64
	Reason string // why, such as "you follow mesa"
}

// eventKinds names the kinds of events.
var eventKinds = map[EventKind]string{
	EventNew: "New", EventRegressed: "Regressed", EventRising: "Rising",
	EventProposed: "New in proposed", EventSymbolised: "Symbolised", EventQuiet: "Quiet",
	EventUnmuted: "Unmuted", EventStorm: "Many new problems", EventRefused: "Filing refused",
	EventTracker: "Tracker refuses mishap", EventAssigned: "Assigned", EventMentioned: "Mentioned",
	EventEndpointOff: "Endpoint switched off", EventToken: "API token expires",
	EventAccount: "Your account was changed", EventMany: "Summary",
}

// Label names a kind of event in pages and mails.
func (k EventKind) Label() string {
	if name := eventKinds[k]; name != "" {
		return name
	}
	return string(k)
}
