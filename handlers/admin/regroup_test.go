package admin_test

import (
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/views/layout"
)

func TestRegroupPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleAdmin)
	c.Get(layout.PathRegroup).Want(http.StatusOK).WantText("main", "Stored reports have not been regrouped yet.").WantText(
		".admin-nav",
		"Grouping")
	c.Post(layout.PathRegroup, nil).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText("#regroup-run", "0 would move").WantNone("form[action='/admin/regroup/apply']").
		WantText("#regroup-run form button", "Stop")
	c.Post(layout.PathRegroup+"/apply", nil).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText(".flash-error", "already being regrouped")
	run, err := site.Decisions.RunningRegroup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// These rules move every report.
	rules := crash.Rules{Version: run.Rules, Group: func(crash.Fields) crash.Grouping {
		return crash.Grouping{Signature: "all <of> them", Rule: crash.RuleStacktrace}
	}}
	if run, err = site.Decisions.WorkRegroup(t.Context(), run.ID, rules, nil); err != nil ||
		run.State != crash.RegroupDone || run.Moved != 0 {
		t.Fatalf("dry run of the same version: got %+v, %v, want nothing to move", run, err)
	}
	rules.Version++
	if run, err = site.Decisions.StartRegroup(t.Context(), rules.Version, false, "ada"); err != nil {
		t.Fatal(err)
	}
	if run, err = site.Decisions.WorkRegroup(t.Context(), run.ID, rules, nil); err != nil || run.Moved != 1 {
		t.Fatalf("run: got %+v, %v, want one report moved", run, err)
	}
	c.Get(layout.PathRegroup).WantText("#regroup-run", "1 moved; done").WantText("#regroup-run",
		"all <of> them").WantText(".regroup-runs", "preview")
	c.Part(layout.PathRegroup+"?run=1").Want(http.StatusOK).WantText("section", "would move").WantNone("main")
	c.Get(layout.PathRegroup + "?run=99").Want(http.StatusNotFound)
	c.Get(layout.PathRegroup + "?run=x").Want(http.StatusNotFound)
	c.Post(layout.PathRegroup+"/stop", url.Values{"run": {"1"}}).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText(".flash-error", "has already ended")
	c.Get(b.ID.Path()).Want(http.StatusSeeOther)
	c.Get(crash.BucketIDOf("all <of> them").Path()).WantText(".decision-list", "regrouped")
}
