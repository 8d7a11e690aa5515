package events_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/events"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// ruleForm returns the form of a rule that queues new problems of a package.
func ruleForm(more url.Values) url.Values {
	form := url.Values{"name": {"Harbour"}, "when": {"new"}, "machines": {"1"}, "scope": {"package"},
		"names": {"harbor-*, harbor"}, "followers": {"1"}, "bugs": {"queue"}, "enabled": {"1"}, "do": {"rehearse"}}
	for field, values := range more {
		form[field] = values
	}
	return form
}

// TestRuleIsRehearsed checks that a rule is saved only after a rehearsal of the same rule.
func TestRuleIsRehearsed(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native(crashtest.Set("SourcePackage", "harbor"), crashtest.Set("Package", "harbor 1.0-1"),
		crashtest.Without("Date")))
	// A rehearsal knows what arrived as the evaluation does, which stores it.
	if err := events.NewEvaluator(site.Events, events.EvaluatorOptions{}).Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := site.As(t, crash.RoleAdmin)
	page := c.Get("/admin/rules/new").Want(http.StatusOK).HTML()
	if page.Find(`#rule-form button[value=save]`).Length() != 0 {
		t.Error("a rule that was not rehearsed can be saved")
	}
	// Without a rehearsal, the rule is rehearsed instead of saved.
	page = c.Post("/admin/rules", ruleForm(url.Values{"do": {"save"}})).Want(http.StatusUnprocessableEntity).HTML()
	if n := handlertest.RuleCount(t, site); n != 5 {
		t.Errorf("got %d rules, want the 5 shipped ones", n)
	}
	lines := page.Find(".rehearsal-lines tbody tr")
	if lines.Length() != 1 || !strings.Contains(lines.Text(), "queue for filing") {
		t.Errorf("rehearsal: got %q, want one problem that is queued", lines.Text())
	}
	rehearsed, _ := page.Find("#rule-form input[name=rehearsed]").Attr("value")
	// A rule that differs from the rehearsed one is not saved, either.
	c.Post("/admin/rules", ruleForm(url.Values{"do": {"save"}, "rehearsed": {rehearsed}, "machines": {"2"}})).
		Want(http.StatusUnprocessableEntity)
	c.Post("/admin/rules", ruleForm(url.Values{"do": {"save"}, "rehearsed": {rehearsed}})).Want(http.StatusSeeOther)
	all, err := site.Events.Rules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = "When a problem of harbor-* and harbor is new, notify its followers and queue it for filing."
	if r := all[0]; r.Name != "Harbour" || r.Author != "ada-admin" || r.Sentence() != want || !r.Enabled {
		t.Errorf("got %+v", r)
	}
	if page := c.Get("/admin/rules").Want(http.StatusOK).HTML(); !strings.Contains(page.Find(".rule-list").Text(), want) {
		t.Error("the list does not have the rule")
	}
	// Another rule cannot have the name.
	answer := c.Post("/admin/rules", ruleForm(url.Values{"do": {"save"}, "rehearsed": {rehearsed}, "name": {"HARBOUR"}})).
		Want(http.StatusUnprocessableEntity).HTML()
	if wrong := answer.Find("#rule-name-wrong").Text(); !strings.Contains(wrong, "Another rule") {
		t.Errorf("the name of another rule: got %q", wrong)
	}
}

// TestRuleFormSaysWhatIsWrong checks messages at the fields.
func TestRuleFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	page := c.Post("/admin/rules", ruleForm(url.Values{"name": {""}, "machines": {"many"}, "names": {""},
		"people": {"ada-admin nobody"}, "assign": {"stranger"}})).Want(http.StatusUnprocessableEntity).HTML()
	for _, field := range []string{"name", "machines", "names", "people", "assign"} {
		if page.Find("#rule-"+field+"-wrong").Length() != 1 {
			t.Errorf("no message at %s", field)
		}
	}
	if got, _ := page.Find("#rule-machines").Attr("value"); got != "many" {
		t.Errorf("the typed text is lost: got %q", got)
	}
}

