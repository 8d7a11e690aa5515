package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// inUseDays is the number of days in which a package must have been reported, with whatever problem,
// to count as still in use.
const inUseDays = 28

// quietComments returns the comments on open bugs that no supported release has reported for weeks,
// although their package is still reported. It returns none if it was called recently.
func (w *BugReader) quietComments(ctx context.Context, rules crash.UpdateRules) ([]comment, error) {
	now := w.cfg.Now()
	if !rules.Any(func(r crash.UpdateRule) bool { return r.Quiet }) || now.Sub(w.quietAsked) < w.opts.Quiet {
		return nil, nil
	}
	w.quietAsked = now
	today := crash.Midnight(now)
	quiet, err := w.store.QuietBugs(ctx)
	if err != nil {
		return nil, err
	}
	var due []comment
	for _, q := range quiet {
		rule, last := rules.For(q.SourcePackage), q.LastSupported(today)
		if !rule.Quiet || last.IsZero() || q.Commented.After(last) ||
			today.Sub(crash.Midnight(last)) < time.Duration(rule.QuietWeeks)*7*24*time.Hour {
			continue
		}
		buckets, err := w.judgedBucketsOf(ctx, q.Number)
		if err != nil {
			return nil, err
		}
		used, err := w.inUse(ctx, buckets, last, today)
		if err != nil {
			return nil, err
		}
		if used {
			due = append(due, comment{q.Number, crash.UpdateQuiet, last.UTC().Format(time.DateOnly), buckets[0],
				func(context.Context) (string, error) { return w.quietText(q, buckets, today), nil }})
		}
	}
	return due, nil
}

// judgedBucketsOf returns the problems of a bug with their status, most frequent first. There are
// none if the bug has just been unlinked.
func (w *BugReader) judgedBucketsOf(ctx context.Context, number int64) ([]crash.Bucket, error) {
	buckets, err := w.store.BucketsOfBug(ctx, number)
	if errors.Is(err, crash.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	each := make([]*crash.Bucket, len(buckets))
	for i := range buckets {
		each[i] = &buckets[i]
	}
	return buckets, w.store.Judge(ctx, each...)
}

// inUse reports whether the package of a problem was reported since the problem's last report, and
// recently.
func (w *BugReader) inUse(ctx context.Context, buckets []crash.Bucket, last, today time.Time) (bool, error) {
	after := today.AddDate(0, 0, -inUseDays)
	if last.After(after) {
		after = last
	}
	for _, b := range buckets {
		if b.Package == "" {
			continue
		}
		if used, err := w.store.PackageReported(ctx, b.Package, after); err != nil || used {
			return used, err
		}
	}
	return false, nil
}

// quietText returns the comment on a bug that is no longer reported. It quotes only releases and
// versions.
func (w *BugReader) quietText(q crash.QuietBug, buckets []crash.Bucket, today time.Time) string {
	last := q.LastSupported(today)
	newest := buckets[0]
	for _, b := range buckets {
		if b.LastSeen.After(newest.LastSeen) {
			newest = b
		}
	}
	from := ""
	if newest.LastSeen.After(last) {
		from = " from a supported release"
	}
	text := fmt.Sprintf(quietIntro+"%s for %d weeks. The last one was on %s", from,
		int(today.Sub(crash.Midnight(last)).Hours()/24/7), last.UTC().Format(time.DateOnly))
	if from == "" && newest.LastSeenVersion != "" {
		text += fmt.Sprintf(" (version %s", tracker.Clean(newest.LastSeenVersion, 128))
		if newest.LastSeenRelease != "" {
			text += ", " + tracker.Clean(string(newest.LastSeenRelease), 60)
		}
		text += ")"
	}
	text += ". Other problems of the package are still reported.\n"
	for _, b := range buckets[:min(len(buckets), maxQuietProblems)] {
		var lines []string
		for _, r := range b.Status.Releases {
			if !r.Ended {
				lines = append(lines, tracker.Clean(string(r.Release), 60)+": "+tracker.Clean(r.Verdict(), 400))
			}
		}
		if len(lines) > 0 {
			text += "\n" + strings.Join(lines, "\n") + "\n"
		}
		text += "\nCounts, versions and stacks: " + w.cfg.BaseURL + b.ID.Path() + "\n"
	}
	return text + "\nThis message is sent once, until the problem is reported again, by mishap, " +
		"which collects crash reports."
}

// maxQuietProblems bounds the problems of a bug that a comment describes.
const maxQuietProblems = 5
