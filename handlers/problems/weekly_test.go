package problems_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// newWeek returns a site on Wednesday, 20 May 2026, with one problem for each list of the past week.
func newWeek(t *testing.T) (w *watched, ids map[string]crash.BucketID) {
	t.Helper()
	w = &watched{Pages: handlertest.NewPagesOn(t, dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today))}
	ids = map[string]crash.BucketID{
		"old": w.reports(9, "old", "1.4-1", 60), "riser": w.reports(3, "riser", "1.4-1", 50),
		"fixed": w.reports(5, "fixed", "1.4-1", 40), "returns": w.reports(5, "returns", "1.4-1", 40),
		"fresh": w.reports(4, "fresh", "1.4-1", 5),
	}
	w.reports(2, "riser", "1.4-1", 10)
	w.reports(20, "riser", "1.4-1", 3)
	w.reports(1, "returns", "1.4-3", 2)
	closed := func(id crash.BucketID, number int64, days int) {
		t.Helper()
		dbtest.Must(w.Bugs.LinkBug(t.Context(), id,
			crash.Bug{Number: number, URL: "https://tracker.example/", By: "ada"}))(t)
		source := w.Bucket(t, id).SourcePackage
		checktest.NoError(t, w.Bugs.SaveBugReading(t.Context(), crash.BugReading{Number: number,
			Tasks: []crash.BugTask{{Target: "/ubuntu/+source/" + source, Status: "Fix Released", Complete: true,
				Closed: handlertest.Today.AddDate(0, 0, -days)}},
			Fixes: []crash.BugFix{{Package: source, Version: "1.4-2", Series: "noble"}}}, "", time.Hour))
	}
	closed(ids["fixed"], 3, 4)
	closed(ids["returns"], 4, 30)
	return w, ids
}

// parts returns the problems in the lists of a report, by the heading of each.
func parts(a *handlertest.Answer) map[string]string {
	found := map[string]string{}
	for _, part := range []string{"back", "new", "risen", "fixed", "undecided"} {
		section := "section[aria-labelledby=weekly-" + part + "]"
		found[a.Text(section+" h2")] = a.Text(section + " tbody")
	}
	return found
}

// TestWeekly checks the lists and figures of the past week, and of weeks before, against the stored reports.
func TestWeekly(t *testing.T) {
	t.Parallel()
	w, ids := newWeek(t)
	checktest.Equal(t, "new in SQL", w.Value(t, `
		select string_agg(signature, ' ') from buckets where (
			select min(day) from reports where bucket_id = buckets.id and counted)
			between '2026-05-14' and '2026-05-20'`), "fresh")
	checktest.Equal(t, "reports in SQL", w.Value(t, `
		select count(*) filter (where day >= '2026-05-14') || ' of '
			|| count(distinct bucket_id) filter (where day >= '2026-05-14')
			|| '; ' || count(*) filter (where day between '2026-05-07' and '2026-05-13')
		from reports where counted`), "25 of 3; 2")
	for _, role := range handlertest.Roles {
		a := w.As(t, role).Get("/weekly").Want(http.StatusOK)
		a.WantText("h1", "Weekly report of all packages")
		a.WantText(".weekly-lead", "14–20 May 2026: 1 came back, 1 new, 1 risen, 1 fixed. 25 reports of 3 problems; "+
			"2 in the seven days before. The week includes today.")
		got := parts(a)
		for heading, want := range map[string]string{
			"1 came back": "Seen again after the fix in 24.04. tidewatch 1 0 6 10 Apr",
			"1 new":       "tidewatch 4 0 4 15 May",
			"1 risen":     "tidewatch 20 2 25 31 Mar",
			"1 fixed":     "Fixed in 24.04. tidewatch 0 0 5 10 Apr",
			"1 undecided as of today, the oldest first": "tidewatch 0 0 9 21 Mar",
		} {
			if !strings.HasSuffix(got[heading], want) {
				t.Errorf("%s: %s: got %q, want %q", handlertest.RoleName(role), heading, got[heading], want)
			}
		}
		checktest.Equal(t, "link", a.Attr("section[aria-labelledby=weekly-new] tbody a", "href"), ids["fresh"].Path())
		checktest.Equal(t, "week before", a.Attr("nav[aria-label=Weeks] a", "href"), "/weekly?week=2026-05-07")
		if role == crash.RoleNone {
			handlertest.WantNothingPrivate(t, a)
		}
	}

	// The same lists of weeks before follow from the days of the reports and from when the tracker closed the bugs.
	v := w.Visitor(t)
	v.Get("/weekly?week=2026-05-07").Want(http.StatusOK).WantText(".weekly-lead",
		"7–13 May 2026: nothing new. 2 reports of 1 problem; 0 in the seven days before.").
		WantText(".chart", "19 Mar 13 May")
	v.Get("/weekly?week=2026-04-20").Want(http.StatusOK).WantText(".weekly-lead", "20–26 April 2026: 1 fixed. 0 reports")
	v.Get("/weekly?week=2026-04-10").Want(http.StatusOK).WantText(".weekly-lead",
		"10–16 April 2026: 2 new. 10 reports of 2 problems; 0 in")
	v.Get("/weekly?week=2026-06-10").Want(http.StatusOK).WantText(".weekly-lead", "14–20 May 2026")
	v.Get("/weekly?week=nonsense").Want(http.StatusBadRequest)
	v.Get("/weekly?of=nonsense").Want(http.StatusBadRequest)
	v.Get("/weekly?of=package").Want(http.StatusBadRequest)
	v.Get("/weekly?of=package&name=quillpad").Want(http.StatusOK).WantText(".weekly-lead", "nothing new. 0 reports of 0")
	v.Get("/weekly?name=tidewatch").Want(http.StatusOK).WantText("h1", "Weekly report of tidewatch").
		WantText(".weekly-lead", "1 came back, 1 new, 1 risen, 1 fixed")
	v.Get("/weekly?only=risen").Want(http.StatusOK).WantNone("section[aria-labelledby=weekly-new], .chart").
		WantText("section[aria-labelledby=weekly-risen]", "1 risen")
}

