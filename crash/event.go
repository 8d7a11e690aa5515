package crash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
	EventUpstream    EventKind = "upstream"     // upstream closed its bug
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
	EventRising, EventUpstream, EventMentioned, EventAssigned, EventToken, EventSymbolised, EventQuiet, EventMany,
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

var eventKinds = map[EventKind]string{
	EventNew: "New", EventRegressed: "Regressed", EventRising: "Rising",
	EventProposed: "New in proposed", EventSymbolised: "Symbolised", EventQuiet: "Quiet",
	EventUpstream: "Closed upstream",
	EventUnmuted:  "Unmuted", EventStorm: "Many new problems", EventRefused: "Filing refused",
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
	return ParseWord(s, EndpointKinds, "kind of endpoint")
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

	Created       time.Time
	Disabled      time.Time // zero: it is on
	DisabledWhy   string
	LastSuccess   time.Time // zero: never
	SuccessStatus int
	LastFailure   time.Time // zero: never
	FailureStatus int       // 0: there was no answer
	FailureAnswer string
	Failures      int       // failed attempts since the last success
	NotBefore     time.Time // it gets nothing before
	Waiting       int64     // number of deliveries that wait
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

// Condition selects reports of a problem: either some by their ids, or all that meet every term,
// including future ones.
type Condition struct {
	Reports []OopsID
	Terms   []Term
}

type storedCondition struct {
	Reports []string `json:"reports,omitempty"`
	Terms   []Term   `json:"terms,omitempty"`
}

// MarshalJSON writes the ids of reports in their text form.
func (c Condition) MarshalJSON() ([]byte, error) {
	out := storedCondition{Terms: c.Terms}
	for _, id := range c.Reports {
		out.Reports = append(out.Reports, id.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Condition) UnmarshalJSON(b []byte) error {
	var in storedCondition
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*c = Condition{Terms: in.Terms}
	for _, text := range in.Reports {
		id, err := ParseOopsID(text)
		if err != nil {
			return err
		}
		c.Reports = append(c.Reports, id)
	}
	return nil
}

// Term is one part of a condition.
type Term struct {
	Field TermField `json:"field"`
	Value string    `json:"value"`
}

// TermField is the property of a report that a term tests.
type TermField string

// The fields of terms. All but the last three require equality.
const (
	TermPackage      TermField = "package"
	TermExecutable   TermField = "executable"
	TermArchitecture TermField = "architecture"
	TermRelease      TermField = "release"
	TermFrom         TermField = "version from"  // this version of the package or a later one
	TermBelow        TermField = "version below" // an earlier version
	TermFrame        TermField = "frame"         // the function occurs anywhere in the crashed thread's stack or traceback
)

// TermFields lists every field, in the order in which forms offer them.
var TermFields = []TermField{TermFrame, TermPackage, TermExecutable, TermArchitecture, TermRelease, TermFrom, TermBelow}

// The limits of a condition.
const (
	MaxChosen    = 500 // reports chosen by id
	maxTerms     = 4
	maxTermValue = 500 // code points
)

// Check returns an error of kind Invalid, with a sentence for people, if the condition is not
// valid.
func (c Condition) Check() error {
	switch {
	case len(c.Reports) == 0 && len(c.Terms) == 0:
		return Errorf(Invalid, "no_condition", "Select reports, or enter a condition.")
	case len(c.Reports) > 0 && len(c.Terms) > 0:
		return Errorf(Invalid, "two_conditions", "Select reports or enter a condition, not both.")
	case len(c.Reports) > MaxChosen:
		return Errorf(Invalid, "too_many_reports", "At most %d reports can be selected at once.", MaxChosen)
	case len(c.Terms) > maxTerms:
		return Errorf(Invalid, "too_many_terms", "A condition has at most %d parts.", maxTerms)
	}
	for _, t := range c.Terms {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Term) check() error {
	if _, err := ParseWord(string(t.Field), TermFields, "field of a condition"); err != nil {
		return err
	}
	value, ok := CleanLine(t.Value, maxTermValue)
	switch {
	case !ok || value == "" || value != t.Value:
		return Errorf(Invalid, "bad_value", "The value for %s must be one line of 1 to %d characters.", t.Field, maxTermValue)
	case t.Field == TermFrom || t.Field == TermBelow:
		return Release("").WantVersion(value)
	}
	return nil
}

// NeedsFields reports whether the condition depends on the fields of a report, rather than only on
// its summary.
func (c Condition) NeedsFields() bool {
	return slices.ContainsFunc(c.Terms, func(t Term) bool { return t.Field == TermFrame })
}

// Holds reports whether a report meets the condition. The function calls reports whether a function
// occurs in the report's stack or traceback; it may be nil if NeedsFields returns false.
func (c Condition) Holds(id OopsID, s Summary, calls func(function string) bool) bool {
	if len(c.Reports) > 0 {
		return slices.Contains(c.Reports, id)
	}
	for _, t := range c.Terms {
		if !t.holds(s, calls) {
			return false
		}
	}
	return len(c.Terms) > 0
}

func (t Term) holds(s Summary, calls func(function string) bool) bool {
	switch t.Field {
	case TermPackage:
		return s.Package == t.Value
	case TermExecutable:
		return s.Executable == t.Value
	case TermArchitecture:
		return s.Architecture == t.Value
	case TermRelease:
		return string(s.Release) == t.Value
	case TermFrom:
		return t.comparable(s) && s.Release.VersionOrder().Compare(s.Version, t.Value) >= 0
	case TermBelow:
		return t.comparable(s) && s.Release.VersionOrder().Compare(s.Version, t.Value) < 0
	case TermFrame:
		return calls(t.Value)
	}
	return false
}

// comparable reports whether the version of a report is comparable with the term.
func (t Term) comparable(s Summary) bool {
	order := s.Release.VersionOrder()
	return order.Valid(s.Version) && order.Valid(t.Value)
}

// String describes the condition: "architecture arm64, version from 2.1".
func (c Condition) String() string {
	if n := len(c.Reports); n == 1 {
		return "one chosen report"
	} else if n > 1 {
		return fmt.Sprintf("%d chosen reports", n)
	}
	parts := make([]string, len(c.Terms))
	for i, t := range c.Terms {
		parts[i] = string(t.Field) + " " + t.Value
	}
	return strings.Join(parts, ", ")
}

// SplitSignature returns the signature of the problem that receives the reports of a split. It is
// the signature of the original problem followed by the condition, so people and scripts can
// recognise it. The same condition always gives the same signature; for chosen reports, number
// distinguishes one choice from another.
func SplitSignature(signature string, c Condition, number int64) string {
	tail := " [" + c.String() + "]"
	if len(c.Reports) > 0 {
		tail = fmt.Sprintf(" [%s, no. %d]", c, number)
	}
	return Truncate(signature, MaxSignature-utf8.RuneCountInString(tail)) + tail
}

// SplitPreview shows which of the newest reports of a problem a condition would move.
type SplitPreview struct {
	LookedAt     int64
	More         bool // older reports exist, which were not examined
	Goes, Stays  int64
	GoesExamples []ReportRow // the newest
	StayExamples []ReportRow
}

// GroupingRules are one version of the grouping rules.
type GroupingRules struct {
	Version int
	Group   func(Fields) Grouping
}

// RegroupState is the state of a regrouping run.
type RegroupState string

// The states of a regrouping run.
const (
	RegroupRunning RegroupState = "running" // or waiting to be resumed, if its instance died
	RegroupDone    RegroupState = "done"
	RegroupStopped RegroupState = "stopped" // by a person; reports that it moved stay moved
)

// RegroupRun is one run that applies grouping rules to the stored reports.
type RegroupRun struct {
	ID       int64
	Rules    int  // version of the rules
	Dry      bool // dry run: nothing is moved
	Person   string
	State    RegroupState
	Started  time.Time
	Updated  time.Time
	Estimate int64 // approximate number of reports
	LookedAt int64
	Moved    int64 // or, in a dry run, would be
	Waiting  bool  // it is paused while reports arrive faster than they are counted
	Away     bool  // it is paused while an archive cannot be reached
}

// RegroupMove is the number of reports that a run moves from one bucket to another.
type RegroupMove struct {
	From, To           BucketID // From zero: they were in no bucket; To zero: they will be in none
	FromLabel, ToLabel string
	New                bool // To did not exist before
	Reports            int64
	Left               int64 // counted reports that remain in From; in a dry run, that were in it
}

// RegroupEffect summarises the effect of a run on problems.
type RegroupEffect struct {
	Changed int64 // problems that lose reports
	Split   int64 // of these, problems whose reports end up in several problems, including itself
	New     int64 // problems that did not exist before
	Merged  int64 // problems that receive reports from several others, or from another one in addition to their own
}

// DecisionKind is what a person, or mishap, decided about a problem.
type DecisionKind string

// The kinds of decisions.
const (
	DecisionMerged  DecisionKind = "merged"  // a bucket was merged into another one
	DecisionRenamed DecisionKind = "renamed" // a person gave it a name
	DecisionSplit   DecisionKind = "split"   // some of its reports were moved to a problem of their own
)

// DecisionCause says who or what made a decision.
type DecisionCause string

// The causes of decisions.
const (
	CausePerson     DecisionCause = "person"
	CauseSymbolised DecisionCause = "symbolised" // the frames of a provisional bucket were symbolised
	CauseRegrouped  DecisionCause = "regrouped"  // new grouping rules left the bucket empty
	CauseEmptied    DecisionCause = "emptied"    // an undone split left its bucket empty, so its address redirects
)

// Decision is one entry in the history of a problem.
type Decision struct {
	ID            int64
	Kind          DecisionKind
	Cause         DecisionCause
	Bucket        BucketID // the bucket that was merged, renamed or split
	Other         BucketID // the bucket that received the reports; zero for a name
	BucketLabel   string   // of Bucket: its present name, title or signature, truncated
	OtherLabel    string
	Before, After string    // names; empty: none
	Condition     Condition // of a split
	Person        string    // empty: mishap
	Reason        string
	At            time.Time
	UndoneBy      string
	UndoneAt      time.Time // zero: not undone
	LookedAt      int64     // of a split: older reports examined so far
	Moved         int64     // of these, reports moved, or moved back by undoing
	Finished      bool      // all older reports have been examined
	Waits         bool      // for an archive that cannot be reached
}

// Stands reports whether the decision has not been undone.
func (d Decision) Stands() bool { return d.UndoneAt.IsZero() }

// The largest lengths of texts that people type, in code points.
const (
	MaxProblemName = 200
	MaxReason      = 500
)

// CleanLine returns a typed text as one line: without leading and trailing blanks, each run of
// blanks as one. It returns false if the line has more than limit code points, invalid UTF-8 or
// control characters.
func CleanLine(text string, limit int) (string, bool) {
	line := strings.Join(strings.Fields(text), " ")
	if !utf8.ValidString(line) || utf8.RuneCountInString(line) > limit || strings.ContainsFunc(line, unicode.IsControl) {
		return "", false
	}
	return line, true
}

// MailMode says when a person gets mail.
type MailMode string

// The modes.
const (
	MailImmediate MailMode = "immediate" // a mail for each notice
	MailDaily     MailMode = "daily"
	MailWeekly    MailMode = "weekly"
	MailOff       MailMode = "off"
)

// MailModes lists all modes.
var MailModes = []MailMode{MailImmediate, MailDaily, MailWeekly, MailOff}

// MailSettings holds what a person has chosen for mail.
type MailSettings struct {
	User     int64
	Address  string // confirmed; empty: none
	Pending  string // not confirmed yet; empty: none
	Mode     MailMode
	Hour     int // of the daily or weekly mail
	Weekday  time.Weekday
	Zone     string // of all hours, such as Europe/Paris
	Quiet    *QuietHours
	KindsOff []EventKind // no mail about these
}

// DefaultMailSettings are the settings of a person who has chosen nothing.
var DefaultMailSettings = MailSettings{Mode: MailImmediate, Hour: 8, Weekday: time.Monday, Zone: "UTC"}

// QuietHours are the hours of a day in which immediate mail waits. From may be later than To, for a
// time around midnight.
type QuietHours struct{ From, To int }

func (q QuietHours) includes(hour int) bool {
	if q.From <= q.To {
		return q.From <= hour && hour < q.To
	}
	return hour >= q.From || hour < q.To
}

// zone returns the time zone of the settings, or UTC if this machine does not know it.
func (s MailSettings) zone() *time.Location {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// IsQuiet reports whether immediate mail waits at this time.
func (s MailSettings) IsQuiet(now time.Time) bool {
	return s.Quiet != nil && s.Quiet.includes(now.In(s.zone()).Hour())
}

// NextDigest returns the time of the first daily or weekly mail after this time. There is exactly
// one on each day, also when clocks change.
func (s MailSettings) NextDigest(after time.Time) time.Time {
	after = after.In(s.zone())
	year, month, day := after.Date()
	for i := 0; ; i++ {
		at := time.Date(year, month, day+i, s.Hour, 0, 0, 0, s.zone())
		if at.After(after) && (s.Mode != MailWeekly || at.Weekday() == s.Weekday) {
			return at
		}
	}
}

// Wants reports whether the person gets mail about events of this kind.
func (s MailSettings) Wants(k EventKind) bool {
	return s.Address != "" && s.Mode != MailOff && !slices.Contains(s.KindsOff, k)
}

// MailKind says what a mail is for.
type MailKind string

// The kinds of mails.
const (
	MailNotice  MailKind = "notice"  // one event
	MailSummary MailKind = "summary" // events beyond the limit per hour
	MailDigest  MailKind = "digest"  // the daily or weekly mail
	MailReport  MailKind = "weekly"  // a weekly report
	MailConfirm MailKind = "confirm" // the link that confirms an address
	MailTest    MailKind = "test"
)

// MailState says how a mail stands.
type MailState string

// The states of a mail.
const (
	MailWaiting MailState = "waiting"
	MailSending MailState = "sending" // an instance has claimed it
	MailSent    MailState = "sent"    // the relay accepted it
	MailFailed  MailState = "failed"  // for good

	MailCancelled MailState = "cancelled" // the person changed their settings before it was sent
)

// MailStates lists all states.
var MailStates = []MailState{MailWaiting, MailSending, MailSent, MailFailed, MailCancelled}

// Mail is a mail to send, or sent.
type Mail struct {
	ID       int64
	User     int64
	Name     string // of the account
	Kind     MailKind
	Address  string
	Created  time.Time
	Due      time.Time // of the next attempt
	State    MailState
	Attempts int
	Ended    time.Time
	Reply    string        // last reply of the relay, or why there was none
	Notices  int           // how many it contains
	Weekly   *WeeklyReport // with MailReport, while it is being sent: its content
}

// MailOutcome is the result of an attempt to send a mail.
type MailOutcome struct {
	State MailState // sent, failed, or waiting for another attempt
	Due   time.Time // of the next attempt, if it waits
	Reply string
}

// Notice is an event as one person gets it.
type Notice struct {
	ID     int64
	Event  Event
	Reason string // why the person gets it, such as "you follow mesa"
	At     time.Time
	Read   time.Time // zero: not yet
	Mail   NoticeMail
}

// NoticeMail says what became of a notice by mail.
type NoticeMail string

// The fates of a notice by mail.
const (
	MailWaits NoticeMail = "waiting" // for a decision: a quiet hour, the hour of a digest, or the next round
	MailHeld  NoticeMail = "held"    // beyond the limit per hour, for the next summary
	Mailed    NoticeMail = "mailed"  // in a mail
	NotMailed NoticeMail = "none"    // the settings of the person say so
)

// NoticeFilter selects notices of a person. Its zero value selects all.
type NoticeFilter struct {
	Kind    EventKind // empty: all
	Package string    // binary or source package; empty: all
	Mail    int64     // those in one mail; 0: all
	Unread  bool
	Before  int64 // those older than this notice; 0: the newest
}

// Path returns the address of the page on which to act on an event; empty: there is none.
func (e Event) Path() string {
	switch {
	case e.Bucket != nil:
		return e.Bucket.Path()
	case e.Kind == EventTracker:
		return "/admin/tracker"
	case e.Kind == EventRefused:
		return "/admin/filings"
	case e.Kind == EventEndpointOff:
		return "/admin/notifications"
	case e.Kind == EventAccount:
		return "/account"
	case e.Kind == EventToken:
		return "/account#tokens"
	case e.Package != "":
		return "/package/" + url.PathEscape(e.Package)
	}
	return ""
}

// Heading returns the title of an event, or what else names its problem if the title is empty.
func (e Event) Heading() string { return cmp.Or(e.Title, e.Package, e.Source, string(e.Kind)) }

// Urgent reports whether mail about an event ignores quiet hours and does not wait for a digest. It
// does so for alerts to administrators and about the security of the person's account.
func (k EventKind) Urgent() bool {
	return k == EventTracker || k == EventRefused || k == EventEndpointOff || k == EventAccount
}

// MailsPerHour is the greatest number of mails about single events that a person gets in an hour.
// Further events go into one summary per hour.
const MailsPerHour = 20

// MailWork is what a person waits for: notices without a decision about mail.
type MailWork struct {
	Settings  MailSettings
	Waiting   []WaitingNotice
	Sent      int // mails about single events in the past hour
	Summaries int // summaries in the past hour
}

// WaitingNotice is a notice without a decision about mail.
type WaitingNotice struct {
	ID   int64
	Kind EventKind
	At   time.Time
	Held bool // beyond the limit per hour
}

// MailPlan decides about notices. It does not mention notices that go on waiting.
type MailPlan struct {
	Mails []PlannedMail
	None  []int64 // notices without mail
	Held  []int64 // notices for the next summary
}

// PlannedMail is a mail with the notices in it.
type PlannedMail struct {
	Kind    MailKind
	Notices []int64
}

// digestOrder lists the kinds of events in the order of digests. Other kinds follow.
var digestOrder = []EventKind{
	EventRegressed, EventNew, EventProposed, EventStorm, EventRising, EventUnmuted, EventTracker, EventEndpointOff,
	EventRefused, EventAccount, EventToken, EventMentioned, EventAssigned, EventUpstream, EventSymbolised, EventQuiet,
	EventMany,
}

// DigestRank returns the place of a kind of event in digests, regressions first.
func DigestRank(k EventKind) int {
	if i := slices.Index(digestOrder, k); i >= 0 {
		return i
	}
	return len(digestOrder)
}

// Plan decides which mails a person gets now.
func (w MailWork) Plan(now time.Time) MailPlan {
	var p MailPlan
	var single, held, digest []WaitingNotice
	quiet := w.Settings.IsQuiet(now)
	for _, n := range w.Waiting {
		switch {
		case !w.Settings.Wants(n.Kind):
			p.None = append(p.None, n.ID)
		case n.Kind.Urgent() && !n.Held:
			single = append(single, n)
		case w.Settings.Mode != MailImmediate:
			digest = append(digest, n)
		case quiet:
		case n.Held:
			held = append(held, n)
		default:
			single = append(single, n)
		}
	}
	if len(digest) > 0 {
		oldest := slices.MinFunc(digest, func(a, b WaitingNotice) int { return a.At.Compare(b.At) })
		if !w.Settings.NextDigest(oldest.At).After(now) {
			p.Mails = append(p.Mails, PlannedMail{MailDigest, ids(digest)})
		}
	}
	slices.SortStableFunc(single, func(a, b WaitingNotice) int {
		if a.Kind.Urgent() != b.Kind.Urgent() {
			return map[bool]int{true: -1, false: 1}[a.Kind.Urgent()]
		}
		return cmp.Or(cmp.Compare(DigestRank(a.Kind), DigestRank(b.Kind)), cmp.Compare(a.ID, b.ID))
	})
	free := min(max(MailsPerHour-w.Sent, 0), len(single))
	for _, n := range single[:free] {
		p.Mails = append(p.Mails, PlannedMail{MailNotice, []int64{n.ID}})
	}
	held = append(held, single[free:]...)
	switch {
	case len(held) == 0:
	case w.Summaries == 0:
		p.Mails = append(p.Mails, PlannedMail{MailSummary, ids(held)})
	default:
		p.Held = ids(single[free:])
	}
	return p
}

func ids(notices []WaitingNotice) []int64 {
	out := make([]int64, len(notices))
	for i, n := range notices {
		out[i] = n.ID
	}
	return out
}
