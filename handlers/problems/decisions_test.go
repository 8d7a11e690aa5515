package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
	bugsview "mishap/views/bugs"
	view "mishap/views/problems"
)

func TestMergeOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	often, once := handlertest.Twins(t, site)
	c := site.As(t, crash.RoleTriager)

	// On the page of one problem, the other can be named by address, id, signature or bug.
	c.Get(once.ID.Path()).WantText(".manual-actions .drop-panel", "Merge…")
	find := once.ID.Path() + "/merge"
	c.Get(find).Want(http.StatusOK).WantText("h1", "Merge with which problem?")
	look := view.MergeURL([]crash.BucketID{once.ID, often.ID})
	for _, text := range []string{often.ID.String(), site.URL + often.ID.Path(), often.ID.Path() + "/merge?x",
		often.Signature} {
		c.Get(find+"?with="+url.QueryEscape(text)).WantRedirect(http.StatusSeeOther, look)
	}
	c.Get(find+"?with="+url.QueryEscape("no such thing")).Want(http.StatusNotFound).WantText(".error",
		"There is no such problem.")
	c.Get(find+"?with="+once.ID.String()).Want(http.StatusBadRequest).WantText(".error", "two different problems")

	// The preview shows both problems, their differences, and the merged counts.
	page := c.Get(look).Want(http.StatusOK)
	page.WantText("mark", "tide_load").WantText(".merge-after", "4").WantText("tbody tr:nth-child(1) mark", "tide_reload")
	if got := page.Attr("input[name=head][checked]", "value"); got != often.ID.String() {
		t.Errorf("head: got %s, want the more frequent one, %s", got, often.ID)
	}
	page.WantNone(".notice")

	// It says what happens to mutes.
	c.Post(once.ID.Path()+"/mute", url.Values{"preset": {"newer"}}).Want(http.StatusSeeOther)
	c.Get(look).WantText(".notice", "The mutes of the others end.").WantText("tbody tr:nth-child(1) .state",
		"muted").
		WantNone("tbody tr:nth-child(2) .state")
	form := url.Values{"problem": {once.ID.String(), often.ID.String()}, "reason": {"the same <fault>"}}
	c.Post(view.PathMerge, form).Want(http.StatusUnprocessableEntity).WantText(".error", "Select the main problem.")
	form.Set("head", often.ID.String())
	c.Post(view.PathMerge, form).WantRedirect(http.StatusSeeOther, often.ID.Path())
	page = c.Get(often.ID.Path())
	page.WantText(".flash-done", "Problems merged").WantText(".flash-done form button", "Undo").
		WantText(".decision-list", "the same <fault>").WantText(".decision-list", "ada-triager").WantText(".figures", "4").
		WantText("#decisions", "2 signatures")

	// The address of the other problem redirects here with an explanation, for visitors too.
	c.Get(once.ID.Path()).WantRedirect(http.StatusSeeOther, often.ID.Path()+"?from="+once.ID.String())
	site.Visitor(t).Get(often.ID.Path()+"?from="+once.ID.String()).WantText(".came-from",
		once.Signature).WantNone("#decisions form")
	site.Visitor(t).Get("/bucket/?id="+url.QueryEscape(once.Signature)).WantRedirect(http.StatusSeeOther, often.ID.Path()+
		"?from="+once.ID.String())
	for _, from := range []string{"rubbish", often.ID.String(), strings.Repeat("0", 40)} {
		c.Get(often.ID.Path() + "?from=" + from).Want(http.StatusOK).WantNone(".came-from")
	}
	c.Get(look).Want(http.StatusBadRequest) // they are merged already

	// Create returns the same bug for both signatures.
	for _, signature := range []string{once.Signature, often.Signature} {
		var created struct{ Report, State string }
		if a := c.PostJSON(handlertest.CreatePath,
			map[string]string{"signature": signature}); a.Status != http.StatusCreated &&
			a.Status != http.StatusOK {
			t.Errorf("create: got %d, %s", a.Status, a.Body)
		} else if a.JSON(&created); created.Report != fmt.Sprint(site.Bucket(t, often.ID).Bug.Number) {
			t.Errorf("create: got %+v, want the same bug", created)
		}
	}
	if n := len(site.Tracker.Bugs()); n != 1 {
		t.Errorf("the tracker has %d bugs, want 1", n)
	}

	// Undo works once.
	undo := url.Values{"decision": {page.Attr(".decision-list form input[name=decision]", "value")}}
	c.Post(often.ID.Path()+"/undo", undo).WantRedirect(http.StatusSeeOther, often.ID.Path())
	c.Get(often.ID.Path()).WantText(".flash-done", "Problems separated").WantText(".decision-list .undone",
		"undone by ada-triager").WantNone(".decision-list form")
	c.Post(often.ID.Path()+"/undo", undo).WantRedirect(http.StatusSeeOther, often.ID.Path())
	c.Get(often.ID.Path()).WantText(".flash-error", "already been undone")
	c.Get(once.ID.Path()).Want(http.StatusOK)
}

func TestMergeChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	often, once := handlertest.Twins(t, site)
	third := site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleTriager)
	ids := []crash.BucketID{once.ID, third.ID, often.ID}
	c.Post(bugsview.PathChosen, url.Values{"do": {"merge"}, "bucket": {ids[0].String(), ids[1].String(),
		ids[2].String()}}).
		WantRedirect(http.StatusSeeOther, view.MergeURL(ids))
	form := url.Values{"problem": {ids[0].String(), ids[1].String(), ids[2].String()}, "head": {third.ID.String()}}
	c.Post(view.PathMerge, form).WantRedirect(http.StatusSeeOther, third.ID.Path())
	if b := site.Bucket(t, once.ID); b.ID != third.ID || b.Members != 3 || b.Reports != 5 {
		t.Errorf("got %s with %d members and %d reports, want %s, 3, 5", b.ID, b.Members, b.Reports, third.ID)
	}
}

func TestRenameOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/rename"
	c.Get(path).Want(http.StatusOK).WantText("label", "Name")
	c.Post(path, url.Values{"name": {"Row <parser>"}, "reason": {"shorter"}}).WantRedirect(http.StatusSeeOther,
		b.ID.Path())
	page := c.Get(b.ID.Path())
	page.WantText("h1", "Row <parser>").WantText(".decision-list", "shorter").WantText(".flash-done", "Problem renamed")
	if got := c.Get(path).Attr("#name", "value"); got != "Row <parser>" {
		t.Errorf("in the form: got %q", got)
	}
	c.Post(path, url.Values{"name": {"Row <parser>"}}).Want(http.StatusUnprocessableEntity).WantText(".error",
		"already has this name")
	c.Post(path, url.Values{"name": {strings.Repeat("x", 300)}}).Want(http.StatusUnprocessableEntity).WantText(".error",
		"at most 200")
	undo := url.Values{"decision": {page.Attr(".flash-done form input[name=decision]", "value")}}
	c.Post(b.ID.Path()+"/undo", undo).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText("h1", b.Title).WantText(".flash-done", "Previous name restored")
}

func TestSplitOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	var b crash.Bucket
	for pid := range 5 {
		architecture := []string{"amd64", "arm64"}[pid%2]
		b = site.Save(t, crashtest.Native(crashtest.Process(pid+1), crashtest.Set("Architecture", architecture)))
	}
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/split"
	c.Get(path).Want(http.StatusOK).WantNone(".split-preview")
	query := url.Values{"field": {"architecture", "frame"}, "value": {"arm64", ""}}
	page := c.Get(path + "?" + query.Encode()).Want(http.StatusOK)
	page.WantText(".split-preview h3", "Of 5 reports, 2 would move and 3 would stay").WantText(".split-preview",
		"[architecture arm64]")
	c.Get(path+"?field=version+from&value=newest").Want(http.StatusBadRequest).
		WantText(".error", "is not a version of a package")
	c.Post(path, nil).Want(http.StatusUnprocessableEntity).WantText(".error", "Select reports, or enter a condition")

	other := crash.BucketIDOf(b.Signature + " [architecture arm64]")
	c.Post(path, query).WantRedirect(http.StatusSeeOther, other.Path())
	page = c.Get(other.Path()).WantText(".flash-done", "2 reports split off").WantText(".decision-list",
		"architecture arm64")
	c.Get(b.ID.Path()).WantText(".figures", "reports (all time) 3").WantText(".decision-list", "2 reports split off")
	if again := site.Save(t, crashtest.Native(crashtest.Process(77),
		crashtest.Set("Architecture", "arm64"))); again.ID != other {
		t.Errorf("a new report: got bucket %s, want %s", again.ID, other)
	}
	undo := url.Values{"decision": {page.Attr(".flash-done form input[name=decision]", "value")}}
	c.Post(other.Path()+"/undo", undo).Want(http.StatusSeeOther)
	if got := site.Bucket(t, other); got.ID != b.ID || got.Reports != 6 {
		t.Errorf("undone: got %s with %d reports, want %s with 6", got.ID, got.Reports, b.ID)
	}

	// Choose some reports by hand.
	boxes := c.Get(path).HTML().Find("input[name=report]")
	if boxes.Length() != 6 {
		t.Fatalf("boxes: got %d reports, want 6", boxes.Length())
	}
	one, _ := boxes.First().Attr("value")
	a := c.Post(path, url.Values{"report": {one}, "reason": {"odd"}}).Want(http.StatusSeeOther)
	c.Get(a.Header.Get("Location")).WantText(".figures", "report (all time) 1").
		WantText(".decision-list", "one chosen report")
}

