package problems_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestMuteOnPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2")))
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/mute"
	page := c.Get(b.ID.Path()).Want(http.StatusOK)
	checktest.Equal(t, "link", page.Attr("#manual a", "href"), path)
	c.Get(path).WantText("h1", "Mute this problem").WantText(".presets", "For a week")

	c.Post(path, url.Values{"preset": {"week"}, "reason": {"waits for upstream"}}).WantRedirect(http.StatusSeeOther,
		b.ID.Path())
	week := crash.Midnight(time.Now()).AddDate(0, 0, 7).Format("2 January 2006")
	page = c.Get(b.ID.Path()).WantText(".flash-done", "Muted until "+week).WantText("#manual", "until "+week).
		WantText("#manual", "ada-triager").WantText("#manual", "waits for upstream").
		WantText("#decisions", "until "+week).WantText("#manual a", "Change the mute")
	if word := page.Text(".verdict"); strings.Contains(word, "muted") {
		t.Errorf("the derived status has the manual one in it: %q", word)
	}
	visitor := site.Visitor(t).Get(b.ID.Path()).WantText("#manual", "until "+week).WantNone("#manual form, #manual a")
	if text := visitor.Text("main"); strings.Contains(text, "ada") || strings.Contains(text, "upstream") {
		t.Errorf("visitors see who muted it, or why: %q", text)
	}

	// Undo of the message, then once more.
	entry := page.Attr(".flash-done input[name=entries]", "value")
	c.Post("/problems/triage/undo", url.Values{"entries": {entry}}).Want(http.StatusSeeOther)
	c.Get(b.ID.Path()).WantText(".flash-done", "Undone").WantNone("#manual .state").WantText("#decisions .undone",
		"undone by ada-triager")
	c.Post("/problems/triage/undo", url.Values{"entries": {entry}}).Want(http.StatusSeeOther)
	c.Get(b.ID.Path()).WantText(".flash-error", "already been undone")
}

func TestMuteConditions(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2")))
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/mute"
	for want, form := range map[string]url.Values{
		"at least one condition":     {},
		"is not a day":               {"date": {"soon"}},
		"is not in the future":       {"date": {"2020-01-01"}},
		"More reports: “many”":       {"reports": {"many"}},
		"how many reports or":        {"days": {"7"}},
		"is not a version":           {"version": {"next one"}},
		"Say which version in":       {"release": {"Ubuntu 24.04"}},
		"because it was seen in 1.4": {"version": {"1.4-1"}},
	} {
		a := c.Post(path, form).Want(http.StatusUnprocessableEntity).WantText(".error", want)
		for name, values := range form {
			if name == "release" {
				a.WantText("[name=release] [selected]", values[0])
			} else if got := a.Attr("[name="+name+"]", "value"); got != values[0] {
				t.Errorf("%s: the form has lost %s: got %q", want, name, got)
			}
		}
	}
	if m := handlertest.ManualStatus(t, site, b.ID); !m.Empty() {
		t.Fatalf("after refusals: got %+v", m)
	}
	day := time.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
	c.Post(path, url.Values{"date": {day}, "reports": {"50"}, "machines": {"5"}, "days": {"7"}, "version": {"1.4-3"},
		"release": {"Ubuntu 24.04"}, "newer": {"1"}, "regression": {"1"}}).WantRedirect(http.StatusSeeOther, b.ID.Path())
	first := handlertest.ManualStatus(t, site, b.ID).Muted
	if first == nil {
		t.Fatal("got no mute")
	}
	u := first.Until
	if u.Date.Format(time.DateOnly) != day || u.Reports != 50 || u.Machines != 5 || u.Days != 7 || u.Version != "1.4-3" ||
		u.Release != "Ubuntu 24.04" || !u.Newer || !u.Regression || first.Person != "ada-triager" {
		t.Errorf("got %+v", first)
	}
	// A second person, whose form is older, does not replace it; the form then shows it.
	a := c.Post(path, url.Values{"preset": {"forever"}}).Want(http.StatusUnprocessableEntity).
		WantText(".error", "muted already: Muted by ada-triager")
	c.Post(path, url.Values{"preset": {"forever"}, "replaces": {a.Attr("[name=replaces]", "value")}}).Want(
		http.StatusSeeOther)
	if m := handlertest.ManualStatus(t, site, b.ID).Muted; m == nil || m.Until != (crash.MuteUntil{}) {
		t.Errorf("replaced: got %+v, want a mute without conditions", m)
	}
}

