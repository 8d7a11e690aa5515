package crash

import (
	"regexp"
	"time"
)

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

// EndpointKind is the format in which an endpoint gets events.
type EndpointKind string

// The kinds of endpoints.
const (
	EndpointWebhook    EndpointKind = "webhook" // Standard Webhooks
	EndpointSlack      EndpointKind = "slack"
	EndpointMattermost EndpointKind = "mattermost"
	EndpointMatrix     EndpointKind = "matrix"
)

// EndpointKinds lists all kinds of endpoints.
var EndpointKinds = []EndpointKind{EndpointWebhook, EndpointSlack, EndpointMattermost, EndpointMatrix}

// ParseEndpointKind parses the name of a kind. It returns an error of kind Invalid for any other text.
func ParseEndpointKind(s string) (EndpointKind, error) {
	return parseWord(s, EndpointKinds, "unknown_endpoint_kind", "%.40q is not a kind of endpoint.")
}

// Endpoint is an address of another program that is told about events.
type Endpoint struct {
	ID        int64
	Name      string
	Kind      EndpointKind
	Host      string // scheme and host of the address, which pages may show
	Channel   string // Matrix: id of the room. Mattermost: name of a channel; empty: that of the address
	Owner     int64  // the account that is told when deliveries fail; 0: all administrators
	OwnerName string
	PerMinute int // maximum number of requests per minute; events beyond it are summarised

	// The secrets. Lists of endpoints do not contain them.
	Address       Secret // the whole address
	Secret        Secret // webhook: signs; matrix: access token; otherwise empty
	Previous      Secret // signs until PreviousUntil, after a rotation
	PreviousUntil time.Time

	Created        time.Time
	Disabled       time.Time // zero: it is on
	DisabledWhy    string
	LastSuccess    time.Time // zero: never
	SuccessStatus  int
	LastFailure    time.Time // zero: never
	FailureStatus  int       // 0: there was no answer
	FailureAnswer  string
	Failures       int       // failed attempts since the last success
	NotBefore      time.Time // it gets nothing before
	Waiting        int64     // number of deliveries that wait
	OldestDelivery time.Time // when the oldest of them was stored
}

// DeliveryID identifies a delivery at the receiver. It is a UUID.
type DeliveryID string

var deliveryID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ParseDeliveryID parses a UUID. It returns an error of kind NotFound for any other text.
func ParseDeliveryID(s string) (DeliveryID, error) {
	if !deliveryID.MatchString(s) {
		return "", Errorf(NotFound, "unknown_delivery", "There is no such delivery.")
	}
	return DeliveryID(s), nil
}

// DeliveryState says what became of a delivery.
type DeliveryState string

// The states of deliveries.
const (
	DeliveryWaiting    DeliveryState = "waiting"
	DeliveryDelivered  DeliveryState = "delivered"
	DeliveryFailed     DeliveryState = "failed"     // all attempts have failed
	DeliverySummarised DeliveryState = "summarised" // another delivery mentions it
)

// DeliveryStates lists all states.
var DeliveryStates = []DeliveryState{DeliveryWaiting, DeliveryDelivered, DeliveryFailed, DeliverySummarised}

// Delivery is an event on its way to an endpoint.
type Delivery struct {
	ID       DeliveryID
	Endpoint int64
	Event    Event
	Created  time.Time
	State    DeliveryState
	Due      time.Time // of the next attempt
	Attempts int       // failed attempts since it was last sent by the schedule or by a person
	Resent   int       // how often a person has sent it again
	Payload  string    // body of the request; empty: it was not sent yet
	Summary  DeliveryID
}

// DeliveryAttempt is one request that was sent for a delivery.
type DeliveryAttempt struct {
	Started time.Time
	Ended   time.Time // zero: it has not ended
	Status  int       // of the answer; 0: there was none
	Answer  string    // the beginning of the answer
	Problem string    // why it failed; empty: it succeeded, or has not ended
}

// DeliveryClaim entitles an instance to make one attempt of a delivery.
type DeliveryClaim struct {
	Delivery
	To         Endpoint // with secrets
	Summarised []Event  // of a summary: the first events that it mentions
	Instance   int64
	Claimed    time.Time
	Attempt    int64 // number of the attempt in the log
}

// DeliveryOutcome is the result of one attempt, and what follows from it.
type DeliveryOutcome struct {
	Status  int    // of the answer; 0: there was none
	Answer  string // the beginning of the answer
	Problem string // why it failed

	State DeliveryState // delivered, waiting for the next attempt, or failed
	Due   time.Time     // of the next attempt
	Pause time.Time     // the endpoint gets nothing before; zero: at once
	Off   string        // why the endpoint is switched off; empty: it is not

	Interrupted bool // the instance stopped: the attempt does not count
}

// NotificationStop says why no notifications are sent. The zero value means that they are.
type NotificationStop struct {
	Stopped  time.Time // when a person stopped all; zero: nobody did
	Person   string
	Restored time.Time // when the database was restored from a backup, see [Restored]; zero: none is pending
}

// Holds reports whether no notifications are sent.
func (s NotificationStop) Holds() bool { return !s.Stopped.IsZero() || !s.Restored.IsZero() }