// TestDecideInBrowser merges two problems, names the result, splits off reports, and undoes
// everything from the history. It works without scripts and violates no security policy.
func TestDecideInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	often, once := handlertest.Twins(t, site)
	site.Save(t, crashtest.Native(crashtest.Process(50), crashtest.Set("Architecture", "arm64")))
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+once.ID.Path()), handlertest.WaitVisible(".manual-actions"),
		handlertest.Press("d"), handlertest.WaitVisible("#dialog #with:focus"),
		handlertest.Type("#with", "nothing like it\r"), handlertest.WaitVisible("#dialog .error"))
	handlertest.Eval[bool](ctx, t, `document.querySelector("#with").value = ""; true`)
	handlertest.Do(ctx, t, handlertest.Type("#with", site.URL+often.ID.Path()+"\r"),
		handlertest.WaitVisible("#dialog table.merge-sides"))
	checktest.Equal(t, "marked differences", handlertest.Eval[string](ctx, t,
		`[...document.querySelectorAll(".merge-sides mark")].map((m) => m.textContent).join(" ")`), "tide_reload tide_load")
	handlertest.Do(ctx, t, handlertest.Type("#reason", "same row\r"), handlertest.WaitVisible(".flash-done form button"))
	if got := site.Bucket(t, once.ID); got.ID != often.ID {
		t.Fatalf("merged: got %s, want %s", got.ID, often.ID)
	}

	handlertest.Do(ctx, t, handlertest.Click(".manual-actions summary"),
		handlertest.Click(`.manual-actions a[href$="/rename"]`), handlertest.WaitVisible("#name"),
		handlertest.Type("#name", "The row parser\r"), handlertest.WaitVisible(".flash-done form button"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector("h1").textContent`); got != "The row parser" {
		t.Errorf("named: got %q", got)
	}

	handlertest.Do(ctx, t, handlertest.Click(".manual-actions summary"),
		handlertest.Click(`.manual-actions a[href$="/split"]`),
		handlertest.WaitVisible(".term select"))
	handlertest.Eval[bool](ctx, t,
		`document.querySelector(".term select").value = "architecture";
			document.querySelector(".term input").value = "arm64"; true`)
	handlertest.Do(ctx, t, handlertest.Click("form.decide[method=get] button"), handlertest.WaitVisible(".split-preview"))
	if got := handlertest.Eval[string](ctx, t,
		`document.querySelector(".split-preview h3").textContent.trim()`); got != "Of 5 reports, 1 would move and 4 "+
		"would stay" {
		t.Errorf("preview: got %q", got)
	}
	handlertest.Do(ctx, t, handlertest.Click(".split-preview button"), handlertest.WaitVisible(".flash-done form button"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector(".figures").innerText`); got == "" ||
		site.Bucket(t, often.ID).Reports != 4 {
		t.Errorf("split: got %q here and %d in the other problem, want 1 and 4", got, site.Bucket(t, often.ID).Reports)
	}

	// On a phone, nothing is wider than the screen.
	handlertest.Do(ctx, t, chromedp.EmulateViewport(360, 740))
	for _, path := range []string{
		once.ID.Path(), often.ID.Path() + "/merge", often.ID.Path() + "/rename", often.ID.Path() + "/traits",
		often.ID.Path() + "/split?field=architecture&value=amd64",
		view.MergeURL([]crash.BucketID{often.ID, crash.BucketIDOf(often.Signature + " [architecture arm64]")}),
	} {
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+path), handlertest.WaitVisible("main h1"))
		if got := handlertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s on a phone: got a page %v px wide: %s", path, got,
				handlertest.Eval[string](ctx, t,
					`[...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > 360).
						map((e) => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
		}
	}
	handlertest.Do(ctx, t, chromedp.EmulateViewport(1280, 900))

	// Undo everything, the last decision first.
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+once.ID.Path()), handlertest.WaitVisible(".came-from"))
	for range 3 {
		handlertest.Eval[bool](ctx, t, `document.body.dataset.before = "yes"`+`; true`)
		handlertest.Do(ctx, t, handlertest.Click(".decision-list form button"),
			handlertest.WaitVisible("body:not([data-before])"), handlertest.WaitVisible(".flash-done"))
	}
	if a, b := site.Bucket(t, often.ID), site.Bucket(t, once.ID); a.Name != "" || a.Reports != 4 || b.ID != once.ID ||
		b.Reports != 1 {
		t.Errorf("undone: got %q with %d and %s with %d reports, want 4 and 1 as before", a.Name, a.Reports, b.ID, b.Reports)
	}
	if got := handlertest.Eval[float64](ctx, t, `document.querySelectorAll(".decision-list form").length`); got != 0 {
		t.Errorf("decisions that can be undone: got %v, want none", got)
	}
}

// TestEmbargoedBugIsPrivate checks that the bug of an embargoed problem is private, whatever was
// chosen, and that the embargo covers what the problem is merged into.
func TestEmbargoedBugIsPrivate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b, other := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	triager, admin := site.AsWithoutPrivate(t, crash.RoleTriager), site.As(t, crash.RoleAdmin)
	triager.Get(b.ID.Path()+"/embargo").Want(http.StatusOK).WantText("main", "You will no longer see the problem")
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {strings.Repeat("x", crash.MaxReason+1)}}).
		Want(http.StatusUnprocessableEntity)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"writes"}}).WantRedirect(http.StatusSeeOther,
		"/")
	triager.Get(b.ID.Path()).Want(http.StatusNotFound)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).Want(http.StatusNotFound)
	admin.Get(b.ID.Path()).WantText(".create-bug", "Create private bug").WantNone(".create-bug .primary")
	admin.Get(b.ID.Path()+"/review").WantText("#review-form", "because the problem is embargoed").
		WantNone("#review-public, #review-subscribe")
	body := map[string]string{"signature": b.Signature}
	triager.PostJSON(handlertest.CreatePath, body).Want(http.StatusNotFound)
	admin.PostJSON(handlertest.CreatePath, body).Want(http.StatusCreated)
	bugs := site.Tracker.Bugs()
	if len(bugs) != 1 || bugs[0].InformationType != "Private Security" {
		t.Fatalf("got bugs %+v, want one that is private", bugs)
	}
	admin.Get(b.ID.Path()).Want(http.StatusOK).WantText("#manual", "Embargoed by ada-triager")
	dbtest.Must(site.Decisions.Merge(t.Context(), other.ID, []crash.BucketID{b.ID}, "ada-admin", ""))(t)
	triager.Get(other.ID.Path()).Want(http.StatusNotFound)
	admin.Post(other.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, other.ID.Path())
	triager.Get(other.ID.Path()).Want(http.StatusOK)
	checktest.Equal(t, "after the embargo: bug with", site.Tracker.Bugs()[0].InformationType, "Private Security")
}

// TestEmbargoByAPI sets and lifts embargoes by API tokens, with and without the right to see them.
func TestEmbargoByAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	admin := site.As(t, crash.RoleAdmin)
	all, blind := handlertest.Bearer(handlertest.MakeToken(t, admin, "triage", "read", "read-private")),
		handlertest.Bearer(handlertest.MakeToken(t, admin, "triage", "read"))
	set := func(headers []handlertest.Header, kind string, status int) (got struct {
		Code    string
		Embargo *struct{ At, Person, Reason string }
	}) {
		t.Helper()
		site.Visitor(t).PostJSON(setStatusPath, map[string]any{"signature": b.ID.String(), "kind": kind, "reason": "writes"},
			headers...).Want(status).JSON(&got)
		return got
	}
	if got := set(all, "lift-embargo", http.StatusConflict); got.Code != "not_embargoed" {
		t.Errorf("without an embargo: got %+v", got)
	}
	for range 2 {
		if got := set(blind, "embargo", http.StatusOK).Embargo; got == nil || got.Person != "ada-admin" ||
			got.Reason != "writes" || got.At == "" {
			t.Errorf("set: got %+v", got)
		}
		if got := set(blind, "embargo", http.StatusNotFound); got.Embargo != nil {
			t.Errorf("set without the right to see it: got %+v", got)
		}
		set(blind, "lift-embargo", http.StatusNotFound)
		set(all, "embargo", http.StatusOK) // changes nothing
		admin.Get(b.ID.Path()).WantText("#manual", "Embargoed by ada-admin")
		if got := set(all, "lift-embargo", http.StatusOK); got.Embargo != nil {
			t.Errorf("lifted: got %+v", got)
		}
	}
	handlertest.WantRecords(t, admin, "action=problem.embargo&object="+b.ID.String(), slices.Repeat([]string{
		"token|ada-admin|a script " + blindHint(blind) + "|problem.embargo|" + b.ID.String() + "|done|"}, 2)...)
}

// blindHint returns the last characters of the token in a header.
func blindHint(headers []handlertest.Header) string {
	return headers[0].Value[len(headers[0].Value)-8:]
}

// TestEmbargoConfirmations checks the questions before an embargoed problem gets a public bug or is
// merged with one that everybody sees.
func TestEmbargoConfirmations(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b, other := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleAdmin)
	public := site.Tracker.Add(trackertest.Bug{Title: "open", Package: b.SourcePackage})
	both := b.ID.String() + "." + other.ID.String()
	const confirmation = ".found-bug input[name=public][required]"
	c.Get(b.ID.Path() + "/link?bug=" + fmt.Sprint(public)).Want(http.StatusOK).WantNone(confirmation)
	c.Get("/problems/merge?problems="+both).Want(http.StatusOK).WantText("#main", "Merge").WantNone("#main strong")
	c.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}}).Want(http.StatusSeeOther)

	c.Get("/problems/merge?problems="+both).WantText("#main strong", "One of these problems is embargoed")
	for path, form := range map[string]url.Values{
		b.ID.Path() + "/link": handlertest.BugForm(public),
		"/problems/link":      {"problems": {both}, "bug": {fmt.Sprint(public)}},
	} {
		asks := c.Get(path + "?bug=" + fmt.Sprint(public) + "&problems=" + both).Want(http.StatusOK)
		if asks.Attr(confirmation, "value") != "yes" {
			t.Errorf("%s: the form does not ask for confirmation", path)
		}
		c.Post(path, form).Want(http.StatusConflict)
		for _, id := range []crash.BucketID{b.ID, other.ID} {
			if got := site.Bucket(t, id).Bug.Number; got != 0 {
				t.Fatalf("%s without confirmation: got bug %d", path, got)
			}
		}
	}
	confirmed := handlertest.BugForm(public)
	confirmed.Set("public", "yes")
	c.Post(b.ID.Path()+"/link", confirmed).WantRedirect(http.StatusSeeOther, b.ID.Path())
	checktest.Equal(t, "with confirmation: bug", site.Bucket(t, b.ID).Bug.Number, public)
}

// TestUnconfirmedPrivate checks that a right to private data that an upgrade gave does not show
// embargoed problems until an administrator confirms it.
func TestUnconfirmedPrivate(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, address)})
	b := site.Save(t, crashtest.Native())
	viewer, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleAdmin)
	admin.Get("/admin/people").Want(http.StatusOK).WantText(".attention", "Nothing needs attention.")
	dbtest.Exec(t, address, `update account_grants set embargoed = false`) // as migration 040 does
	admin.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}}).Want(http.StatusSeeOther)
	viewer.Get(b.ID.Path()).Want(http.StatusNotFound)
	viewer.Get("/user/machine-1").Want(http.StatusOK) // private data as before
	page := admin.Get("/admin/people").WantText(".attention", "1 right to private data from an upgrade needs confirming.").
		WantText("tbody", "without embargoed problems")
	form := url.Values{}
	page.HTML().Find("form[action='/admin/access']:has(button[aria-label]) input").Each(func(_ int,
		in *goquery.Selection) {
		form.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	form.Del("csrf_token")
	admin.Post("/admin/access", form).WantRedirect(http.StatusSeeOther, "/admin/people")
	viewer.Get(b.ID.Path()).Want(http.StatusOK)
	admin.Get("/admin/people").WantText(".attention", "Nothing needs attention.")
	admin.Get("/admin/audit?action=access.grant").WantText("tbody",
		"role: private without embargoed problems → private")
}

// TestEmbargoedList checks the search is:embargoed and the page of embargoed problems, for people with and
// without the right to see them.
func TestEmbargoedList(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	native, python := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	admin, viewer := site.As(t, crash.RoleAdmin), site.AsWithoutPrivate(t, crash.RoleViewer)
	admin.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	admin.Get(handlertest.SearchFor("is:embargoed")).Want(http.StatusOK).WantNone("table.problems tbody tr")
	admin.Post(native.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"writes"}}).Want(http.StatusSeeOther)
	page := admin.Get("/embargoed").Want(http.StatusOK).WantText("main", "Embargoed by ada-admin").
		WantText("main", "writes")
	if got := page.HTML().Find(`.rule-list time[datetime]`).Length(); got != 1 {
		t.Errorf("got %d times, want since when it is embargoed", got)
	}
	for path, want := range map[string]int{native.ID.Path(): 1, native.ID.Path() + "/embargo": 1, python.ID.Path(): 0} {
		checktest.Equal(t, path+": links", page.HTML().Find(`main a[href="`+path+`"]`).Length(),
			want)
	}
	for query, want := range map[string]*crash.Bucket{"is:embargoed": &native, "-is:embargoed": &python} {
		rows := admin.Get(handlertest.SearchFor(query)).Want(http.StatusOK).HTML().Find("table.problems tbody tr")
		if link := rows.Find(`a[href^="` + want.ID.Path() + `?via="]`); rows.Length() != 1 || link.Length() == 0 {
			t.Errorf("%s: got %d rows, want one for %s", query, rows.Length(), want.ID)
		}
	}
	viewer.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	for query, rows := range map[string]int{"is:embargoed": 0, "-is:embargoed": 1} {
		got := viewer.Get(handlertest.SearchFor(query)).Want(http.StatusOK).HTML().Find("table.problems tbody tr").Length()
		checktest.Equal(t, query+" without the right: rows", got, rows)
	}
	site.Visitor(t).Get("/embargoed").WantRedirect(http.StatusSeeOther, "/login?next=%2Fembargoed")
	admin.Get("/account").Want(http.StatusOK).WantText("main", "Embargoed problems")
	admin.Post(native.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).Want(http.StatusSeeOther)
	admin.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	admin.Get(handlertest.SearchFor("is:embargoed")).Want(http.StatusOK).WantNone("table.problems tbody tr")
}
