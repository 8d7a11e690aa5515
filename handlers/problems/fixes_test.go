package problems_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// watched is a problem whose bug says that 1.4-2 fixes it in 24.04, and other problems of its package.
type watched struct {
	*handlertest.Pages
	id crash.BucketID
}

// reports stores n reports of a problem of the package by its name, each of a machine of its own.
func (w *watched) reports(n int, name, version string, daysAgo int, options ...crashtest.Option) crash.BucketID {
	w.T.Helper()
	build := func(more ...crashtest.Option) crashtest.Report {
		return crashtest.Native(append([]crashtest.Option{crashtest.Set("DuplicateSignature", name),
			crashtest.On("Ubuntu 24.04"), crashtest.Version(version),
			crashtest.At(handlertest.Today.AddDate(0, 0, -daysAgo))}, more...)...)
	}
	w.Several(n, build, options...)
	return handlertest.BucketOf(w.T, build(options...))
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{Pages: handlertest.NewPagesOn(t, dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today))}
	w.id = w.reports(30, "watched", "1.4-1", 60)
	w.reports(90, "other", "1.4-1", 60)
	return w
}

// fix links a bug that says that a version has the fix.
func (w *watched) fix(version string) {
	w.T.Helper()
	b := w.Bucket(w.T, w.id)
	dbtest.Must(w.Bugs.LinkBug(w.T.Context(), w.id,
		crash.Bug{Number: 3, URL: "https://tracker.example/3", By: "ada"}))(w.T)
	checktest.NoError(w.T, w.Bugs.SaveBugReading(w.T.Context(), crash.BugReading{Number: 3,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/" + b.SourcePackage, Status: "Fix Released", Complete: true,
			Closed: handlertest.Today.AddDate(0, 0, -30)}},
		Fixes: []crash.BugFix{{Package: b.SourcePackage, Version: version, Series: "noble"}}}, "", time.Hour))
}

// TestFixWatch follows a fix from its bug to the verdict, and checks each figure against the stored reports.
func TestFixWatch(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.Visitor(t).Get(w.id.Path()).Want(http.StatusOK).WantNone("#fixes")
	w.fix("1.4-2")
	check := func(sentence, row string) {
		t.Helper()
		for _, role := range handlertest.Roles {
			a := w.As(t, role).Get(w.id.Path()).Want(http.StatusOK)
			checktest.Equal(t, "sentence", a.Text("#fixes > p"), sentence)
			checktest.Equal(t, "row", a.Text("#fixes tbody tr"), row)
			a = w.As(t, role).Get("/fixes?package=tidewatch").Want(http.StatusOK)
			_, got, _ := strings.Cut(a.Text(".fix-table tbody"), " tidewatch 3 ") // the problem, its package and bug
			checktest.Equal(t, "list", got, row)
		}
	}
	check("No report of tidewatch 1.4-2 or later has come from 24.04 yet.", "24.04 1.4-2 not in use")

	w.reports(6, "other", "1.4-2", 9)
	check("Too early to judge 1.4-2 in 24.04: 6 machines with it sent 6 reports of tidewatch; 2.0 (1.3–3.1) reports of "+
		"this problem were to be expected without a fix. 16 more reports of the package without this problem would tell: "+
		"on 16 June 2026 at the present pace.", "24.04 1.4-2 11 May 6 2.0 (1.3–3.1) 0 too early 16 Jun")

	w.reports(16, "third", "1.4-3", 3) // a later version has the fix, too
	w.Accept("machine-121", crashtest.Native(crashtest.Set("DuplicateSignature", "third"), crashtest.On("Ubuntu 24.04"),
		crashtest.Version("1.4-3"), crashtest.At(handlertest.Today.AddDate(0, 0, -2)))) // one that reported 1.4-2, too
	const after = `release = 'Ubuntu 24.04' and package = 'tidewatch' and version in ('1.4-2', '1.4-3') and counted`
	checktest.Equal(t, "machines and reports in SQL", w.Value(t, `
		select count(distinct system_key) || ' ' || count(*) from reports where `+after), "22 23")
	checktest.Equal(t, "of the problem before and after in SQL", w.Value(t, `
		select count(*) filter (where bucket_id = $1 and version = '1.4-1') || ' of '
			|| count(*) filter (where version = '1.4-1') || ', '
			|| count(*) filter (where bucket_id = $1 and version <> '1.4-1') from reports`, w.id[:]), "30 of 120, 0")
	check("Fixed by 1.4-2 in 24.04: 22 machines with it sent 23 reports of tidewatch. 7.7 (4.9–12) reports of this "+
		"problem were to be expected without a fix, and none came. If it were half as frequent, one would have come with "+
		"a probability of 95%.", "24.04 1.4-2 11 May 22 7.7 (4.9–12) 0 fixed")

	w.reports(2, "watched", "1.4-3", 1)
	check("Not fixed by 1.4-2 in 24.04: 2 reports since; 7.7 (4.9–12) reports of this problem were to be expected "+
		"without a fix.", "24.04 1.4-2 11 May 24 7.7 (4.9–12) 2 not fixed")
	w.As(t, crash.RoleViewer).Get(w.id.Path()).WantText(".status-text", "Seen again after the fix in 24.04")

	w.reports(40, "other", "1.4-3", 1)
	check("Fewer, but not gone, with 1.4-2 in 24.04: 2 reports, where 21 (13–32) reports of this problem were to be "+
		"expected without a fix (0.10 times as many).", "24.04 1.4-2 11 May 64 21 (13–32) 2 fewer, not gone")
}