func TestMuteInDialog(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/mute"
	form := c.Get(path, handlertest.AsPart...).Want(http.StatusOK).WantText("#dialog-heading", "Mute").WantNone("main")
	checktest.Equal(t, "failures replace", form.Attr("#triage", "hx-status:4xx"), "target:#dialog-trouble swap:innerHTML")
	c.Post(path, url.Values{"dialog": {"1"}}, handlertest.AsPart...).Want(http.StatusUnprocessableEntity).
		WantText(".triage-form .error", "at least one condition").WantText("#dialog-heading", "Mute")
	muted := c.Post(path, url.Values{"preset": {"newer"}, "dialog": {"1"}}, handlertest.AsPart...).Want(http.StatusOK).
		WantText("#flash", "Muted until it is seen in a newer version")
	c.Get(b.ID.Path()).WantText("#manual", "until it is seen in a newer version")
	// Without the dialog, a refusal is a message.
	c.Post("/problems/mute", url.Values{"preset": {"week"}, "problems": {b.ID.String()}},
		handlertest.AsPart...).Want(http.StatusConflict).WantText(".flash-error", "muted already").WantNone("form")
	entry := muted.Attr("#flash input[name=entries]", "value")
	c.Post("/problems/triage/undo", url.Values{"entries": {entry}}, handlertest.AsPart...).Want(http.StatusOK).
		WantText("#flash", "Undone")
	c.Get(b.ID.Path()).WantNone("#manual .state")
}

func TestFixedOnPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	save := func(version string, pid int) crash.Bucket {
		return site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version(version),
			crashtest.Process(pid), crashtest.At(time.Now())))
	}
	b := save("1.4-1", 1)
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/fixed"
	c.Get(path).Want(http.StatusOK).WantText("label", "Ubuntu 24.04").WantText("main", "every release")
	// A version that was seen already is confirmed first; one is confirmed only for itself.
	form := url.Values{"fix-release": {"Ubuntu 24.04", ""}, "fix-version": {"1.4-1", ""}}
	warned := c.Post(path, form).Want(http.StatusUnprocessableEntity).WantText(".error",
		"already seen in 1.4-1 (Ubuntu 24.04): 1 report.").WantText("button.primary", "Mark as fixed nevertheless")
	if got := warned.Attr("#fix-0", "value"); got != "1.4-1" || !handlertest.ManualStatus(t, site, b.ID).Empty() {
		t.Errorf("warned: got %q in the form and %+v, want nothing saved", got, handlertest.ManualStatus(t, site, b.ID))
	}
	form.Set("confirm", warned.Attr("[name=confirm]", "value"))
	c.Post(path, url.Values{"fix-release": {"Ubuntu 24.04", ""}, "fix-version": {"1.4-0", ""},
		"confirm": form["confirm"]}).Want(http.StatusUnprocessableEntity).WantText(".error", "already seen")
	c.Post(path, url.Values{"fix-release": {"Ubuntu 24.04"}, "fix-version": {"1.4-1"}, "dialog": {"1"}},
		handlertest.AsPart...).Want(http.StatusUnprocessableEntity).WantText(".triage-form .error", "already seen")
	c.Post(path, form).WantRedirect(http.StatusSeeOther, b.ID.Path())
	entry := c.Get(b.ID.Path()).WantNone("#manual .state-warn").Attr("#manual [name=entries]", "value")
	c.Post("/problems/triage/undo", url.Values{"entries": {entry}}).Want(http.StatusSeeOther)
	c.Post(path, url.Values{"fix-release": {"Ubuntu 24.04", ""}, "fix-version": {"soon", ""}}).
		Want(http.StatusUnprocessableEntity).WantText(".error", "not a version")
	c.Post(path, url.Values{"fix-release": {"Ubuntu 24.04", ""}, "fix-version": {"1.4-2", ""}, "reason": {"patch 7"}}).
		WantRedirect(http.StatusSeeOther, b.ID.Path())
	before := c.Get(b.ID.Path()).WantText("#manual", "1.4-2 (Ubuntu 24.04)").WantText("#manual",
		"patch 7").WantNone("#manual .state-warn")
	if text := before.Text(".verdict"); !strings.Contains(text, string(crash.StateNew)) {
		t.Errorf("the derived status: got %q, want that of a problem without a fix", text)
	}
	save("1.4-2", 2)
	save("1.4-3", 3)
	c.Get(b.ID.Path()).WantText("#manual .state-warn", "marked fixed").WantText("#manual strong", "seen again in 1.4-3: "+
		"2 reports since").
		WantNone("#manual .status-fixed, #manual .state-good")
	c.Get("/?period=year").WantText(".problems .word", "not fixed?").WantNone(".problems .word-good")
	c.Get(path).WantText("main", "Ubuntu 24.04")
	if got := c.Get(path).Attr("#fix-0", "value"); got != "1.4-2" {
		t.Errorf("the form: got %q, want the version before", got)
	}
}

