package watch_test

import (
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/tracker/issuetest"
	"mishap/tracker/watch"
)

// issue returns an issue of a tracker.
func (s *several) issue(name string, number int64) issuetest.Issue {
	s.t.Helper()
	issues := s.practice[name].Issues()
	i := slices.IndexFunc(issues, func(i issuetest.Issue) bool {
		return i.Number == crash.NumberInTracker(number) && (name != "gitlab" || i.Project == "sandbox/trial")
	})
	if i < 0 {
		s.t.Fatalf("%s has no issue %s", name, crash.BugText(number))
	}
	return issues[i]
}

// wantComments checks that an issue has one comment that begins with each text, and no other.
func (s *several) wantComments(name string, number int64, want ...string) {
	s.t.Helper()
	comments := s.issue(name, number).Comments
	ok := len(comments) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.Contains(comments[i].Text, want[i])
	}
	if !ok {
		s.t.Errorf("%s %s: got the comments %+v, want %q", name, crash.BugText(number), comments, want)
	}
}

func (s *several) address(number int64) string { return s.sites.BugURL(s.t.Context(), number) }

// rounds lets a new reader do several rounds.
func (s *several) rounds(o watch.BugOptions) {
	s.t.Helper()
	w := s.reader(o)
	for range 3 {
		round(s.t, w)
	}
}

func TestForwardedBugsNameEachOther(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"forgejo", "bugzilla", "debian"}, "gitlab")
	var numbers [3]int64
	var upstream [3]int64
	for n, name := range []string{"forgejo", "bugzilla", "debian"} {
		in := crash.Intent{Title: "It fell over", Description: "By hand.", Marker: "https://mishap.example/problem/" + name}
		project := ""
		switch name {
		case "forgejo":
			project = "sandbox/trial"
		case "debian":
			in.Target = "quillpad"
		}
		numbers[n] = s.linkIssue(name, project, n, in, "ada")
		upstream[n] = s.link("gitlab", "sandbox/trial", n)
	}
	check := func() {
		t.Helper()
		s.wantComments("forgejo", numbers[0], "Forwarded upstream: "+s.address(upstream[0])+"\n")
		s.wantComments("bugzilla", numbers[1])
		also, _ := s.issue("bugzilla", numbers[1]).Extra["see_also"].([]string)
		if want := []string{s.address(upstream[1])}; !slices.Equal(slices.Compact(also), want) {
			t.Errorf("see also: got %v, want %v", also, want)
		}
		if got := s.issue("debian", numbers[2]).Extra["forwarded"]; got != s.address(upstream[2]) {
			t.Errorf("forwarded: got %v, want the upstream bug", got)
		}
		for n := range upstream {
			s.wantComments("gitlab", upstream[n], "Downstream bug: "+s.address(numbers[n])+"\n")
		}
	}
	s.rounds(everyRound)
	check()
	s.rounds(everyRound)
	check()
	dbtest.Exec(t, s.url, "delete from bug_comments") // as in a restored backup
	s.rounds(everyRound)
	check()
	rows := dbtest.Must(s.store.BucketBugs(t.Context(), s.problem(0)))(t)
	if len(rows) != 2 || len(rows[0].Updates) != 1 || rows[0].Updates[0].Kind != crash.UpdateForwarded ||
		rows[0].Updates[0].Outcome != "sent" || len(rows[1].Updates) != 1 {
		t.Errorf("got the bugs %+v, want one update each", rows)
	}
}

// TestForwardedRefused has a tracker that does not take the address of the upstream bug, so that it gets a comment.
func TestForwardedRefused(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"bugzilla"}, "gitlab")
	number, upstream := s.link("bugzilla", "", 1), s.link("gitlab", "sandbox/trial", 1)
	s.practice["bugzilla"].Fail("change", issuetest.Refused)
	s.rounds(everyRound)
	s.wantComments("bugzilla", number, "Forwarded upstream: "+s.address(upstream))
	s.wantComments("gitlab", upstream, "Downstream bug: "+s.address(number))
}

// TestForwardedNotSent has pairs of bugs that do not name each other, with the reasons.
func TestForwardedNotSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *several, distribution, upstream int64)
		silent bool
		by     string
	}{
		"silent":   {silent: true, by: "ada"},
		"imported": {},
		"private": {by: "ada", change: func(s *several, distribution, _ int64) {
			s.practice["gitlab"].Change("sandbox/trial", crash.NumberInTracker(distribution),
				func(i *issuetest.Issue) { i.Private = true })
		}},
		"closed upstream": {by: "ada", change: func(s *several, _, upstream int64) {
			s.practice["forgejo"].Change("sandbox/trial", crash.NumberInTracker(upstream),
				func(i *issuetest.Issue) { i.Closed = true })
		}},
		"embargoed": {by: "ada", change: func(s *several, _, _ int64) {
			embargo := crash.Mark{Kind: crash.MarkEmbargo, Bucket: s.problem(1), Person: "ada", Reason: "r"}
			dbtest.Must(problems.New(s.db).Set(s.t.Context(), embargo))(s.t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSeveral(t, []string{"gitlab"}, "forgejo")
			number := s.link("gitlab", "sandbox/trial", 1)
			upstream := s.linkIssue("forgejo", "sandbox/trial", 1, crash.Intent{Title: "x", Description: "y"}, c.by)
			if c.change != nil {
				c.change(s, number, upstream)
			}
			o := everyRound
			o.Silent = c.silent
			s.rounds(o)
			s.wantComments("gitlab", number)
			s.wantComments("forgejo", upstream)
		})
	}
}

// TestForwardedHidden makes the distribution's bug private after its state was read.
func TestForwardedHidden(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"gitlab"}, "forgejo")
	number, upstream := s.link("gitlab", "sandbox/trial", 1), s.link("forgejo", "sandbox/trial", 1)
	o := everyRound
	o.Silent, o.Again = true, timeout
	s.rounds(o)
	hide := func(i *issuetest.Issue) { i.Private = true }
	s.practice["gitlab"].Change("sandbox/trial", crash.NumberInTracker(number), hide)
	o.Silent, o.Changes = false, timeout
	s.rounds(o)
	s.wantComments("gitlab", number)
	s.wantComments("forgejo", upstream)
}

// TestForwardedInDescription has bugs whose descriptions name the other one already, or one with a longer number.
func TestForwardedInDescription(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"gitlab"}, "forgejo")
	number := s.link("gitlab", "sandbox/trial", 1)
	upstream := s.linkIssue("forgejo", "sandbox/trial", 1,
		crash.Intent{Title: "It fell over", Description: "From " + s.address(number) + "."}, "ada")
	s.practice["gitlab"].Change("sandbox/trial", crash.NumberInTracker(number), func(i *issuetest.Issue) {
		i.Text += " Compare " + s.address(upstream) + "7."
	})
	s.rounds(everyRound)
	s.wantComments("forgejo", upstream)
	s.wantComments("gitlab", number, "Forwarded upstream: "+s.address(upstream))
	checktest.NoError(t, s.reader(everyRound).Round(t.Context()))
}
