package crash

import (
	"cmp"
	"slices"
	"time"
)

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
	w.planDigest(&p, digest, now)
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
		for _, n := range single[free:] {
			p.Held = append(p.Held, n.ID)
		}
	}
	return p
}

// planDigest adds the daily or weekly mail if its hour has come since the oldest notice.
func (w MailWork) planDigest(p *MailPlan, waiting []WaitingNotice, now time.Time) {
	if len(waiting) == 0 {
		return
	}
	oldest := slices.MinFunc(waiting, func(a, b WaitingNotice) int { return a.At.Compare(b.At) })
	if w.Settings.NextDigest(oldest.At).After(now) {
		return
	}
	p.Mails = append(p.Mails, PlannedMail{MailDigest, ids(waiting)})
}

func ids(notices []WaitingNotice) []int64 {
	out := make([]int64, len(notices))
	for i, n := range notices {
		out[i] = n.ID
	}
	return out
}