// TestRuleSwitches checks switching off, deleting and restoring, and the audit trail.
func TestRuleSwitches(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	enabled := func() bool {
		r, err := site.Events.Rule(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return r.Enabled && !r.Deleted
	}
	part := c.Post("/admin/rules/1/switch", url.Values{"on": {""}}, handlertest.AsPart...).Want(http.StatusOK).HTML()
	if enabled() || part.Find("#rule-1.rule-off").Length() != 1 {
		t.Error("the rule is still on")
	}
	c.Post("/admin/rules/1/switch", url.Values{"on": {"1"}}).Want(http.StatusSeeOther)
	if !enabled() {
		t.Error("the rule is still off")
	}
	c.Post("/admin/rules/1/delete", nil).Want(http.StatusSeeOther)
	page := c.Get("/admin/rules").Want(http.StatusOK).HTML()
	if enabled() || page.Find("#rule-1").Length() != 0 {
		t.Error("the rule is still there")
	}
	if action, _ := page.Find("#flash form").Attr("action"); action != "/admin/rules/1/restore" {
		t.Errorf("undo: got %q", action)
	}
	c.Get("/admin/rules/1").Want(http.StatusNotFound)
	c.Post("/admin/rules/1/restore", nil).Want(http.StatusSeeOther)
	if !enabled() {
		t.Error("the rule was not restored")
	}
	var audited string
	if err := site.Store.Pool.QueryRow(t.Context(), `select string_agg(action, ' ' order by id) from audit_events
		where action like 'rule.%'`).Scan(&audited); err != nil || audited !=
		"rule.change rule.change rule.delete rule.restore" {
		t.Errorf("audit: got %q, %v", audited, err)
	}
}

// TestCandidates checks that candidates can be approved, and declined with undo, and that a refusal
// is shown.
func TestCandidates(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	problems := handlertest.Candidates(t, site, 3)
	c := site.As(t, crash.RoleTriager)
	page := c.Get("/candidates").Want(http.StatusOK).HTML()
	if n := page.Find(".rule-list > li").Length(); n != 3 {
		t.Fatalf("got %d candidates, want 3", n)
	}
	if edit, _ := page.Find("#candidate-1 a.button").Attr("href"); edit != problems[0].ID.Path()+"/review" {
		t.Errorf("edit: got %q", edit)
	}
	part := c.Post("/candidates/1/approve", nil, handlertest.AsPart...).Want(http.StatusOK).HTML()
	b := site.Bucket(t, problems[0].ID)
	if b.Bug.Number == 0 || part.Find("#candidate-1[data-state=filed]").Length() != 1 {
		t.Errorf("approved: got bug %d, %s", b.Bug.Number, part.Text())
	}
	c.Post("/candidates/1/approve", nil).Want(http.StatusSeeOther) // a second click
	if n := len(site.Tracker.Bugs()); n != 1 {
		t.Errorf("got %d bugs, want 1", n)
	}
	c.Post("/candidates/2/decline", url.Values{"reason": {"not ours"}}).Want(http.StatusSeeOther)
	page = c.Get("/candidates").Want(http.StatusOK).HTML()
	if got := page.Find("#candidate-2[data-state=declined]").Text(); !strings.Contains(got, "ada-triager: not ours") {
		t.Errorf("declined: got %q", got)
	}
	c.Post("/candidates/2/decline", nil).Want(http.StatusNotFound) // somebody else was faster
	c.Post("/candidates/2/restore", nil, handlertest.AsPart...).Want(http.StatusOK)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.Permission)
	part = c.Post("/candidates/2/approve", nil, handlertest.AsPart...).Want(http.StatusBadGateway).HTML()
	if part.Find("#candidate-2[data-state=waiting] [role=alert]").Length() != 1 {
		t.Errorf("refused: got %s", part.Text())
	}
	// A problem whose bug was created elsewhere is no longer a candidate.
	if _, err := site.Filer.CreateBug(t.Context(), problems[2].Signature, tracker.Options{Person: "ada",
		Wait: handlertest.Patience}); err != nil {
		t.Fatal(err)
	}
	page = c.Get("/candidates").Want(http.StatusOK).HTML()
	if page.Find("#candidate-3").Length() != 0 || page.Find("#candidate-2").Length() != 1 {
		t.Error("the list has a problem with a bug, or not the refused one")
	}
}

// TestCandidatesWithoutFiling checks that nothing can be approved while filing is off.
func TestCandidatesWithoutFiling(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{NoFiling: true})
	handlertest.Candidates(t, site, 1)
	c := site.As(t, crash.RoleTriager)
	page := c.Get("/candidates").Want(http.StatusOK).HTML()
	if page.Find("#candidate-1-approve").Length() != 0 {
		t.Error("the page offers to approve")
	}
	c.Post("/candidates/1/approve", nil).Want(http.StatusForbidden)
	if n := len(site.Tracker.Bugs()); n != 0 {
		t.Errorf("got %d bugs", n)
	}
}
