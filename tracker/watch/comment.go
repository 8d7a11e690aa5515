package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/tracker"
)

// CommentStore records comments that mishap sends by itself. All methods may return Unavailable.
type CommentStore interface {
	// BucketVersions returns the versions × releases table, newest version first.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	// Comments reports whether an administrator has switched comments on.
	Comments(ctx context.Context) (bool, error)
	// UncommentedRegressions returns the regressions without a comment about the version seen again, with their
	// status.
	UncommentedRegressions(ctx context.Context) ([]crash.Bucket, error)
	// BeginComment records that a comment about a version will be sent to a bug. It returns false
	// if one was sent before, or may have been.
	BeginComment(ctx context.Context, number int64, version string, bucket crash.BucketID) (bool, error)
	// EndComment records the outcome of sending. It is empty if certainly nothing was sent.
	EndComment(ctx context.Context, number int64, version, outcome, words string) error
}

// maxComments bounds the comments of one round.
const maxComments = 5

// comment comments on fixed bugs whose problem is seen again, once for each version, if comments
// are switched on. It records each comment before it is sent, so that none is sent twice.
func (w *BugReader) comment(ctx context.Context) error {
	if w.opts.Silent {
		return nil
	}
	on, err := w.store.Comments(ctx)
	if err != nil || !on {
		return err
	}
	regressions, err := w.store.UncommentedRegressions(ctx)
	if err != nil {
		return err
	}
	sent := 0
	for _, b := range regressions {
		if sent == maxComments {
			return nil
		}
		_, version, _ := b.Status.Regressed()
		text, err := w.commentText(ctx, b, version)
		if err != nil {
			return err
		}
		first, err := w.store.BeginComment(ctx, b.Bug.Counts(), version, b.ID)
		if err != nil {
			return err
		}
		if !first { // another bucket of the same bug
			continue
		}
		sent++
		if err := w.sendComment(ctx, b, version, text); err != nil {
			return err
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (w *BugReader) sendComment(ctx context.Context, b crash.Bucket, version, text string) error {
	err := w.client.Comment(ctx, b.Bug.Counts(), text)
	outcome, words := "sent", ""
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case err == nil:
		w.log.InfoContext(ctx, "commented that a fixed bug is seen again", "bug", b.Bug.Counts(), "bucket", b.ID.String())
	case !failed:
		outcome = "" // no credentials: nothing was sent
	case e.Outcome == tracker.OutcomeRefused:
		outcome, words = "refused", e.Text
	case e.Outcome == tracker.OutcomeUnknown:
		outcome, words = "unknown", e.Text
	default:
		outcome = ""
	}
	saveErr := w.store.EndComment(context.WithoutCancel(ctx), b.Bug.Counts(), version, outcome, words)
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
	return fmt.Sprintf("This problem is seen again in a version that should have the fix: "+
		"%s %s%s, %d %s so far.\n\n%s\n\nCounts, versions and stacks: %s\n\n"+
		"This message is sent once for each version by mishap, which collects crash reports.",
		tracker.Clean(b.Package, 128), tracker.Clean(version, 128), where,
		reports, crash.Plural(reports, "report", "reports"),
		tracker.Clean(status, 1000), w.cfg.BaseURL+b.ID.Path()), nil
}