func TestWontFix(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path()).WantText(".create-bug .primary", "Create bug")
	c.Post(b.ID.Path()+"/wontfix", url.Values{"reason": {"hardware"}}).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText("#manual", "won’t fix").WantText("#manual", "hardware").
		WantNone("#manual a[href$=wontfix]").WantText(".create-bug", "Create bug").WantNone(".create-bug .primary")
	c.Get("/?period=year").WantText(".problems .word", "won’t fix")
}

// TestReturned shows why a problem has returned, until somebody decides about it.
func TestReturned(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.Process(1)))
	c := site.As(t, crash.RoleTriager)
	c.Post(b.ID.Path()+"/mute", url.Values{"reports": {"1"}}).Want(http.StatusSeeOther)
	c.Get("/?period=year").WantNone("tbody tr")
	site.Save(t, crashtest.Native(crashtest.Process(2)))
	checktest.NoError(t, site.Problems.EndMutes(t.Context()))
	c.Get("/?period=year").WantText("tbody", "tidewatch")
	today := time.Now().UTC().Format("2 January 2006")
	c.Get(b.ID.Path()).WantText("#manual", "Returned on "+today+": 1 more report arrived.").
		WantText("#decisions", "returned: 1 more report arrived.")
	c.Post(b.ID.Path()+"/wontfix", nil).Want(http.StatusSeeOther)
	if text := c.Get(b.ID.Path()).Text("#manual"); strings.Contains(text, "Returned") {
		t.Errorf("after a decision: got %q", text)
	}
}

func TestMuteChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	one := site.Save(t, crashtest.Native())
	two := site.Save(t, crashtest.Python())
	three := site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", "a third problem"), crashtest.Process(9)))
	c := site.As(t, crash.RoleTriager)
	c.Post(three.ID.Path()+"/mute", url.Values{"preset": {"forever"}}).Want(http.StatusSeeOther)
	ids := one.ID.String() + "." + two.ID.String() + "." + three.ID.String()
	c.Post("/problems/chosen", url.Values{"do": {"mute"}, "bucket": {one.ID.String(), two.ID.String(),
		three.ID.String()}}).
		WantRedirect(http.StatusSeeOther, "/problems/mute?problems="+ids)
	page := c.Get("/problems/mute?problems="+ids, handlertest.Header{Name: "Referer", Value: site.URL + "/?period=year"}).
		WantText("h1", "Mute 3 problems").WantText("tbody", two.Package)
	back := page.Attr("[name=back]", "value")
	c.Post("/problems/mute", url.Values{"problems": {ids}, "back": {back}}).Want(http.StatusUnprocessableEntity).
		WantText(".error", "at least one condition").WantText("h1", "Mute 3 problems")
	c.Post("/problems/mute", url.Values{"problems": {ids}, "back": {back}, "preset": {"week"}}).
		WantRedirect(http.StatusSeeOther, "/?period=year")
	page = c.Get("/?period=year").WantText(".flash-done", "2 problems: Muted until").
		WantText(".flash-done", "1 problem had been muted with other conditions, and was left as it was.").
		WantText(".hidden-muted", "3 muted problems are hidden").WantNone("tbody tr")
	c.Post("/problems/triage/undo", url.Values{"entries": {page.Attr("[name=entries]", "value")}}).Want(
		http.StatusSeeOther)
	c.Get("/?period=year").WantText(".hidden-muted", "1 muted problem is hidden").WantText("tbody", two.Package)

	c.Post("/problems/wontfix", url.Values{"problems": {one.ID.String() + "." + two.ID.String()}}).WantRedirect(
		http.StatusSeeOther, "/")
	for _, id := range []crash.BucketID{one.ID, two.ID} {
		if handlertest.ManualStatus(t, site, id).WontFix == nil {
			t.Errorf("%s is not marked", id)
		}
	}
}