// TestWeeklyOfMine shows what a person follows, and no muted or embargoed problems.
func TestWeeklyOfMine(t *testing.T) {
	t.Parallel()
	w, ids := newWeek(t)
	w.Visitor(t).Get("/weekly?of=mine").Want(http.StatusUnauthorized)
	c := w.As(t, crash.RoleTriager)
	c.Get("/weekly?of=mine").Want(http.StatusOK).WantText(".weekly-lead", "nothing new. 0 reports of 0 problems")
	c.Post("/my/follow", url.Values{"kind": {"problem"}, "name": {ids["fresh"].String()}}).Want(http.StatusSeeOther)
	c.Get("/weekly?of=mine").Want(http.StatusOK).WantText(".weekly-lead", "1 new. 4 reports of 1 problem")
	c.Post("/my/follow", url.Values{"kind": {"package"}, "name": {"tidewatch"}}).Want(http.StatusSeeOther)
	c.Get("/weekly?of=mine").Want(http.StatusOK).WantText(".weekly-lead",
		"1 came back, 1 new, 1 risen, 1 fixed. 25 reports")

	c.Post(ids["riser"].Path()+"/mute", url.Values{"preset": {"newer"}}).Want(http.StatusSeeOther)
	c.Get("/weekly").Want(http.StatusOK).WantText(".weekly-lead", "1 came back, 1 new, 1 fixed.").WantText(".weekly-lead",
		"1 muted problem is left out.")
	w.As(t, crash.RoleAdmin).Post(ids["fresh"].Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"x"}}).
		Want(http.StatusSeeOther)
	for _, c := range []*handlertest.Client{w.Visitor(t), w.AsWithoutPrivate(t, crash.RoleViewer)} {
		a := c.Get("/weekly").Want(http.StatusOK).WantText(".weekly-lead", "1 came back, 1 fixed. 21 reports of 2 problems")
		if strings.Contains(a.Body, ids["fresh"].String()) {
			t.Error("got the embargoed problem")
		}
	}
	w.As(t, crash.RoleAdmin).Get("/weekly").WantText(".weekly-lead", "1 came back, 1 new, 1 fixed. 25 reports")
}

// TestWeeklyByHand lists problems that a person has marked as fixed, and their return.
func TestWeeklyByHand(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.reports(1, "other", "1.4-2", 9)
	w.As(t, crash.RoleTriager).Post(w.id.Path()+"/fixed", url.Values{"fix-release": {"Ubuntu 24.04"},
		"fix-version": {"1.4-2"}}).Want(http.StatusSeeOther)
	v := w.Visitor(t)
	v.Get("/weekly").Want(http.StatusOK).WantText("section[aria-labelledby=weekly-fixed]",
		"Marked fixed in 1.4-2 (Ubuntu 24.04).")
	w.reports(1, "watched", "1.4-2", 0)
	v.Get("/weekly").Want(http.StatusOK).WantNone("section[aria-labelledby=weekly-fixed] tbody").
		WantText("section[aria-labelledby=weekly-back]",
			"Marked fixed in 1.4-2 (Ubuntu 24.04); seen again in 1.4-2: 1 report")
}
