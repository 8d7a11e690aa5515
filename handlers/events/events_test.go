package events_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/handlers/handlertest"
	"mishap/notify/rules"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// titles returns the titles in an inbox, in order.
func titles(a *handlertest.Answer) string {
	var all []string
	heads := a.HTML().Find(".notice-head > a, .notice-head > b")
	for i := range heads.Length() {
		all = append(all, heads.Eq(i).Text())
	}
	return strings.Join(all, " ")
}

func TestInbox(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.As(t, crash.RoleViewer)
	ada.Get("/inbox").Want(http.StatusOK).WantText(".empty", "Nothing yet.").WantText(".hint", "sends no mail")
	user := site.AddUser(t, crash.RoleViewer).ID
	kinds := []crash.EventKind{crash.EventNew, crash.EventRegressed, crash.EventTracker}
	for i, kind := range kinds {
		e := crash.Event{Edge: string(kind), Kind: kind, Title: fmt.Sprintf("t%d", i), Text: "It happened.",
			Package: fmt.Sprintf("p%d", i/2), Machines: 3}
		if kind != crash.EventTracker {
			e.Bucket = &crash.BucketID{byte(i)}
		}
		handlertest.Publish(t, site, e, user)
	}
	page := ada.Get("/inbox").Want(http.StatusOK).WantText(".inbox-link .unread-count", "3")
	for query, want := range map[string]string{"": "t2 t1 t0", "?kind=new": "t0", "?package=p0": "t1 t0",
		"?package=px": "",
		"?unread=1":   "t2 t1 t0", "?before=2": "t0", "?mail=7": "", "?kind=regressed&package=p1": ""} {
		checktest.Equal(t, query, titles(ada.Get("/inbox"+query).Want(http.StatusOK)), want)
	}
	for _, query := range []string{"?before=x", "?before=-1", "?mail=x", "?package=%00"} {
		ada.Get("/inbox" + query).Want(http.StatusBadRequest)
	}
	checktest.Equal(t, "link", page.Attr("#notice-1 .notice-head a", "href"), (crash.BucketID{0}).Path())
	if got := page.Attr("#notice-3 .notice-head a", "href"); got != "/admin/tracker" {
		t.Errorf("link of an alert: got %q, want the page of the tracker", got)
	}
	page.WantText("#notice-2", "Regressed t1").WantText("#notice-2", "p0 · 3 machines · because you follow p0")
	ada.Post("/inbox/read", url.Values{"notice": {"2"}}).WantRedirect(http.StatusSeeOther, "/inbox")
	page = ada.Get("/inbox?unread=1").WantText(".flash-done", "1 notification marked as read.")
	checktest.Equal(t, "after reading one: unread", titles(page), "t2 t0")
	ada.Post("/inbox/read", url.Values{"notice": {"3"}, "older": {"1"}}).Want(http.StatusSeeOther)
	page = ada.Get("/inbox").WantText(".flash-done", "2 notifications marked as read.").WantNone(
		".unread-count, #read-all")
	ada.Post("/inbox/unread", url.Values{"at": {page.Attr(".flash input[name=at]", "value")}}).Want(http.StatusSeeOther)
	checktest.Equal(t, "after undo: unread", titles(ada.Get("/inbox?unread=1")), "t2 t0")
	other := site.As(t, crash.RoleTriager)
	other.Get("/inbox").Want(http.StatusOK).WantNone(".notices")
	other.Post("/inbox/read", url.Values{"notice": {"3"}}).Want(http.StatusSeeOther)
	if n, err := site.Events.Unread(t.Context(), user); err != nil || n != 2 {
		t.Errorf("after another person tried: got %d unread, %v, want 2", n, err)
	}
	for format, want := range map[string]string{"csv": "because", "json": `"title":`, "atom": "<entry>"} {
		if body := ada.Get("/inbox." + format).Want(http.StatusOK).Body; format != "csv" && !strings.Contains(body, want) ||
			!strings.Contains(body, "you follow p0") && format != "atom" {
			t.Errorf("%s: got %s", format, body)
		}
	}
}

func TestInboxPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.As(t, crash.RoleViewer)
	for n := range 120 {
		handlertest.Publish(t, site, crash.Event{Edge: fmt.Sprint(n), Kind: crash.EventNew, Title: fmt.Sprintf("t%d", n)},
			site.AddUser(t, crash.RoleViewer).ID)
	}
	page := ada.Get("/inbox?kind=new").WantText(".unread-count", "99+")
	seen := strings.Fields(titles(page))
	for page.HTML().Find(".paging a").First().Text() == "Older" {
		page = ada.Get(page.Attr(".paging a", "href")).Want(http.StatusOK)
		seen = append(seen, strings.Fields(titles(page))...)
	}
	if len(seen) != 120 || seen[0] != "t119" || seen[119] != "t0" {
		t.Errorf("got %d notices %q, want all once, newest first", len(seen), seen)
	}
}

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
	checktest.NoError(t, events.NewEvaluator(site.Events, events.EvaluatorOptions{}).Round(t.Context()))
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
	all := dbtest.Must(site.Events.Rules(t.Context()))(t)
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

// TestRuleOfConcentrated saves a condition about where problems are concentrated, and checks that private fields
// are refused.
func TestRuleOfConcentrated(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Privacy: dbtest.Must(privacy.Parse("MachineType=private",
		"restricted"))(t)})
	c := site.As(t, crash.RoleAdmin)
	on := func(field, value string) url.Values {
		return ruleForm(url.Values{"do": {"save"}, "concentrated": {field}, "concentrated_value": {value}})
	}
	for _, wrong := range []url.Values{on("model", ""), on("any", "x"), on("graphics", "a["), on("Stacktrace", "")} {
		c.Post("/admin/rules", wrong).Want(http.StatusUnprocessableEntity).WantText("#rule-concentrated-wrong", ".")
	}
	form := on("graphics", "nvidia-*")
	page := c.Post("/admin/rules", form).Want(http.StatusUnprocessableEntity)
	form.Set("rehearsed", page.Attr("#rule-form input[name=rehearsed]", "value"))
	c.Post("/admin/rules", form).Want(http.StatusSeeOther)
	c.Get("/admin/rules").WantText(".rule-list", "is new and it is concentrated on graphics driver nvidia-*, notify")
	r := dbtest.Must(site.Events.Rules(t.Context()))(t)[0]
	edit := c.Get("/admin/rules/" + strconv.FormatInt(r.ID, 10)).Want(http.StatusOK)
	checktest.Equal(t, "field", edit.Attr("#rule-concentrated option[selected]", "value"), "graphics")
	checktest.Equal(t, "value", edit.Attr("#rule-concentrated_value", "value"), "nvidia-*")
}

// TestRuleMergesTwins saves a rule that merges twins, and shows it in the form again.
func TestRuleMergesTwins(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	form := ruleForm(url.Values{"do": {"save"}, "merge": {"1"}, "bugs": {""}, "followers": {""}})
	page := c.Post("/admin/rules", form).Want(http.StatusUnprocessableEntity)
	form.Set("rehearsed", page.Attr("#rule-form input[name=rehearsed]", "value"))
	c.Post("/admin/rules", form).Want(http.StatusSeeOther)
	c.Get("/admin/rules").WantText(".rule-list", "is new, merge it with its twins.")
	r := dbtest.Must(site.Events.Rules(t.Context()))(t)[0]
	checktest.Equal(t, "merges", r.Actions.Merge, true)
	edit := c.Get("/admin/rules/" + strconv.FormatInt(r.ID, 10)).Want(http.StatusOK).HTML()
	checktest.Equal(t, "checked boxes", edit.Find("#rule-form input[name=merge][checked]").Length(), 1)
	// Credentials have no twins.
	form = ruleForm(url.Values{"when": {string(crash.EventTracker)}, "scope": {"everything"}, "merge": {"1"}, "bugs": {""},
		"followers": {""}})
	c.Post("/admin/rules", form).Want(http.StatusUnprocessableEntity).WantText("#rule-actions-wrong", "can only notify")
}

