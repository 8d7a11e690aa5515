package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	bugsview "mishap/views/bugs"
	view "mishap/views/problems"
)

func TestMergeOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	often, once := handlertest.Twins(t, site)
	c := site.As(t, crash.RoleTriager)

	// On the page of one problem, the other can be named by address, id, signature or bug.
	c.Get(once.ID.Path()).WantText(".decision-actions", "Merge…")
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
		WantText(".error", "not a valid Debian version")
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
