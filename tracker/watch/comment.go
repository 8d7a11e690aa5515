package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

const maxComments = 5

type comment struct {
	PendingComment
	bucket crash.Bucket
	text   func(context.Context) (string, error)
}

const (
	againIntro = "This problem is seen again in a version that should have the fix: "
	quietIntro = "No report of this problem has arrived"
)

// is reports whether a message of the bug is this comment, whichever numbers it quotes.
func (c comment) is(text string) bool {
	switch c.Kind {
	case crash.UpdateAgain:
		rest, found := strings.CutPrefix(text, againIntro)
		words := strings.Fields(rest) // package, version, …
		return found && len(words) > 1 && strings.TrimSuffix(words[1], ",") == tracker.Clean(c.About, 128)
	case crash.UpdateNames:
		return strings.HasPrefix(text, tracker.NamesIntro)
	case crash.UpdateQuiet:
		return strings.HasPrefix(text, quietIntro) && strings.Contains(text, " The last one was on "+c.About)
	case crash.UpdateSection: // it is no comment
	}
	return false
}

// PendingComment is a comment that the next round sends, unless the bug has it.
type PendingComment struct {
	Bug    int64
	Kind   crash.UpdateKind
	About  string // the version (UpdateAgain) or the UTC day of the last report (UpdateQuiet)
	Exists bool   // the bug has it
}

// PendingComments returns the comments that are due, and whether the bugs have them. They do if the
// database was restored from a backup that is older than the comments.
func (w *BugReader) PendingComments(ctx context.Context) ([]PendingComment, error) {
	if w.opts.Silent {
		return nil, nil
	}
	policies, err := w.store.UpdatePolicies(ctx)
	if err != nil {
		return nil, err
	}
	due, err := w.dueComments(ctx, policies)
	if err != nil {
		return nil, err
	}
	var pending []PendingComment
	for _, c := range due {
		if c.Exists, err = w.client.HasComment(ctx, c.Bug, c.is); err != nil {
			return nil, err
		}
		pending = append(pending, c.PendingComment)
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return nil, ctx.Err()
		}
	}
	return pending, nil
}

// comment sends the comments that are due and switched on for the source package: on fixed bugs
// whose problem is seen again, once for each version; on bugs that were filed before the functions
// of their problem had names, once; and on bugs that are no longer reported, once for each quiet
// period. It records each comment before it is sent, so that none is sent twice. Comments on bugs that
// could not be read come last, so that they do not block others.
func (w *BugReader) comment(ctx context.Context, policies crash.UpdatePolicies) error {
	due, err := w.dueComments(ctx, policies)
	if err != nil {
		return err
	}
	slices.SortStableFunc(due, func(a, b comment) int {
		return w.unread[a.PendingComment].Compare(w.unread[b.PendingComment])
	})
	sent := 0
	for _, c := range due {
		if sent == maxComments {
			w.quietAsked = time.Time{} // the rest is due in the next round
			return nil
		}
		text, err := c.text(ctx)
		if err != nil {
			return err
		}
		first, err := w.store.BeginComment(ctx, c.Bug, c.Kind, c.About, c.bucket.ID)
		if err != nil {
			return err
		}
		if !first { // another bucket of the same bug
			continue
		}
		sent++
		if err := w.sendComment(ctx, c, text); err != nil {
			return err
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (w *BugReader) dueComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	due, err := w.newsComments(ctx, policies)
	if err != nil {
		return nil, err
	}
	quiet, err := w.quietComments(ctx, policies)
	return append(due, quiet...), err
}

func (w *BugReader) newsComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Again }) {
		return nil, nil
	}
	regressions, err := w.store.UncommentedRegressions(ctx)
	if err != nil {
		return nil, err
	}
	var due []comment
	for _, b := range regressions {
		if !policies.For(b.SourcePackage).Again {
			continue
		}
		_, version, _ := b.Status.Regressed()
		due = append(due, comment{PendingComment{Bug: b.Bug.Counts(), Kind: crash.UpdateAgain, About: version}, b,
			func(ctx context.Context) (string, error) { return w.commentText(ctx, b, version) }})
	}
	named, err := w.store.NamedBugs(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		if !policies.For(n.Bucket.SourcePackage).Again {
			continue
		}
		about := PendingComment{Bug: n.Number, Kind: crash.UpdateNames}
		due = append(due, comment{about, n.Bucket, func(ctx context.Context) (string, error) {
			report, err := w.store.RepresentativeReport(ctx, n.Bucket.ID)
			if err != nil && !errors.Is(err, crash.NotFound) {
				return "", err
			}
			return tracker.NamesComment(n.Bucket, report, w.cfg.Privacy, w.cfg.BaseURL+n.Bucket.ID.Path()), nil
		}})
	}
	return due, nil
}

