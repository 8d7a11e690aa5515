package crash

import (
	"regexp"
	"slices"
	"time"
)

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
	if slices.Contains(EndpointKinds, EndpointKind(s)) {
		return EndpointKind(s), nil
	}
	return "", Errorf(Invalid, "unknown_endpoint_kind", "%.40q is not a kind of endpoint.", s)
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

// IsDeliveryState reports whether s is one of the states.
func IsDeliveryState(s DeliveryState) bool {
	return slices.Contains([]DeliveryState{DeliveryWaiting, DeliveryDelivered, DeliveryFailed, DeliverySummarised}, s)
}

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
