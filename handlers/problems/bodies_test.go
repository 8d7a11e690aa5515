package problems_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestReportsNotInFull tests the pages and files of reports whose full text is not stored.
func TestReportsNotInFull(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesOn(t, dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), KeepBodies: 2,
		Now: func() time.Time { return handlertest.Today }}))
	var ids []crash.OopsID
	for n := range 6 {
		report := crashtest.Native()
		report["ProcStatus"] = fmt.Sprint("Pid:\t", n)
		ids = append(ids, p.Accept("machine", report))
	}
	of := handlertest.BucketOf(t, crashtest.Native())
	c, admin := p.As(t, crash.RoleViewer), p.As(t, crash.RoleAdmin)

	const sentence = "Only the fields below are stored of this report"
	c.Get("/oops/" + ids[0].String()).Want(http.StatusOK).WantNone(".problem-main > .missing")
	last := ids[5].String()
	a := c.Get("/oops/"+last).Want(http.StatusOK).WantText(".missing", sentence).
		WantText(".missing", "2 of 6 reports are.").WantText(".fields", "tidewatch")
	newest := dbtest.Must(p.Store.NewestInFull(t.Context(), of))(t)
	checktest.Equal(t, "newest in full", a.Attr(".missing a", "href"), "/oops/"+newest.String())
	if strings.Contains(a.HTML().Text(), "keep_bodies_per_problem") {
		t.Errorf("a viewer sees the name of the setting")
	}
	admin.Get("/oops/"+last).WantText(".missing", "keep_bodies_per_problem")

	for _, path := range []string{of.Path(), "/user/" + string(crash.NewSystemID("machine"))} {
		a := c.Get(path).Want(http.StatusOK)
		checktest.Equal(t, path+": marked rows", strings.Count(a.Body, ">not in full<"), 4)
	}
	csv := c.Get(of.Path() + ".csv").Want(http.StatusOK).Body
	if strings.Count(csv, ",false") != 4 || strings.Count(csv, ",true") != 2 {
		t.Errorf("got %s, want 2 of 6 reports in full", csv)
	}
	if list := c.Get(of.Path() + ".json").Want(http.StatusOK).Body; strings.Count(list, `"stored_in_full":false`) != 4 {
		t.Errorf("got %s, want 4 reports not in full", list)
	}
	c.Get(of.Path()).Want(http.StatusOK).WantText(".reports", "2 of 6 reports since").
		WantText(".stack", "tide_parse_row")
	c.Get(of.Path()+"?report="+last).Want(http.StatusOK).WantText(".stack .missing", crash.NotStored).
		WantNone(".stack > .quiet")
	c.Get(of.Path()+"?facet=VersionSignature").Want(http.StatusOK).
		WantText(".facets", "2 reports of this problem that are stored in full")
	c.Get(of.Path()+"/compare?report="+last).Want(http.StatusConflict).WantText("body", "not stored")
	triager := p.As(t, crash.RoleTriager)
	triager.Get(of.Path() + "/split?field=frame&value=tide_parse_row").Want(http.StatusOK)

	for path, want := range map[string]string{
		"/oops/" + last + ".json":              `"stored_in_full": false`,
		"/oops/" + last + ".crash":             crash.NotStoredField + ": " + crash.NotStored,
		"/api/1.0/oops/" + last + "/":          `"MishapNotStored":`,
		"/oops/" + ids[0].String() + ".json":   `"stored_in_full": true`,
		"/api/1.0/bucket/" + of.String() + "/": `"stored_in_full"`,
	} {
		if text := c.Get(path).Want(http.StatusOK).Body; !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want it to contain %s", path, text, want)
		}
	}
}