// TestFixChosen marks selected problems as fixed, on a page that asks, and undoes that. The entries
// are the same as those that the API stores.
func TestFixChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	one := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04")))
	two := site.Save(t, crashtest.Python(crashtest.On("Ubuntu 22.04")))
	three := site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", "a third problem"), crashtest.Process(9)))
	c := site.As(t, crash.RoleTriager)
	c.Post(three.ID.Path()+"/fixed", url.Values{"fix-release": {""}, "fix-version": {"9.9"}}).Want(http.StatusSeeOther)
	c.Get(three.ID.Path()) // takes the message
	ids := one.ID.String() + "." + two.ID.String() + "." + three.ID.String()
	seen := url.Values{"problems": {ids}, "back": {"/"}, "fix-release": {"Ubuntu 24.04"},
		"fix-version": {one.HighestVersion}}
	warned := c.Post("/problems/fixed", seen).Want(http.StatusUnprocessableEntity).
		WantText(".error", "have been seen already in these versions or later ones, in 2 reports")
	if !handlertest.ManualStatus(t, site, one.ID).Empty() {
		t.Error("warned: got a decision, want none")
	}
	seen.Set("confirm", warned.Attr("[name=confirm]", "value"))
	c.Post("/problems/fixed", seen).WantRedirect(http.StatusSeeOther, "/")
	marked := c.Get("/").WantText(".flash-done", "3 problems: Marked fixed in "+one.HighestVersion)
	c.Post("/problems/triage/undo", url.Values{"entries": {marked.Attr("[name=entries]", "value")}}).Want(
		http.StatusSeeOther)
	c.Get("/?period=year").WantText("#bulk button[value=fixed]", "Fixed in…")
	c.Post("/problems/chosen", url.Values{"do": {"fixed"}, "bucket": {one.ID.String(), two.ID.String(),
		three.ID.String()}}).
		WantRedirect(http.StatusSeeOther, "/problems/fixed?problems="+ids)
	page := c.Get("/problems/fixed?problems="+ids, handlertest.Header{Name: "Referer", Value: site.URL + "/?period=year"}).
		WantText("h1", "Mark 3 problems as fixed").WantText("tbody", two.Package).WantText(".notice", "2 source packages").
		WantText("label[for=fix-0]", "Ubuntu 24.04").WantText("label[for=fix-1]", "Ubuntu 22.04").
		WantText("label[for=fix-2]", "every release")
	back := page.Attr("[name=back]", "value")
	c.Get("/problems/fixed?problems=" + one.ID.String() + "." + three.ID.String()).WantNone(".notice")
	form := url.Values{"problems": {ids}, "back": {back}, "fix-release": {"Ubuntu 24.04", "Ubuntu 22.04", ""},
		"reason": {"backport"}}
	form["fix-version"] = []string{"", "not a version", ""}
	c.Post("/problems/fixed", form).Want(http.StatusUnprocessableEntity).WantText(".error", "not a version").
		WantText("h1", "Mark 3 problems as fixed")
	form["fix-version"] = []string{"", "", ""}
	c.Post("/problems/fixed", form).Want(http.StatusUnprocessableEntity).WantText(".error", "in which version")
	form["fix-version"] = []string{"", "", "9.9"}
	c.Post("/problems/fixed", form).WantRedirect(http.StatusSeeOther, "/?period=year")
	page = c.Get("/?period=year").WantText(".flash-done", "3 problems: Marked fixed in 9.9")
	for _, b := range []crash.Bucket{one, two, three} {
		if m := handlertest.ManualStatus(t, site, b.ID); len(m.Fixes) != 1 || m.Fixes[0].Version != "9.9" {
			t.Errorf("%s: got %+v, want fixed in 9.9", b.ID, m)
		}
	}
	chosen := handlertest.ManualStatus(t, site, one.ID).Fixes[0].By
	c.Post("/problems/triage/undo", url.Values{"entries": {page.Attr("[name=entries]", "value")}}).Want(
		http.StatusSeeOther)
	for _, b := range []crash.Bucket{one, two} {
		if m := handlertest.ManualStatus(t, site, b.ID); !m.Empty() {
			t.Errorf("%s: got %+v, want undone", b.ID, m)
		}
	}
	if m := handlertest.ManualStatus(t, site, three.ID); len(m.Fixes) != 1 {
		t.Errorf("got %+v, want the earlier decision to stay: Undo concerns the selected action only", m)
	}

	c.PostJSON(setStatusPath, map[string]any{"signature": one.ID.String(), "kind": "fixed",
		"fixes": []any{map[string]string{"version": "9.9"}}, "reason": "backport"}).Want(http.StatusOK)
	byAPI := handlertest.ManualStatus(t, site, one.ID).Fixes[0].By
	for _, entry := range []*crash.Mark{&chosen, &byAPI} {
		entry.ID, entry.At, entry.Person = 0, time.Time{}, ""
	}
	if diff := cmp.Diff(chosen, byAPI); diff != "" {
		t.Errorf("the form and the API store different entries (-form +API):\n%s", diff)
	}
}

