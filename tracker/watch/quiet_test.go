package watch_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

// before stores a report of a problem that crashed a number of weeks ago.
func (f *fixture) before(n, weeks int, options ...crashtest.Option) string {
	f.t.Helper()
	f.process++
	return f.report(crashtest.Native(append([]crashtest.Option{crashtest.Set("DuplicateSignature", problemSignature(n)),
		crashtest.Process(50_000 + f.process), crashtest.At(time.Now().UTC().AddDate(0, 0, -7*weeks))}, options...)...))
}

// comments returns the texts of the comments on a bug.
func (f *fixture) comments(number int64) (out []string) {
	for _, b := range f.lp.Bugs() {
		for _, m := range b.Messages {
			if b.Number == number {
				out = append(out, m.Content)
			}
		}
	}
	return out
}

func quietPolicy(weeks int) crash.UpdatePolicy {
	return crash.UpdatePolicy{Pattern: crash.EveryPackage, Quiet: true, QuietWeeks: weeks}
}

func TestQuietComments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	signature := f.before(1, 20, crashtest.Version("1.0-1"))
	number := f.file(i, signature)
	round(t, w)
	wantComments := func(what string, want int) {
		t.Helper()
		for range 3 {
			round(t, w)
			round(t, f.reader(f.instance(), everyRound))
		}
		if got := f.comments(number); len(got) != want {
			t.Fatalf("%s: got %q, want %d comments", what, got, want)
		}
	}
	f.policy(quietPolicy(12))
	wantComments("nothing else of the package is reported", 0)
	f.before(2, 10, crashtest.Version("1.1-1"))
	wantComments("nothing of the package was reported recently", 0)
	for range 20 { // enough to tell that the problem is gone
		f.before(2, 1, crashtest.Version("1.2-1"))
	}
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage})
	wantComments("switched off", 0)
	f.policy(quietPolicy(21))
	wantComments("not quiet for long enough", 0)
	silent := everyRound
	silent.Silent = true
	f.policy(quietPolicy(20))
	round(t, f.reader(i, silent))
	if got := f.comments(number); len(got) != 0 {
		t.Fatalf("silent: got %q", got)
	}
	wantComments("quiet", 1)
	day := time.Now().UTC().AddDate(0, 0, -7*20).Format(time.DateOnly)
	for _, words := range []string{
		"No report of this problem has arrived for 20 weeks. The last one was on " + day + " (version 1.0-1, Ubuntu 24.04).",
		"Ubuntu 24.04: seen up to 1.0-1; 1.2-1 is in use without it since",
		"https://mishap.example" + f.bucket(signature).ID.Path(),
	} {
		if got := f.comments(number)[0]; !strings.Contains(got, words) {
			t.Errorf("got the comment\n%s\nwant it to contain %q", got, words)
		}
	}

	f.before(1, 19) // an old report that arrives late
	f.policy(quietPolicy(12))
	wantComments("a late report", 1)
	f.exec(`update bug_comments set at = at - interval '18 weeks'`) // as if it had been sent then
	f.before(1, 0)
	wantComments("it is back", 1)
	f.exec(`update bucket_releases set last_seen.seen = now() - interval '15 weeks'
		where bucket_id = decode('` + f.bucket(signature).ID.String() + `', 'hex')`)
	wantComments("it was back and is quiet again", 2)
}

func TestQuietCommentOutcomes(t *testing.T) {
	t.Parallel()
	for fault, want := range map[trackertest.Fault]struct {
		comments int
		outcome  string
	}{
		trackertest.DropAfter:  {1, "unknown"},
		trackertest.HangAfter:  {1, "unknown"},
		trackertest.DropBefore: {0, "unknown"}, // it may have been added, so it is not sent again
		trackertest.TooMany429: {1, "sent"},
		trackertest.Permission: {0, "refused"},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.instance()
			signature := f.before(1, 20)
			number := f.file(i, signature)
			f.before(2, 1)
			round(t, f.reader(i, everyRound))
			f.policy(quietPolicy(12))
			f.lp.Fail(trackertest.OpComment, fault)
			for range 3 {
				round(t, f.reader(i, everyRound))
			}
			list, err := bugs.New(f.db).BucketBugs(t.Context(), f.bucket(signature).ID)
			if err != nil || len(list) != 1 || len(list[0].Updates) != 1 || list[0].Updates[0].Outcome != want.outcome ||
				list[0].Updates[0].Kind != crash.UpdateQuiet {
				t.Fatalf("got %+v, %v; want one comment, %s", list, err, want.outcome)
			}
			if got := f.comments(number); len(got) != want.comments {
				t.Errorf("got %q, want %d comments", got, want.comments)
			}
		})
	}
}

