// Package watch reads changes from the tracker, and writes to bugs by itself. A [BugReader] reads the
// states of bugs. If administrators have switched that on, it comments on bugs whose problem came
// back, went quiet or got function names, and updates a section in their descriptions. An
// [ArchiveReader] reads facts about the archive of the distribution. Package tracker makes the calls
// and files bugs. This package contains neither pages nor SQL.
package watch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/tracker"
)

const (
	maxSections   = 3  // changes of descriptions in one round, each of which mails the subscribers of the bug
	maxConsidered = 50 // sections that are considered in one round
	// considerAgain is the time after which a section without news, or with a bug that may not be
	// changed at present, is considered again.
	considerAgain = 6 * time.Hour
	maxConflicts  = 3 // times that someone else may change a bug between reading and writing
)

const (
	noRoom       = "The description has no room for the section: the tracker accepts at most 50,000 characters."
	outcomeDoubt = "It is not known whether the tracker changed the description. It is read again soon."
	manyChanges  = "The bug changed each time before mishap could update it. It is tried again soon."
)

func (w *BugReader) sections(ctx context.Context, policies crash.UpdatePolicies) error {
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Section }) {
		return nil
	}
	due, err := w.store.DueSections(ctx)
	if err != nil {
		return err
	}
	due = slices.DeleteFunc(due, func(d crash.DueSection) bool { return !policies.For(d.SourcePackage).Section })
	sent := 0
	for _, d := range due[:min(len(due), maxConsidered)] {
		called, err := w.section(ctx, d)
		if err != nil {
			return err
		}
		if !called {
			continue
		}
		if sent++; sent == maxSections {
			return nil
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// section updates the section of one bug if there is news, or if it must settle an unknown outcome.
// For a bug that was closed, any change of the facts is news: nobody updates the section afterwards.
// called says whether it called the tracker.
func (w *BugReader) section(ctx context.Context, due crash.DueSection) (called bool, err error) {
	number := due.Number
	compose, err := w.composeSection(ctx, number)
	if err != nil || compose == nil {
		return false, err
	}
	b, ok, err := w.readSection(ctx, number)
	if err != nil || !ok {
		return false, err
	}
	facts := compose(0).Facts
	if !b.Known {
		b.Known = true
		for _, found := range tracker.SectionsIn(b.Filed) {
			b.Hashes, b.Facts, b.Written = []string{found.Hash}, facts, b.FiledAt
		}
		again := time.Duration(0)
		if len(b.Hashes) > 0 { // the bug was filed with it
			again = w.nextSection()
		}
		if err := w.store.AddSection(ctx, b, again); err != nil || len(b.Hashes) > 0 {
			return false, err
		}
	}
	unsettled := b.Pending != crash.SectionFacts{}
	news := facts.Worth(b.Facts) || due.Closed && facts != b.Facts
	if !unsettled && !b.Replace && !b.Written.IsZero() && !news {
		return false, w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	for range maxConflicts {
		again, err := w.writeSection(ctx, b, compose)
		if err != nil || !again {
			return true, err
		}
		if b, ok, err = w.readSection(ctx, number); err != nil || !ok {
			return true, err
		}
	}
	return true, w.store.DelaySection(ctx, b, manyChanges, tracker.Jitter(w.opts.Retry))
}

func (w *BugReader) readSection(ctx context.Context, number int64) (b crash.BugSection, ok bool, err error) {
	all, err := w.store.Sections(ctx, []int64{number})
	if err != nil || len(all) == 0 {
		return b, false, err
	}
	return all[0], all[0].Stopped == crash.SectionActive, nil
}

// composeSection returns a function that composes the section of a bug with a number of rows, or nil
// if the bug has no problem any more.
func (w *BugReader) composeSection(ctx context.Context, number int64) (func(rows int) tracker.Section, error) {
	buckets, err := w.judgedBucketsOf(ctx, number)
	if err != nil || len(buckets) == 0 {
		return nil, err
	}
	problems := make([]tracker.SectionProblem, len(buckets))
	for i, b := range buckets {
		problems[i] = tracker.SectionProblem{Bucket: b, Marker: w.cfg.BaseURL + b.ID.Path()}
		if problems[i].Versions, err = w.store.BucketVersions(ctx, b.ID); err != nil {
			return nil, err
		}
	}
	today := w.cfg.Now()
	return func(rows int) tracker.Section { return tracker.ComposeSection(problems, today, rows) }, nil
}

// writeSection reads the description of a bug, and replaces the section in it. It stops if someone
// else has changed the section. Everything outside the section stays as it is: the tracker accepts the
// new description only if the bug has not changed since it was read. again is true if it has.
func (w *BugReader) writeSection(ctx context.Context, b crash.BugSection,
	compose func(rows int) tracker.Section) (again bool, err error) {
	bug, err := w.client.ReadBug(ctx, b.Number)
	if err != nil {
		return false, w.sectionUnread(ctx, b, err)
	}
	if bug.Private || bug.DuplicateOf != "" { // the next reading of its state will tell
		return false, w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	found, has := ownSection(b, bug.Description)
	if stop := whyStopped(b, bug.Description, has); stop != crash.SectionActive {
		return false, w.stopSection(ctx, b, stop)
	}
	unsettled := b.Pending != crash.SectionFacts{}
	if has && unsettled && found.Hash == b.Hashes[len(b.Hashes)-1] { // it was written after all
		return false, w.store.SectionWritten(ctx, b, found.Hash, b.Pending, w.nextSection())
	}
	section, description, fits := tracker.FitSection(compose, func(s tracker.Section) string {
		if has {
			return bug.Description[:found.Begin] + s.Text + bug.Description[found.End:]
		}
		return tracker.AppendSection(bug.Description, s.Text)
	})
	switch {
	case !fits:
		return false, w.store.DelaySection(ctx, b, noRoom, w.nextSection())
	case has && found.Hash == section.Hash():
		return false, w.store.SectionWritten(ctx, b, found.Hash, section.Facts, w.nextSection())
	}
	attempt, ok, err := w.store.BeginSection(ctx, b, section.Hash(), section.Facts, tracker.Jitter(w.opts.Retry))
	if err != nil || !ok {
		return false, err
	}
	b.Attempt = attempt
	err = w.client.ChangeDescription(ctx, b.Number, bug.ETag, description)
	return w.endSection(context.WithoutCancel(ctx), b, section, err)
}

// ownSection returns the section that mishap wrote. If a person asked for the section again, it
// returns the last one in the description, whoever wrote it.
func ownSection(b crash.BugSection, description string) (tracker.FoundSection, bool) {
	all := tracker.SectionsIn(description)
	for _, found := range slices.Backward(all) {
		if slices.Contains(b.Hashes, found.Hash) {
			return found, true
		}
	}
	if b.Replace && len(all) > 0 {
		return all[len(all)-1], true
	}
	return tracker.FoundSection{}, false
}

// whyStopped returns why mishap must not change a description, which has a section of its own or not.
func whyStopped(b crash.BugSection, description string, has bool) crash.SectionStop {
	switch {
	case has || b.Replace:
		return crash.SectionActive
	case len(b.Hashes) == 0 && tracker.HasSectionLine(description):
		return crash.SectionForeign
	case tracker.HasSectionLine(description):
		return crash.SectionChanged
	case !b.Written.IsZero():
		return crash.SectionRemoved
	}
	return crash.SectionActive // never written
}

// nextSection returns the time until a section may be updated again. It is never shorter than
// BugOptions.Section.
func (w *BugReader) nextSection() time.Duration {
	return w.opts.Section + tracker.Jitter(w.opts.Section/12)
}

func (w *BugReader) checkSection(ctx context.Context, r crash.BugReading) error {
	if w.opts.Silent || r.Description == "" {
		return nil
	}
	b, ok, err := w.readSection(ctx, r.Number)
	if err != nil || !ok || len(b.Hashes) == 0 || !b.Known {
		return err
	}
	_, has := ownSection(b, r.Description)
	return w.stopSection(ctx, b, whyStopped(b, r.Description, has))
}

func (w *BugReader) stopSection(ctx context.Context, b crash.BugSection, why crash.SectionStop) error {
	if why == crash.SectionActive {
		return nil
	}
	w.log.InfoContext(ctx, "the section of a bug is not mishap's any more", "bug", b.Number, "why", string(why))
	return w.store.StopSection(ctx, b, why)
}

func (w *BugReader) sectionUnread(ctx context.Context, b crash.BugSection, err error) error {
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case !failed:
		return err
	case unavailable(e):
		return e
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	return w.store.DelaySection(ctx, b, e.Text, tracker.Jitter(w.opts.Retry))
}

// endSection records the outcome of sending a description. again is true if someone else had changed
// the bug.
func (w *BugReader) endSection(ctx context.Context, b crash.BugSection, section tracker.Section,
	err error) (again bool, _ error) {
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case err == nil:
		w.log.InfoContext(ctx, "updated the section of a bug", "bug", b.Number)
		return false, w.store.SectionWritten(ctx, b, section.Hash(), section.Facts, w.nextSection())
	case !failed: // no credentials: nothing was sent
		return false, errors.Join(err, w.store.CancelSection(ctx, b, "", tracker.Jitter(w.opts.Retry)))
	case e.Status == http.StatusPreconditionFailed:
		return true, w.store.CancelSection(ctx, b, "", 0)
	case e.Outcome == tracker.OutcomeRefused:
		w.log.WarnContext(ctx, "the tracker refused to change a description", "bug", b.Number, "answer", e.Text)
		return false, w.store.CancelSection(ctx, b, e.Text, w.nextSection())
	case e.Outcome == tracker.OutcomeUnknown:
		err := w.store.DelaySection(ctx, b, outcomeDoubt, tracker.Jitter(w.opts.Retry))
		if unavailable(e) {
			return false, errors.Join(e, err)
		}
		return false, err
	}
	return false, errors.Join(e, w.store.CancelSection(ctx, b, "", tracker.Jitter(w.opts.Retry)))
}

func newMetrics(store BugStore, now func() time.Time) *tracker.StoredMetrics {
	bugs := prometheus.NewDesc("mishap_bugs",
		"Bugs read from the tracker: all, those due, and those that cannot be read.", []string{"which"}, nil)
	age := prometheus.NewDesc("mishap_bugs_oldest_state_seconds",
		"Age of the oldest reading of a bug; 0 if there is none.", nil, nil)
	read := func(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
		totals, err := store.BugTotals(ctx)
		if err != nil {
			return err
		}
		send(bugs, float64(totals.Followed), "followed")
		send(bugs, float64(totals.Due), "due")
		send(bugs, float64(totals.Failing), "failing")
		send(age, tracker.SecondsSince(totals.Oldest, now()))
		return nil
	}
	return &tracker.StoredMetrics{Gauges: []*prometheus.Desc{bugs, age}, Read: read}
}
