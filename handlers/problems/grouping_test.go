package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestWhyHere checks that everyone can read the rule, and people who may see reports the text that
// the rule used and ignored.
func TestWhyHere(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	build := crashtest.ModernOops
	report := p.Accept("m", build())
	path := handlertest.BucketOf(t, build()).Path()
	description := crash.RuleKernel.Description()

	visitor := p.Visitor(t).Get(path).Want(http.StatusOK)
	visitor.WantText(".grouping p", description).WantText(".grouping-rule", "kernel").WantNone(".grouping-list")
	for _, at := range []string{path, "/oops/" + report.String()} {
		a := p.As(t, crash.RoleViewer).Get(at).Want(http.StatusOK)
		a.WantText(".grouping summary", "Why grouped here").WantText(".grouping p", description).WantText(".grouping-rule",
			"kernel")
		a.WantText(".grouping-used li:nth-child(1)", "brig_tx_done [brigwifi] RIP: 0010:brig_tx_done+0x62/0x110 [brigwifi]")
		a.WantText(".grouping-ignored", "? show_regs+0x6d/0x80 the kernel marks it as unreliable")
		a.WantNone(".grouping-now").WantNone(".grouping[open]")
	}
	if got := p.As(t, crash.RoleViewer).Get(path).Attr(".grouping a[href^='/oops/']", "href"); got != "/oops/"+
		report.String() {
		t.Errorf("example: got %q, want the report", got)
	}
}

// TestWhyHereChanges checks that normalised text is shown before and after the change.
func TestWhyHereChanges(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("m", crashtest.Assertion())
	p.As(t, crash.RoleViewer).Get("/oops/"+id.String()).Want(http.StatusOK).WantText(".grouping-changed", "(ADDR)")
}

// TestGroupedByOlderRules checks that a report grouped by older rules links to its problem under
// the current rules.
func TestGroupedByOlderRules(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	p := handlertest.NewPagesOn(t, dbtest.Open(t, url))
	build := crashtest.ModernOops
	old, other := p.Accept("m", build()), p.Accept("m2", crashtest.Native())
	today, elsewhere := handlertest.BucketOf(t, build()), handlertest.BucketOf(t, crashtest.Native())
	move := func(id crash.OopsID, bucket any, rules int) {
		t.Helper()
		dbtest.Exec(t, url, "update reports set bucket_id = $2, rules = $3 where id = $1", [16]byte(id), bucket, rules)
	}
	move(old, nil, 1)
	c := p.As(t, crash.RoleViewer)
	a := c.Get("/oops/" + old.String()).Want(http.StatusOK)
	a.WantText(".grouping-now", "grouped by older rules Version 1 of the rules grouped it. The current rules would "+
		"put it into "+
		today.String())
	if got := a.Attr(".grouping-now a", "href"); got != today.Path() {
		t.Errorf("link: got %q, want %q", got, today.Path())
	}

	move(old, elsewhere[:], 1)
	c.Get("/oops/"+old.String()).WantText(".grouping-now", "grouped by older rules")
	move(old, elsewhere[:], grouping.RulesVersion)
	c.Get("/oops/"+old.String()).WantText(".grouping-now", "moved by hand").WantText(".grouping-now a", today.String())
	move(old, today[:], 1)
	c.Get("/oops/" + old.String()).WantNone(".grouping-now")

	dbtest.Exec(t, url, "delete from buckets where id = $1", today[:])
	move(old, nil, 1)
	a = c.Get("/oops/" + old.String()).Want(http.StatusOK)
	if text := a.Text(".grouping-now"); !strings.Contains(text, "a new problem:") ||
		!strings.Contains(text, today.String()) {
		t.Errorf("got %q, want a new problem", text)
	}
	c.Get("/oops/" + other.String()).WantNone(".grouping-now")
}
