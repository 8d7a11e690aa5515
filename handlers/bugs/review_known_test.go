package bugs_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestReviewKnown(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	like := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:tide_parse_row:tide_load:x")))
	site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:tide_parse_row:tide_load:no_bug")))
	unlike := site.Save(t, crashtest.Native(crashtest.Process(4), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:elsewhere:entirely")))
	for _, b := range []crash.Bucket{like, unlike} {
		c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	}
	filed := site.Bucket(t, like.ID).Bug
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path() + "/review"

	page := c.Get(path).Want(http.StatusOK)
	page.WantText(".review-known li", "same top frames")
	if got := page.HTML().Find(".review-known li").Length(); got != 1 {
		t.Errorf("got %d similar problems, want 1:\n%s", got, page.Text(".review-known"))
	}
	page.WantText(".advice", "Check first: a similar problem has bug")
	c.Get(b.ID.Path()).WantText(".advice", "Check first: a similar problem has bug")
	if got := page.Attr(".review-known li form input[name=bug]", "value"); page.Attr(".review-known li form",
		"action") != b.ID.Path()+"/link" || !strings.HasSuffix(filed.URL, "/"+got) {
		t.Errorf("Link this bug instead: got %q to %q, want bug %d", got, page.Attr(".review-known li form", "action"),
			filed.Number)
	}
	if got := page.Attr("#review-found", "hx-get"); got != path+"/bugs" {
		t.Errorf("search: got %q, want it loaded automatically", got)
	}

	// The tracker has bugs by people, including closed and duplicate ones. Only those of this package
	// are listed.
	fixed := trackertest.Bug{Package: b.SourcePackage, Title: "segfault in tide_parse_row"}
	fixed.Janitor("1.5.1-3", "noble")
	closed := site.Tracker.Add(fixed)
	repeated := site.Tracker.Add(trackertest.Bug{Package: b.SourcePackage, Title: `says "tide_parse_row" <b>`,
		DuplicateOf: closed})
	marked := site.Tracker.Add(trackertest.Bug{Package: b.SourcePackage, Title: "Something else", Description: "see " +
		site.URL + b.ID.Path()})
	site.Tracker.Add(trackertest.Bug{Package: "other", Title: "tide_parse_row"})
	for name, found := range map[string]*handlertest.Answer{
		"part":            c.Part(path + "/bugs"),
		"without scripts": c.Get(path + "?search=1"),
		"from the form":   c.Post(path, handlertest.With(handlertest.ReviewForm(t, page), "do", "search", "title", "kept")),
	} {
		found.Want(http.StatusOK)
		text := found.Text("#review-found")
		for _, want := range []string{"“tide_parse_row”", "segfault in tide_parse_row", "Fix Released",
			"fixed in 1.5.1-3 (noble)", `says "tide_parse_row" <b>`, "Something else", "Link this bug instead"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got %q, want %q in it", name, text, want)
			}
		}
		for _, number := range []int64{closed, repeated, marked} {
			if found.HTML().Find(`#review-found input[value="`+strconv.FormatInt(number, 10)+`"]`).Length() != 1 {
				t.Errorf("%s: got no link for bug %d", name, number)
			}
		}
		if name == "from the form" && found.Attr("#review-title", "value") != "kept" {
			t.Errorf("%s: the typed text is lost", name)
		}
	}
	c.Get(path+"/bugs").WantRedirect(http.StatusSeeOther, path+"?search=1")
}

// TestReviewSearchFailureDoesNotBlock checks that the page reports a slow, failing, unavailable or
// unconnected tracker. The bug can still be filed.
func TestReviewSearchFailureDoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options handlertest.Options
		fault   trackertest.Fault
		says    string
	}{
		"not connected": {handlertest.Options{Disconnected: true}, "", "not connected"},
		"broken":        {handlertest.Options{}, trackertest.Lost502, "no usable answer"},
		"slow":          {handlertest.Options{SearchTime: 50 * time.Millisecond}, trackertest.Slow, "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.CreateWait = handlertest.Patience
			site := handlertest.New(t, tt.options)
			c := site.As(t, crash.RoleTriager)
			b := site.Save(t, crashtest.Native())
			path := b.ID.Path() + "/review"
			if tt.fault != "" {
				site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpSearch, Fault: tt.fault, Times: 10,
					Delay: 2 * time.Second})
			}
			c.Part(path+"/bugs").Want(http.StatusOK).WantText("#review-found", tt.says).WantText("#review-found",
				"can file the bug anyway")
			page := c.Get(path + "?search=1").Want(http.StatusOK)
			page.WantText("#review-found", tt.says)
			if !tt.options.Disconnected {
				c.Post(path, handlertest.With(handlertest.ReviewForm(t, page), "do", "file")).Want(http.StatusSeeOther)
				if n := len(site.Tracker.Bugs()); n != 1 {
					t.Errorf("got %d bugs, want 1", n)
				}
			}
		})
	}
}