// TestUnreadableBugsBlockNoOthers checks that comments are sent although as many bugs as one round
// comments on can never be read.
func TestUnreadableBugsBlockNoOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	numbers := map[string]int64{}
	for n := range 7 {
		signature := f.before(n+1, 20)
		numbers[signature] = f.file(i, signature)
	}
	f.before(9, 1)
	round(t, w)
	f.policy(quietPolicy(12))
	due, err := bugs.New(f.db).QuietBugs(t.Context())
	if err != nil || len(due) != len(numbers) {
		t.Fatalf("got %d quiet bugs, %v; want %d", len(due), err, len(numbers))
	}
	for _, q := range due[:5] {
		f.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpMessages, Fault: trackertest.Error500,
			Bug: strconv.FormatInt(q.Number, 10), Times: 100})
	}
	for range 2 {
		round(t, w)
	}
	for n, q := range due {
		if got, want := len(f.comments(q.Number)), n/5; got != want {
			t.Errorf("bug %d of %d: got %d comments, want %d", n+1, len(due), got, want)
		}
	}
}

func TestQuietOnlyOpenBugs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	master := f.lp.Add(trackertest.Bug{Title: "The first of them", Package: "tidewatch"})
	f.before(9, 1)
	var numbers []int64
	for n, change := range []func(*trackertest.Bug){
		func(b *trackertest.Bug) { b.InformationType = "Private" },
		func(b *trackertest.Bug) { b.DuplicateOf = master },
		func(b *trackertest.Bug) { b.Status = "Won't Fix" },
	} {
		number := f.file(i, f.before(n+1, 20))
		f.lp.Change(number, change)
		numbers = append(numbers, number)
	}
	round(t, w)
	f.policy(quietPolicy(12))
	round(t, w)
	for _, number := range append(numbers, master) {
		if got := f.comments(number); len(got) != 0 {
			t.Errorf("bug %d: got %q, want no comment", number, got)
		}
	}
}

// TestQuietBugOfSeveralProblems checks that a bug is quiet only when all its problems are.
func TestQuietBugOfSeveralProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	number := f.file(i, f.before(1, 20))
	lively := f.bucket(f.before(2, 1)).ID
	store := bugs.New(f.db)
	if _, err := store.LinkBug(t.Context(), lively, crash.Bug{Number: number, URL: fmt.Sprint(f.lp.URL, "/bugs/", number),
		By: "ada"}); err != nil {
		t.Fatal(err)
	}
	round(t, w)
	f.policy(quietPolicy(12))
	round(t, w)
	if got := f.comments(number); len(got) != 0 {
		t.Fatalf("got %q, want none: one problem is still reported", got)
	}
	if err := store.UnlinkBug(t.Context(), lively, number, "ada"); err != nil {
		t.Fatal(err)
	}
	round(t, w)
	if got := f.comments(number); len(got) != 1 {
		t.Errorf("got %q, want one comment", got)
	}
}

func TestQuietInSupportedReleases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	number := f.file(i, f.before(1, 20))
	f.before(1, 1, crashtest.Set("DistroRelease", "Ubuntu 22.04"))
	f.exec(`update bucket_releases set release = 'Ubuntu 19.10' where release = 'Ubuntu 22.04'`) // as if years had passed
	f.before(2, 1)
	round(t, f.reader(i, watch.BugOptions{Pause: -1}))
	f.policy(quietPolicy(12))
	round(t, f.reader(i, everyRound))
	if got := f.comments(number); len(got) != 1 || !strings.Contains(got[0], "from a supported release for 20 weeks") {
		t.Errorf("got %q, want one comment about supported releases", got)
	}
}