// TestRuleSwitches checks switching off, deleting and restoring, and the audit trail.
func TestRuleSwitches(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	enabled := func() bool {
		r := dbtest.Must(site.Events.Rule(t.Context(), 1))(t)
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
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
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
	dbtest.Must(site.Filer.CreateBug(t.Context(), problems[2].Signature, tracker.Options{Person: "ada",
		Wait: handlertest.Patience}))(t)
	page = c.Get("/candidates").Want(http.StatusOK).HTML()
	if page.Find("#candidate-3").Length() != 0 || page.Find("#candidate-2").Length() != 1 {
		t.Error("the list has a problem with a bug, or not the refused one")
	}
}

// TestProposeBug checks that a person's proposal waits among the candidates, escaped, and is decided about like
// those of rules; that a problem is proposed once; and that rules leave it alone.
func TestProposeBug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	rule := handlertest.Candidates(t, site, 2)
	b := site.Save(t, crashtest.Native(crashtest.Without("Date"), crashtest.Set("DuplicateSignature", "own")))
	propose := func(b crash.Bucket, why string) (rules.Candidate, error) {
		return site.Events.ProposeBug(t.Context(), b, why, "kim")
	}
	for _, why := range []string{"", " \n ", "\u202e", strings.Repeat("x", crash.MaxReason+1), "a\x00b", "\xff"} {
		if _, err := propose(b, why); crash.KindOf(err) != crash.Invalid {
			t.Errorf("reason %.20q: got %v, want Invalid", why, err)
		}
	}
	if _, err := propose(crash.Bucket{ID: crash.BucketID{9}}, "x"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("unknown problem: got %v, want NotFound", err)
	}
	c, err := propose(b, "  crashes\n<b>every</b> \u202eday ")
	checktest.NoError(t, err)
	checktest.Equal(t, "reason", c.Why, "crashes <b>every</b> day")
	checktest.Equal(t, "state", c.State, rules.CandidateWaiting)
	checktest.Equal(t, "machines", c.Machines, b.Systems)
	for _, other := range []crash.Bucket{b, rule[0]} {
		if _, err := propose(other, "again"); crash.KindOf(err) != crash.Conflict {
			t.Errorf("a candidate already: got %v, want Conflict", err)
		}
	}
	evaluator := events.NewEvaluator(site.Events, events.EvaluatorOptions{})
	checktest.NoError(t, evaluator.Round(t.Context()))
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 0)
	triager := site.As(t, crash.RoleTriager)
	item := "#candidate-" + strconv.FormatInt(c.ID, 10)
	page := triager.Get("/candidates").Want(http.StatusOK).WantText(item, "Proposed by kim").WantText(item,
		"crashes <b>every</b> day").WantText("#candidate-1", "Rule: Queue")
	if n := page.HTML().Find(item + " b").Length(); n != 0 {
		t.Error("the reason is not escaped")
	}
	decide := "/candidates/" + strconv.FormatInt(c.ID, 10)
	triager.Post(decide+"/decline", url.Values{"reason": {"no"}}).Want(http.StatusSeeOther)
	if _, err := propose(b, "again"); crash.KindOf(err) != crash.Conflict || !strings.Contains(err.Error(),
		"ada-triager declined a bug") {
		t.Errorf("declined: got %v, want who declined it", err)
	}
	triager.Post(decide+"/restore", nil).Want(http.StatusSeeOther)
	triager.Post(decide+"/approve", nil).Want(http.StatusSeeOther)
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
	if _, err := propose(b, "again"); crash.KindOf(err) != crash.Conflict || !strings.Contains(err.Error(), "has a bug") {
		t.Errorf("filed: got %v", err)
	}
	got := site.Value(t, `select person || ' ' || coalesce(before::text, '') || ' ' || after::text || ' ' ||
		(detail->>'reason') from audit_events where action = 'candidate.proposed'`)
	checktest.Equal(t, "record", got, `kim  {"state": "waiting"} crashes <b>every</b> day`)
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