const setStatusPath = "/api/1.0/set-problem-status/"

type statusAnswer struct {
	Code, Error   string
	Manual        string `json:"manual_state"`
	ManualStatus  string `json:"manual_status"`
	State         string
	Muted         *statusEntry
	WontFix       *statusEntry
	Entries       []statusEntry
	Fixed         []struct{ Release, Version string }
	Undone, Ended string
}

type statusEntry struct {
	ID             int64
	Person, Reason string
	Undone         string
	Until          struct {
		Date    string
		Reports int64
		Days    int
	}
}

// TestSetStatusByAPI mutes, replaces, undoes and marks by an API token, and reads the result.
func TestSetStatusByAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2")))
	file := handlertest.Bearer(handlertest.MakeToken(t, site.As(t, crash.RoleTriager), "triage", "read"))
	script := site.Visitor(t)
	set := func(status int, question map[string]any) (got statusAnswer) {
		t.Helper()
		question["signature"] = b.Signature
		script.PostJSON(setStatusPath, question, file...).Want(status).JSON(&got)
		return got
	}
	for code, question := range map[string]map[string]any{
		"unknown_triage":  {"kind": "closed"},
		"no_condition":    {"kind": "muted"},
		"bad_date":        {"kind": "muted", "until": map[string]any{"date": "soon"}},
		"past_date":       {"kind": "muted", "until": map[string]any{"date": "2020-01-01"}},
		"version_already": {"kind": "muted", "until": map[string]any{"version": "1.4-2"}},
		"bad_question":    {"kind": 7},
		"no_version":      {"kind": "fixed"},
		"fixes_of_other":  {"kind": "wontfix", "fixes": []any{map[string]string{"version": "2"}}},
		"undo_and_kind":   {"kind": "wontfix", "undo": 1},
	} {
		if got := set(http.StatusBadRequest, question); got.Code != code || got.Error == "" {
			t.Errorf("%v: got %+v, want %s", question, got, code)
		}
	}
	mute := map[string]any{"kind": "muted", "reason": "waits for upstream", "until": map[string]any{"reports": 50,
		"days": 7}}
	first := set(http.StatusOK, mute)
	if m := first.Muted; first.Manual != "muted" || m == nil || m.Until.Reports != 50 || m.Until.Days != 7 ||
		m.Person != "ada-triager" ||
		first.ManualStatus != "Muted by ada-triager until 50 more reports within 7 days: waits for upstream." {
		t.Fatalf("got %+v", first)
	}
	if again := set(http.StatusOK, mute); again.Muted.ID != first.Muted.ID || len(again.Entries) != 1 {
		t.Errorf("the same again: got %+v", again)
	}
	forever := map[string]any{"kind": "muted", "forever": true}
	if got := set(http.StatusConflict, forever); got.Code != "muted_already" {
		t.Errorf("another mute: got %+v", got)
	}
	forever["replaces"] = first.Muted.ID
	second := set(http.StatusOK, forever)
	if second.Muted == nil || second.Muted.ID == first.Muted.ID {
		t.Errorf("replaced: got %+v", second)
	}
	undone := set(http.StatusOK, map[string]any{"undo": second.Muted.ID})
	if undone.Muted == nil || undone.Muted.ID != first.Muted.ID {
		t.Errorf("undone: got %+v, want the first mute again", undone)
	}
	set(http.StatusConflict, map[string]any{"undo": second.Muted.ID})
	set(http.StatusNotFound, map[string]any{"undo": 4711})
	set(http.StatusOK, map[string]any{"kind": "wontfix"})
	fixed := map[string]any{"kind": "fixed",
		"fixes": []any{map[string]string{"release": "Ubuntu 24.04", "version": "1.4-2"}}}
	if got := set(http.StatusConflict, fixed); got.Code != "seen_already" || !strings.Contains(got.Error, "1 report") {
		t.Errorf("seen already: got %+v, want a conflict with the count", got)
	}
	fixed["confirm"] = true
	if got := set(http.StatusOK, fixed); got.Manual != "muted wontfix fixed-by-hand" {
		t.Errorf("confirmed: got %q, want no report since", got.Manual)
	}
	site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2"),
		crashtest.Process(99), crashtest.At(time.Now())))

	path := "/api/1.0/problem-status/" + b.ID.String() + "/"
	var read, public statusAnswer
	script.Get(path, file...).Want(http.StatusOK).JSON(&read)
	if read.Manual != "muted wontfix fixed-by-hand seen-again" || len(read.Fixed) != 1 || read.WontFix == nil ||
		len(read.Entries) != 4 {
		t.Errorf("got %+v", read)
	}
	a := script.Get(path).Want(http.StatusOK)
	a.JSON(&public)
	if public.Manual != read.Manual || len(public.Entries) != 0 || strings.Contains(a.Body, "ada") ||
		strings.Contains(a.Body, "upstream") {
		t.Errorf("a visitor got %s", a.Body)
	}
}