// TestReviewPointsOutPrivate checks that typed text that looks private is pointed out, but sent
// unchanged.
func TestReviewPointsOutPrivate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path() + "/review"
	form := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
	c.Post(path, handlertest.With(form, "do", "preview")).Want(http.StatusOK).WantNone(".review-private")
	typed := handlertest.With(form, "do", "preview", "description",
		form.Get("description")+"\r\nopen /home/bob/letter.txt, ask "+
			"ann@mail.example.org at 192.168.7.12\r\n")
	a := c.Post(path, typed).Want(http.StatusOK)
	var got []string
	for _, li := range a.HTML().Find(".review-private li").EachIter() {
		got = append(got, li.Text())
	}
	if want := "/home/bob/letter.txt|ann@mail.example.org|192.168.7.12"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	typed.Set("do", "file")
	c.Post(path, typed).Want(http.StatusSeeOther)
	if got := site.Tracker.Bugs()[0].Description; !strings.Contains(got, "/home/bob/letter.txt") {
		t.Errorf("got %q, want the typed text", got)
	}
}

// TestReviewSuggestsPrivate checks that a private bug is suggested, with a reason, if memory looks
// corrupted.
func TestReviewSuggestsPrivate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native(crashtest.Set("SegvReason", "writing unknown VMA")))
	page := c.Get(b.ID.Path()+"/review").WantText(".review-suspected", "wrote to memory that is not its own")
	if got := handlertest.ReviewForm(t, page).Get("information_type"); got != "Private Security" {
		t.Errorf("got %q, want private", got)
	}
}

// TestReviewTriedAgain checks that a person's text survives when the tracker refuses it or is
// unavailable.
func TestReviewTriedAgain(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience,
		Tracker: trackertest.New(t, trackertest.Options{Unpublished: []string{"gone"}})})
	c := site.As(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path() + "/review"
	form := handlertest.With(handlertest.ReviewForm(t, c.Get(path)), "do", "file", "title", "in my words",
		"information_type", "Private Security",
		"tags", "mine", "package", "gone")
	for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart} {
		a := c.Post(path, form, headers...)
		if want := map[string]int{"page": http.StatusBadGateway,
			"part": http.StatusUnprocessableEntity}[name]; a.Status != want {
			t.Errorf("%s: got status %d, want %d", name, a.Status, want)
		}
		a.WantText("#review-trouble", "not published")
		if got := handlertest.ReviewForm(t, a).Get("title"); got != "in my words" {
			t.Errorf("%s: got title %q, want the typed one", name, got)
		}
	}
	back := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
	for field, want := range map[string]string{"title": "in my words", "information_type": "Private Security",
		"tags": "mine", "package": "gone"} {
		if got := back.Get(field); got != want {
			t.Errorf("opened again: got %s %q, want %q", field, got, want)
		}
	}
	// Create sends it again with one click.
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusBadGateway)
	if f := site.Bucket(t, b.ID).Filing; f.Title != "in my words" {
		t.Errorf("tried again: got title %q, want the typed one", f.Title)
	}
	c.Post(path, handlertest.With(back, "do", "file", "package", "tidewatch")).Want(http.StatusSeeOther)
	if bugs := site.Tracker.Bugs(); len(bugs) != 1 || bugs[0].Title != "in my words" ||
		bugs[0].InformationType != "Private Security" {
		t.Errorf("got %+v, want the bug with the typed text", bugs)
	}
}

