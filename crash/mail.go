package crash

import (
	"cmp"
	"net/url"
	"slices"
	"time"
)

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
	Reply    string // last reply of the relay, or why there was none
	Notices  int    // how many it contains
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
	MailID int64 // the mail that contains it; 0: none
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
	EventRefused, EventAccount, EventToken, EventMentioned, EventAssigned, EventSymbolised, EventQuiet, EventMany,
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