// TestFixWatchByHand watches a version that a person has marked as fixed, which only proposed has.
func TestFixWatchByHand(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.As(t, crash.RoleTriager).Post(w.id.Path()+"/fixed", url.Values{"fix-release": {"Ubuntu 24.04"},
		"fix-version": {"1.4-2"}}).Want(http.StatusSeeOther)
	w.reports(25, "other", "1.4-2", 9, crashtest.Set("Tags", "noble package-from-proposed"))
	checktest.Equal(t, "from proposed in SQL", w.Value(t, `
		select sum(proposed) || ' of ' || sum(reports) from bucket_days where version = '1.4-2'`), "25 of 25")
	for _, role := range handlertest.Roles {
		a := w.As(t, role).Get(w.id.Path()).Want(http.StatusOK)
		a.WantText("#fixes tbody tr", "24.04 1.4-2 only in proposed 11 May 25 8.3 (5.3–13) 0 fixed")
		checktest.Equal(t, "who says so", a.Attr("#fixes td[data-label='Fixed in']", "title"), "as a person says")
	}
	w.reports(1, "third", "1.4-2", 2)
	w.Visitor(t).Get(w.id.Path()).WantText("#fixes tbody tr", "24.04 1.4-2 11 May 26 8.7")
}

// TestFixesList chooses fixes by package, verdict and what the person follows, and omits embargoed problems.
func TestFixesList(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fix("1.4-2")
	a := w.Visitor(t).Get("/fixes").Want(http.StatusOK)
	a.WantText("nav[aria-label=Verdict]", "all 1 not in use 1").WantText(".fix-table tbody th", "watched")
	checktest.Equal(t, "link", a.Attr(".fix-table tbody th a", "href"), w.id.Path()+"#fixes")
	w.Visitor(t).Get("/fixes?verdict=fixed").Want(http.StatusOK).WantText(".empty", "There is no such fix.")
	w.Visitor(t).Get("/fixes?verdict=not+in+use").Want(http.StatusOK).WantText(".fix-table", "1.4-2")
	w.Visitor(t).Get("/fixes?verdict=nonsense").Want(http.StatusBadRequest)
	w.Visitor(t).Get("/fixes?package=quillpad").Want(http.StatusOK).WantNone(".fix-table")
	// Visitors follow nothing; their list is of all packages.
	w.Visitor(t).Get("/fixes?of=mine").Want(http.StatusOK).WantText(".fix-table", "1.4-2")

	c := w.As(t, crash.RoleViewer)
	c.Get("/fixes?of=mine").Want(http.StatusOK).WantNone(".fix-table")
	c.Post("/my/follow", url.Values{"kind": {"package"}, "name": {"tidewatch"}}).Want(http.StatusSeeOther)
	c.Get("/fixes?of=mine").Want(http.StatusOK).WantText(".fix-table", "1.4-2")

	w.As(t, crash.RoleAdmin).Post(w.id.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"x"}}).
		Want(http.StatusSeeOther)
	for _, role := range []crash.Role{crash.RoleNone, crash.RoleTriager} {
		a := w.AsWithoutPrivate(t, role).Get("/fixes").Want(http.StatusOK).WantNone(".fix-table")
		if strings.Contains(a.Body, w.id.String()) {
			t.Errorf("%s: got the embargoed problem", handlertest.RoleName(role))
		}
	}
	w.As(t, crash.RoleAdmin).Get("/fixes").Want(http.StatusOK).WantText(".fix-table", "1.4-2")
}