// TestMuteInBrowser mutes problems in as few steps as possible: two clicks on the page, two clicks
// in a list, two keys in a list, and selected rows together.
func TestMuteInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	second := site.Save(t, crashtest.Python())
	ctx := handlertest.StartBrowser(t)
	const row = "table.problems tbody tr"
	unmute := func(id crash.BucketID) {
		t.Helper()
		m := handlertest.ManualStatus(t, site, id).Muted
		if m == nil {
			t.Fatalf("%s is not muted", id)
		}
		dbtest.Must(site.Problems.Undo(t.Context(), m.ID, ada.Name))(t)
	}
	site.SignInBrowser(ctx, t, crash.RoleTriager)

	// On the page: two clicks, in place. Then the key, a mistake, and Unmute.
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible("#manual a"))
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	handlertest.Do(ctx, t, handlertest.Click("#manual a[href$='/mute']"), handlertest.WaitVisible("#dialog .presets"),
		handlertest.Click("#dialog .presets button"), handlertest.WaitVisible("#manual .manual-line .state"),
		handlertest.WaitAbsent("#dialog[open]"), handlertest.WaitVisible("#flash form button"))
	if until := handlertest.ManualStatus(t, site, b.ID).Muted.Until; until.Date.IsZero() {
		t.Errorf("got a mute %s, want for a week", until)
	}
	handlertest.Do(ctx, t, handlertest.Click("#manual .manual-line button"),
		handlertest.WaitAbsent("#manual .manual-line"),
		handlertest.Press("m"), handlertest.WaitVisible("#dialog .presets"),
		handlertest.Click("#dialog .mute-other summary"),
		handlertest.Type("#mute-reports", "many\r"), handlertest.WaitVisible("#dialog .error"))
	handlertest.Eval[bool](ctx, t, `document.querySelector("#mute-reports").value = ""; true`)
	handlertest.Do(ctx, t, handlertest.Type("#mute-reports", "50\r"), handlertest.WaitAbsent("#dialog[open]"),
		handlertest.WaitVisible("#manual .manual-line"))
	if until := handlertest.ManualStatus(t, site, b.ID).Muted.Until; until != (crash.MuteUntil{Reports: 50}) {
		t.Errorf("got a mute %s, want until 50 more reports", until)
	}
	handlertest.Do(ctx, t, handlertest.Press("f"), handlertest.WaitVisible("#dialog #fix-0"),
		handlertest.Type("#fix-0", "99\r"),
		handlertest.WaitAbsent("#dialog[open]"),
		handlertest.Until(`document.querySelectorAll("#manual .manual-line").length === 2`))
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	lines := func(n int) chromedp.Action[chromedp.Void] {
		return handlertest.Until(`document.querySelectorAll("#manual .manual-line").length === ` + strconv.Itoa(n))
	}
	handlertest.Do(ctx, t, handlertest.Press("u"), lines(1), handlertest.Press("w"),
		handlertest.WaitVisible("#dialog button.primary"), handlertest.Press("\r"), handlertest.WaitAbsent("#dialog[open]"),
		lines(2), handlertest.WaitVisible("#flash form button"), handlertest.Press("u"), lines(1),
		handlertest.Press("n"), handlertest.WaitVisible("#new-note:focus"))
	unmute(b.ID)

	// In a list: m and Enter mute the current row, which goes. The row in its place becomes the current one, and u brings
	// the first one back.
	const current = row + ".current a.title"
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year&sort=package"),
		handlertest.WaitVisible(row+" .select input"))
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	rows := func(n int) chromedp.Action[chromedp.Void] {
		return handlertest.Until(`document.querySelectorAll("` + row + `").length === ` + strconv.Itoa(n))
	}
	handlertest.Do(ctx, t, rows(2), handlertest.Press("k"), handlertest.Press("k"),
		handlertest.WaitVisible(row+":nth-child(1).current"),
		handlertest.Press("m"), handlertest.WaitVisible("#dialog .presets"), handlertest.Press("flaky\r"),
		handlertest.WaitAbsent("#dialog[open]"), rows(1), handlertest.WaitVisible(current+":focus"),
		handlertest.WaitVisible("#flash form button"), handlertest.Press("u"), rows(2),
		handlertest.WaitVisible(row+":nth-child(2).current"))

	// Two clicks in the menu of a row.
	handlertest.Do(ctx, t, handlertest.Click(row+":not(.current) a.row-menu"), handlertest.WaitVisible("#row-mute button"),
		handlertest.Click("#row-mute button"), rows(1))

	// After Back, the list shows what was decided meanwhile, and its cursor stays.
	handlertest.Do(ctx, t, handlertest.Press("o"), handlertest.WaitVisible("#manual a"))
	unmute(second.ID)
	handlertest.Eval[bool](ctx, t, `history.back() ?? true`)
	handlertest.Do(ctx, t, rows(2), handlertest.WaitVisible(row+":nth-child(2).current"))

	// Selected rows together, by key, in the same dialog.
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	handlertest.Do(ctx, t, handlertest.WaitVisible("#select-all"),
		handlertest.Click("#select-all"), handlertest.Press("m"), handlertest.WaitVisible("#dialog .presets"),
		handlertest.Click("#dialog .presets button[value=newer]"), handlertest.WaitVisible(".hidden-muted"),
		handlertest.WaitAbsent(row))
	for _, id := range []crash.BucketID{b.ID, second.ID} {
		if m := handlertest.ManualStatus(t, site, id).Muted; m == nil || !m.Until.Newer {
			t.Errorf("%s: got %+v, want muted until the next version", id, m)
		}
	}
	handlertest.Do(ctx, t, handlertest.Click("#flash form button"), handlertest.WaitVisible(row))

	// The same for the version with the fix.
	handlertest.Do(ctx, t, handlertest.Click("#select-all"), handlertest.Press("f"),
		handlertest.WaitVisible("#dialog #fix-0"), handlertest.Type("#fix-0", "99\r"),
		handlertest.WaitAbsent("#dialog[open]"), handlertest.WaitVisible("#flash form button"),
		handlertest.WaitAbsent(".bulk:has(~ * :checked), .select input:checked"))
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the list was reloaded, want it to stay")
	}
	for _, id := range []crash.BucketID{b.ID, second.ID} {
		if m := handlertest.ManualStatus(t, site, id); !slices.ContainsFunc(m.Fixes,
			func(f crash.ManualFix) bool { return f.Version == "99" }) {
			t.Errorf("%s: got %+v, want fixed in 99", id, m)
		}
	}
}