// TestReviewOutlivesSession checks that typed text survives a new sign-in or a new CSRF token.
func TestReviewOutlivesSession(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/review"
	typed := handlertest.With(handlertest.ReviewForm(t, c.Get(path)), "do", "file", "title", "long thought about",
		"description",
		strings.Repeat("漢字\r\n", 12_000), "tags", "one two")
	ended := func() { c.SetCookie("sessionid", "ended") }

	ended()
	c.Post(path, typed, handlertest.AsPart...).Want(http.StatusUnauthorized).WantText(".flash-error",
		"What you wrote is still here").WantNone("form")

	signIn := c.Post(path, typed).Want(http.StatusUnauthorized).WantText("#sign-in-problem", "get back what you wrote")
	wrong := c.Post("/login", url.Values{
		"username": {"ada-triager"}, "password": {"wrong"}, "next": {signIn.Attr("[name=next]", "value")},
		"kept": {signIn.Attr("[name=kept]", "value")},
	}).Want(http.StatusUnprocessableEntity)
	c.Post("/login", url.Values{
		"username": {"ada-triager"}, "password": {handlertest.Password}, "next": {wrong.Attr("[name=next]", "value")},
		"kept": {wrong.Attr("[name=kept]", "value")},
	}).WantRedirect(http.StatusSeeOther, path)
	for try, what := range []string{"signed in again", "the token of an older page"} {
		page := c.Get(path).Want(http.StatusOK).WantText("#review-trouble", "What you wrote is back")
		back := handlertest.ReviewForm(t, page)
		for _, field := range []string{"title", "description", "tags", "target", "package", "subscribe"} {
			if got, want := strings.TrimSpace(back.Get(field)), strings.TrimSpace(typed.Get(field)); got != want {
				t.Errorf("%s: got %s %.40q, want %.40q", what, field, got, want)
			}
		}
		if len(site.Tracker.Bugs()) != 0 {
			t.Fatalf("%s: a bug was filed", what)
		}
		c.Get(path).WantText("#review-trouble", "") // the text is restored only once
		if got := handlertest.ReviewForm(t, c.Get(path)).Get("title"); got != b.Title {
			t.Errorf("%s: got title %q on the next visit, want the default", what, got)
		}
		if try == 0 {
			c.Post(path, handlertest.With(typed, "csrf_token", strings.Repeat("A", 86)+"==")).WantRedirect(http.StatusSeeOther,
				path)
		}
	}

	// Text that another site sends is not stored.
	for _, headers := range [][]handlertest.Header{{{Name: "Origin", Value: "https://evil.example"}}, {{Name: "Origin"}}} {
		if a := c.Post(path, handlertest.With(typed, "csrf_token", "x"), headers...); a.Status != http.StatusUnauthorized {
			t.Errorf("from another site: got status %d, want 401", a.Status)
		}
		if got := handlertest.ReviewForm(t, c.Get(path)).Get("title"); got != b.Title {
			t.Errorf("from another site: got title %q, want the default", got)
		}
	}
}

func TestReviewElsewhere(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	failed := site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", "failed:/usr/bin/tide:amd64")))
	c := site.As(t, crash.RoleTriager)
	c.Get(failed.ID.Path() + "/review").Want(http.StatusUnprocessableEntity)
	c.Get(failed.ID.Path()).WantNone(".review-link")
	c.Get("/problem/" + strings.Repeat("0", 40) + "/review").Want(http.StatusNotFound)
	c.Get("/problem/x/review").Want(http.StatusNotFound)

	off := handlertest.New(t, handlertest.Options{NoFiling: true})
	b := off.Save(t, crashtest.Native())
	c = off.As(t, crash.RoleAdmin)
	c.Get(b.ID.Path()).WantNone(".review-link, .advice")
	c.Get(b.ID.Path() + "/review").Want(http.StatusForbidden)
	c.Post(b.ID.Path()+"/review", url.Values{"do": {"file"}}).Want(http.StatusForbidden)
}