// sendComment sends a comment, unless the bug has it: the database may have been restored from a
// backup that is older than the comment.
func (w *BugReader) sendComment(ctx context.Context, c comment, text string) error {
	exists, err := w.client.HasComment(ctx, c.Bug, c.is)
	delete(w.unread, c.PendingComment)
	if err == nil && exists {
		return w.store.EndComment(ctx, c.Bug, c.Kind, c.About, "sent", "")
	}
	if e, ok := errors.AsType[*tracker.CallError](err); err != nil && (!ok || e.Outcome != tracker.OutcomeRefused) {
		saveErr := w.store.EndComment(context.WithoutCancel(ctx), c.Bug, c.Kind, c.About, "", "")
		if ok && !unavailable(e) {
			w.unread[c.PendingComment] = w.cfg.Now() // a later round tries again
			return saveErr
		}
		return errors.Join(err, saveErr)
	}
	err = w.client.Comment(ctx, c.Bug, text)
	outcome, words := "sent", ""
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case err == nil:
		w.log.InfoContext(ctx, "commented on a bug", "about", string(c.Kind), "bug", c.Bug, "bucket", c.bucket.ID.String())
	case !failed:
		outcome = "" // no credentials: nothing was sent
	case e.Outcome == tracker.OutcomeRefused:
		outcome, words = "refused", e.Text
	case e.Outcome == tracker.OutcomeUnknown:
		outcome, words = "unknown", e.Text
	default:
		outcome = ""
	}
	saveErr := w.store.EndComment(context.WithoutCancel(ctx), c.Bug, c.Kind, c.About, outcome, words)
	if failed && unavailable(e) {
		return errors.Join(e, saveErr)
	}
	return saveErr
}

// commentText returns the comment about a version that has the fix. It quotes only versions from
// reports.
func (w *BugReader) commentText(ctx context.Context, b crash.Bucket, version string) (string, error) {
	cells, err := w.store.BucketVersions(ctx, b.ID)
	if err != nil {
		return "", err
	}
	again := map[crash.Release]bool{} // releases in which the version has the fix
	for _, r := range b.Status.Releases {
		again[r.Release] = r.Word == crash.StateRegression
	}
	status := b.Status.Text()
	for _, r := range b.Status.Releases {
		if r.Word == crash.StateRegression {
			status += " " + string(r.Release) + ": " + r.Text() + "."
		}
	}
	var reports int64
	cells = slices.DeleteFunc(cells, func(c crash.VersionCount) bool { return c.Version != version || !again[c.Release] })
	for _, c := range cells {
		reports += c.Reports
	}
	var releases []string
	for _, r := range tracker.ReleasesOf(cells).Ascending() {
		releases = append(releases, tracker.Clean(string(r), 60))
	}
	where := ""
	if len(releases) > 0 {
		where = " (" + strings.Join(releases, ", ") + ")"
	}
	return fmt.Sprintf(againIntro+
		"%s %s%s, %d %s so far.\n\n%s\n\nCounts, versions and stacks: %s\n\n"+
		"This message is sent once for each version by mishap, which collects crash reports.",
		tracker.Clean(b.Package, 128), tracker.Clean(version, 128), where,
		reports, crash.Plural(reports, "report", "reports"),
		tracker.Clean(status, 1000), w.cfg.BaseURL+b.ID.Path()), nil
}

// inUseDays is the number of days in which a package must have been reported, with whatever problem,
// to count as still in use.
const inUseDays = 28

// quietComments returns the comments on open bugs that no supported release has reported for weeks,
// although their package is still reported. It returns none if it was called recently.
func (w *BugReader) quietComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	now := w.cfg.Now()
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Quiet }) || now.Sub(w.quietAsked) < w.opts.Quiet {
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
		row, last := policies.For(q.SourcePackage), q.LastSupported(today)
		if !row.Quiet || last.IsZero() || q.Commented.After(last) ||
			today.Sub(crash.Midnight(last)) < time.Duration(row.QuietWeeks)*7*24*time.Hour {
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
			about := PendingComment{Bug: q.Number, Kind: crash.UpdateQuiet, About: last.UTC().Format(time.DateOnly)}
			due = append(due, comment{about, buckets[0],
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

const maxQuietProblems = 5