// TestMutedInLists checks every list of problems: each hides muted problems and says how many,
// shows them on request, and does so in files, too.
func TestMutedInLists(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	muted := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now().UTC())))
	other := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now().UTC()),
		crashtest.Set("DuplicateSignature", "another fault"),
		crashtest.Process(7)))
	c, visitor := site.As(t, crash.RoleTriager), site.Visitor(t)
	c.Post("/my/follow", url.Values{"what": {"package:" + muted.SourcePackage}})
	pages := map[string]string{ // the list, and the same with muted problems
		"/?period=year":                  "/?muted=show&period=year",
		"/search?q=type:Crash":           "/search?muted=show&period=year&q=type%3ACrash",
		"/package/" + muted.Package:      "/?muted=only&package=" + muted.Package + "&period=year",
		"/release/Ubuntu%2024.04":        "/?muted=only&period=month&release=Ubuntu+24.04",
		"/my?period=year":                "/my?muted=show&period=year",
		"/?period=year&state=none":       "/?muted=show&period=year&state=none",
		"/search?q=type:Crash&sort=last": "/search?muted=show&period=year&q=type%3ACrash&sort=last",
	}
	has := func(a *handlertest.Answer, b crash.Bucket) bool { return strings.Contains(a.Body, b.ID.Path()) }
	for page := range pages {
		if a := c.Get(page).Want(http.StatusOK).WantNone(".hidden-muted"); !has(a, muted) || !has(a, other) {
			t.Fatalf("%s does not list both problems at first", page)
		}
		visitor.Get(page)
	}
	c.Post(muted.ID.Path()+"/mute", url.Values{"preset": {"regression"}}).Want(http.StatusSeeOther)
	c.Get(muted.ID.Path()) // takes the message
	for page, show := range pages {
		for _, who := range []*handlertest.Client{c, visitor} {
			if who == visitor && strings.HasPrefix(page, "/my") {
				continue
			}
			a := who.Get(page).Want(http.StatusOK).WantText(".hidden-muted", "1 muted problem is hidden")
			if has(a, muted) || !has(a, other) {
				t.Errorf("%s: got the muted problem %v, the other one %v", page, has(a, muted), has(a, other))
			}
			checktest.Equal(t, page+": link", a.Attr(".hidden-muted a", "href"), show)
			if a := who.Get(show).Want(http.StatusOK).WantText(".bug-now[data-muted] .word", "muted"); !has(a, muted) {
				t.Errorf("%s does not have the muted problem", show)
			}
		}
	}
	for path, want := range map[string][2]bool{ // with the muted problem, with the other one
		"/problems.csv?period=year":                     {false, true},
		"/problems.atom?period=year":                    {false, true},
		"/problems.json?period=year&muted=show":         {true, true},
		"/problems.csv?period=year&muted=only":          {true, false},
		"/search.csv?q=is:muted":                        {true, false},
		"/search.json?q=-is:muted":                      {false, true},
		"/search.json?q=type:Crash":                     {false, true},
		"/search.json?q=is:wontfix":                     {false, false},
		"/package/" + muted.Package + ".csv":            {false, true},
		"/package/" + muted.Package + ".csv?muted=only": {true, false},
		"/release/Ubuntu%2024.04.csv?muted=show":        {true, true},
		"/release/Ubuntu%2024.04.csv":                   {false, true},
		"/my.csv?period=year":                           {false, true},
		"/my.csv?period=year&muted=only":                {true, false},
		"/api/1.0/most-common-problems/?period=year":    {true, true}, // as its clients expect
	} {
		if a := c.Get(path).Want(http.StatusOK); has(a, muted) != want[0] || has(a, other) != want[1] {
			t.Errorf("%s: got the muted problem %v, the other one %v; want %v", path, has(a, muted), has(a, other), want)
		}
	}
	if csv := c.Get("/problems.csv?period=year&muted=only").Body; !strings.Contains(csv, ",muted,Muted until it "+
		"regresses.") {
		t.Errorf("got %s, want the manual status", csv)
	}
	c.Get("/?muted=maybe").Want(http.StatusOK).WantText(".notice", "muted")
	c.Get("/problems.csv?muted=maybe").Want(http.StatusBadRequest)
	c.Get("/package/" + muted.Package + ".csv?muted=maybe").Want(http.StatusBadRequest)
	c.Get("/my?muted=maybe").Want(http.StatusOK).WantText(".notice", "muted")
}
