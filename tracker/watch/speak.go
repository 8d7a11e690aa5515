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

// CommentStore remembers what mishap has said in the tracker by itself. All methods may return Unavailable.
type CommentStore interface {
	// BucketVersions returns the versions × releases table, newest version first.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	// Comments reports whether an administrator has switched comments on.
	Comments(ctx context.Context) (bool, error)
	// Unsaid returns the regressions, with their status, of which nothing has been said for the version seen again.
	Unsaid(ctx context.Context) ([]crash.Bucket, error)
	// BeginComment is false when a message about this version was sent to the bug before, or may have been.
	BeginComment(ctx context.Context, number int64, version string, bucket crash.BucketID) (bool, error)
	// EndComment notes what became of a message; an empty outcome: certainly nothing was sent.
	EndComment(ctx context.Context, number int64, version, outcome, words string) error
}

// maxSpoken is how many comments one round sends.
const maxSpoken = 5

// speak says in bugs that were fixed that the problem is seen again, once for each version, when that is switched on. That it
// will be said is noted before; whatever then becomes of it, it is not said twice.
func (w *Watcher) speak(ctx context.Context) error {
	if w.opts.Silent {
		return nil
	}
	on, err := w.store.Comments(ctx)
	if err != nil || !on {
		return err
	}
	unsaid, err := w.store.Unsaid(ctx)
	if err != nil {
		return err
	}
	spoken := 0
	for _, b := range unsaid {
		if spoken == maxSpoken {
			return nil
		}
		_, version, _ := b.Status.Regressed()
		text, err := w.comment(ctx, b, version)
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
		spoken++
		if err := w.say(ctx, b, version, text); err != nil {
			return err
		}
		if !wait(ctx, w.opts.Pause) {
			return ctx.Err()
		}
	}
	return nil
}

func (w *Watcher) say(ctx context.Context, b crash.Bucket, version, text string) error {
	sent := w.client.Comment(ctx, b.Bug.Counts(), text)
	outcome, words := "sent", ""
	e, failed := errors.AsType[*tracker.CallError](sent)
	switch {
	case sent == nil:
		w.log.InfoContext(ctx, "said in the tracker that a fixed bug is seen again", "bug", b.Bug.Counts(), "bucket", b.ID.String())
	case !failed:
		outcome = "" // no credentials: nothing was sent
	case e.Outcome == tracker.OutcomeRefused:
		outcome, words = "refused", e.Words
	case e.Outcome == tracker.OutcomeUnknown:
		outcome, words = "unknown", e.Words
	default:
		outcome = ""
	}
	err := w.store.EndComment(context.WithoutCancel(ctx), b.Bug.Counts(), version, outcome, words)
	if failed && unavailable(e) {
		return errors.Join(e, err)
	}
	return err
}

// comment is the text of the message about a version that has the fix. Nothing in it comes from a report but versions.
func (w *Watcher) comment(ctx context.Context, b crash.Bucket, version string) (string, error) {
	cells, err := w.store.BucketVersions(ctx, b.ID)
	if err != nil {
		return "", err
	}
	again := map[crash.Release]bool{} // where the version has the fix: elsewhere the same version may not
	for _, r := range b.Status.Releases {
		again[r.Release] = r.Word == crash.StateRegression
	}
	said := b.Status.Text()
	for _, r := range b.Status.Releases {
		if r.Word == crash.StateRegression {
			said += " " + string(r.Release) + ": " + r.Text() + "."
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
	return fmt.Sprintf("This problem is seen again in a version that should have the fix: %s %s%s, %d %s so far.\n\n%s\n\n"+
		"Counts, versions and stacks: %s\n\nThis message is sent once for each version by mishap, which collects crash reports.",
		tracker.Clean(b.Package, 128), tracker.Clean(version, 128), where, reports, crash.Plural(reports, "report", "reports"),
		tracker.Clean(said, 1000), w.cfg.BaseURL+b.ID.Path()), nil
}
