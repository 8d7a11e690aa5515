package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestReviewFilesWhatWasTyped(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]handlertest.Header{"without scripts": nil, "in place": handlertest.AsPart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
			b := site.Save(t, crashtest.Native())
			c := site.As(t, crash.RoleTriager)
			path := b.ID.Path() + "/review"
			c.Get(b.ID.Path()).Want(http.StatusOK).WantText(`a.review-link[href="`+path+`"]`, "Review…")
			page := c.Get(path, headers...).Want(http.StatusOK)
			form := handlertest.ReviewForm(t, page)
			checktest.Equal(t, "title", form.Get("title"), b.Title)
			marker := site.URL + b.ID.Path()
			if !strings.Contains(form.Get("description"), marker) || form.Get("tags") != "noble" ||
				form.Get("package") != b.SourcePackage ||
				form.Get("target") != "package" || form.Get("information_type") != "Public" || form.Get("subscribe") != "1" {
				t.Errorf("got form %q, want the bug that one click would file", form)
			}
			form = handlertest.With(form, "title", "  Parsing <b>rows</b> & more ✓ ", "description", "First line\r\n\r\n  "+
				"indented: 24.10\r\n",
				"tags", "noble, 24.10 regression-update\tnoble", "package", "tide", "information_type", "Private Security")

			preview := c.Post(path, handlertest.With(form, "do", "preview"), headers...).Want(http.StatusOK)
			preview.WantText("#review-preview h4", "Parsing <b>rows</b> & more ✓").WantText("#review-preview",
				"added as the last line")
			wantText := "First line\n\n  indented: 24.10\n\n" + marker + "\n"
			checktest.Equal(t, "preview", preview.HTML().Find(".tracker-text").Text(), wantText)
			checktest.Equal(t, "link", preview.Attr(".tracker-text a", "href"), marker)
			if len(site.Tracker.Bugs()) != 0 {
				t.Fatal("the preview filed a bug")
			}

			again := handlertest.ReviewForm(t, preview)
			filed := c.Post(path, handlertest.With(again, "do", "file"), headers...)
			bugs := site.Tracker.Bugs()
			if len(bugs) != 1 {
				t.Fatalf("got %d bugs, want 1\n%s", len(bugs), filed.Body)
			}
			number := strconv.FormatInt(bugs[0].Number, 10)
			if headers == nil {
				filed.WantRedirect(http.StatusSeeOther, b.ID.Path())
				c.Get(b.ID.Path()).WantText(".flash-done", "Bug "+number+" has been filed").WantNone(".review-link")
			} else {
				filed.Want(http.StatusCreated).WantText("#review-panel h2", "Bug "+number+" has been filed")
				filed.WantText("#bug-"+b.ID.String()+`[hx-swap-oob="innerHTML"] a.bug-link`, number)
			}
			got := bugs[0]
			if got.Title != "Parsing <b>rows</b> & more ✓" || got.Description != wantText ||
				strings.Join(got.Tags, " ") != "noble 24.10 regression-update" ||
				got.Package != "tide" || got.InformationType != "Private Security" {
				t.Errorf("got bug %+v, want the typed text", got)
			}
			if f := site.Bucket(t, b.ID).Filing; f.State != crash.FilingFiled || f.Person != "ada-triager" {
				t.Errorf("got filing %+v, want it filed by the person", f)
			}
			// Another person's page is stale. Their text is neither sent nor lost.
			late := c.Post(path, handlertest.With(again, "do", "file", "title", "my own words"), headers...)
			late.WantText("#review-trouble", "now has bug "+number)
			if late.Attr("#review-title", "value") != "my own words" || len(site.Tracker.Bugs()) != 1 {
				t.Errorf("got %d bugs and\n%s\nwant one bug, and the typed text", len(site.Tracker.Bugs()), late.Body)
			}
		})
	}
}

func TestReviewOnDistribution(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	for i, sourced := range []bool{true, false} {
		options := []crashtest.Option{crashtest.Process(50 + i), crashtest.Set("DuplicateSignature", "on the distribution "+
			strconv.Itoa(i))}
		if !sourced {
			options = append(options, crashtest.Without("SourcePackage"))
		}
		b := site.Save(t, crashtest.Native(options...))
		path := b.ID.Path() + "/review"
		c.Get(b.ID.Path()).WantText(".review-link", "Review…")
		form := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
		if !sourced {
			c.Post(path, handlertest.With(form, "do", "file")).Want(http.StatusUnprocessableEntity).
				WantText("#review-problem-package",
					"Enter the source package")
		}
		c.Post(path, handlertest.With(form, "do", "file", "target", "elsewhere")).Want(http.StatusUnprocessableEntity).
			WantText(
				"#review-problem-package", "Choose the source package or the distribution")
		c.Post(path, handlertest.With(form, "do", "file", "target", "distribution")).Want(http.StatusSeeOther)
		bugs := site.Tracker.Bugs()
		if got := bugs[len(bugs)-1]; len(bugs) != i+1 || got.Package != "" || got.Distribution != "ubuntu" {
			t.Errorf("got bugs %+v, want one on the distribution", bugs)
		}
	}
}

// TestReviewRefused checks that text the tracker would refuse is reported beside its field and not
// sent.
func TestReviewRefused(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience,
		Tracker: trackertest.New(t, trackertest.Options{Packages: []string{"tide", "tidewatch"}})})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/review"
	good := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
	for field, values := range map[string][]string{
		"title":            {"", "   ", strings.Repeat("ż", 201), "two\nlines", "carriage\rreturn", "nul\x00", "\xff\xfe"},
		"description":      {"", " \r\n\t ", strings.Repeat("漢", 50_001), strings.Repeat("x", 49_990), "nul\x00", "\xff"},
		"tags":             {"Noble", "a", "under_score", "-dash", "sl/ash", "ünder", "fine Bad"},
		"package":          {"", "Tide", "t", "ti de", "../x", "tide_x", "no-such-package", "noble/+source/x"},
		"information_type": {"", "Proprietary", "public", "Embargoed"},
	} {
		for _, value := range values {
			for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart} {
				a := c.Post(path, handlertest.With(good, "do", "file", field, value), headers...)
				if a.Status != http.StatusUnprocessableEntity || a.Text("#review-problem-"+field) == "" {
					t.Errorf("%s %.30q (%s): got status %d and %q, want 422 and the reason", field, value, name, a.Status,
						a.Text(".error"))
				}
				if got := handlertest.ReviewForm(t, a); field != "information_type" && !strings.Contains(value, "\x00") &&
					!strings.Contains(value, "\xff") {
					back, typed := strings.TrimSpace(got.Get(field)), strings.TrimSpace(value)
					if field == "title" && strings.ContainsAny(typed, "\r\n") {
						typed = strings.ReplaceAll(typed, "\r", "\n") // line ends as HTML parsers read them
						back = strings.ReplaceAll(back, "\r", "\n")
					}
					checktest.Equal(t, fmt.Sprintf("%s %.30q: in the form", field, value), back, typed)
				}
			}
		}
	}
	if n := len(site.Tracker.Requests(trackertest.OpCreate)); n != 0 {
		t.Errorf("the tracker was called %d times, want never", n)
	}
	if f := site.Bucket(t, b.ID).Filing; f.ID != 0 {
		t.Errorf("got filing %+v, want none", f)
	}
}

// TestReviewOtherPackages checks that earlier source packages are offered. A binary package name
// leads to its source.
func TestReviewOtherPackages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t,
		handlertest.Options{Tracker: trackertest.New(t,
			trackertest.Options{Packages: []string{"tide", "tidewatch", "tidewatch-2"}})})
	b := site.Save(t, crashtest.Native())
	site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("SourcePackage", "tidewatch-2"),
		crashtest.Set("DuplicateSignature", "newer")))
	site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("Package", "libtide1 1.0-1"),
		crashtest.Set("SourcePackage", "tide"),
		crashtest.Set("DuplicateSignature", "library")))
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/review"
	page := c.Get(path).Want(http.StatusOK)
	if got := page.Attr("#review-sources option", "value"); got != "tidewatch-2" || page.Attr("#review-package",
		"list") != "review-sources" {
		t.Errorf("got offer %q, want tidewatch-2", got)
	}
	c.Post(path, handlertest.With(handlertest.ReviewForm(t, page), "do", "file", "package", "libtide1")).
		Want(http.StatusUnprocessableEntity).
		WantText("#review-problem-package", "“libtide1” is a binary package. "+
			"File the bug against its source package, “tide”")
	c.Post(path, handlertest.With(handlertest.ReviewForm(t, page), "do", "file", "tags", "Foo ok_ fine")).
		Want(http.StatusUnprocessableEntity).
		WantText("#review-problem-tags", "“Foo”, “ok_” are not tags")
}

// TestReviewTakenByTracker checks that the tracker accepts every text that the form accepts.
func TestReviewTakenByTracker(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	full := func(b crash.Bucket) string { // 50,000 characters including the added address
		return strings.Repeat("漢", 50_000-len(site.URL+b.ID.Path())-3)
	}
	for i, change := range [][2]string{
		{"title", strings.Repeat("ż", 200)}, {"title", "24.10"}, {"title", "null"}, {"title", `{"a": 1}`},
		{"title", "tab\there \u2028"},
		{"description", "x"}, {"description", "007"}, {"description", "\u00a0 no-break"}, {"description", "full"},
		{"tags", ""}, {"tags", "24.10 true null 1e3 a+b-c.d"}, {"package", "libstdc++6"}, {"package", "0ad"},
		{"information_type", "Private Security"}, {"subscribe", ""},
	} {
		b := site.Save(t, crashtest.Native(crashtest.Process(100+i), crashtest.Set("DuplicateSignature",
			"taken "+strconv.Itoa(i))))
		path := b.ID.Path() + "/review"
		form := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
		if change[1] == "full" {
			change[1] = full(b)
		}
		a := c.Post(path, handlertest.With(form, "do", "file", change[0], change[1]))
		bugs := site.Tracker.Bugs()
		if a.Status != http.StatusSeeOther || len(bugs) != i+1 {
			t.Fatalf("%s %.30q: got status %d and %d bugs, want it filed: %s", change[0], change[1], a.Status, len(bugs),
				a.Text(".error, .flash"))
		}
		got := bugs[i]
		for field, value := range map[string]string{"title": got.Title, "tags": strings.Join(got.Tags, " "),
			"package": got.Package, "information_type": got.InformationType} {
			if field == change[0] && value != change[1] {
				t.Errorf("%s: got %.50q in the tracker, want %.50q", field, value, change[1])
			}
		}
	}
}

// TestReviewInBrowser reviews a bug in the panel of a list, in a real browser. The panel opens in
// place, counts characters, shows a preview, refuses with a reason, and files. The page stays, and
// no typed text is lost.
func TestReviewInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native())
	site.Tracker.Add(trackertest.Bug{Package: b.SourcePackage, Title: "segfault in tide_parse_row",
		Status: "Fix Released"})
	ctx := handlertest.StartBrowser(t)
	cell := "#bug-" + b.ID.String()
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.WaitVisible(".row-menu"))
	handlertest.Eval[bool](ctx, t, `window.stays = true; window.refused = [];
		document.addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective)); true`)

	handlertest.Do(ctx, t, handlertest.Click(".row-menu"), handlertest.Click("#row-menu .review-link"),
		handlertest.WaitVisible("#review-found .review-bug-title"),
		handlertest.Until(`document.activeElement.id === "review-heading"`))
	set := func(id, value string) {
		t.Helper()
		handlertest.Eval[bool](ctx, t, `{ const field = document.getElementById("`+id+`"); field.focus(); field.value = "`+
			value+`";
			field.dispatchEvent(new Event("input", {bubbles: true})); } true`)
	}
	set("review-title", "Żółw 🐢")
	checktest.Equal(t, "count", handlertest.Eval[string](ctx, t,
		`document.querySelector("output[for=review-title]").textContent`), "6")
	// Opening it again discards nothing.
	handlertest.Eval[bool](ctx, t,
		`document.querySelector(".row-menu").click(); document.querySelector("#row-menu .review-link").click(); true`)
	set("review-tags", "Not a tag")
	handlertest.Do(ctx, t, handlertest.Click(`#dialog button[value=file]`),
		handlertest.WaitVisible("#review-problem-tags"), handlertest.Until(`document.activeElement.id === "review-tags"`))
	if got := handlertest.Eval[string](ctx, t, `document.getElementById("review-title").value`); got != "Żółw 🐢" {
		t.Errorf("refused: got the title %q, want the typed one", got)
	}
	set("review-tags", "noble mine")
	handlertest.Do(ctx, t, handlertest.Click(`#dialog button[value=preview]`), handlertest.WaitVisible("#review-preview"))
	if got := handlertest.Eval[string](ctx, t,
		`document.querySelector("#review-preview h4").textContent`); got != "Żółw 🐢" {
		t.Errorf("preview: got %q, want the typed title", got)
	}
	handlertest.Eval[bool](ctx, t,
		`const button = document.querySelector("#dialog button[value=file]"); button.click(); button.click(); true`)
	handlertest.Do(ctx, t, handlertest.WaitVisible(cell+" a.bug-link"), handlertest.WaitVisible("#dialog h2"))
	bugs := site.Tracker.Bugs()
	if len(bugs) != 2 || bugs[1].Title != "Żółw 🐢" {
		t.Errorf("got bugs %+v, want one with the typed text", bugs)
	}
	handlertest.Do(ctx, t, handlertest.Click(".dialog-close"), handlertest.WaitAbsent("#dialog > *"))
	if got := handlertest.Eval[bool](ctx, t,
		`window.stays && refused.length === 0 && !document.getElementById("dialog").open`); !got {
		t.Errorf("got a reloaded page, a policy violation (%v), or an open dialog",
			handlertest.Eval[string](ctx, t, `String(window.refused)`))
	}
}

func TestReviewKnown(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	like := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:tide_parse_row:tide_load:on_open_clicked")))
	site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:tide_parse_row:tide_load:on_open_clicked:no_bug")))
	unlike := site.Save(t, crashtest.Native(crashtest.Process(4), crashtest.Set("DuplicateSignature",
		"/usr/bin/other:6:elsewhere:entirely")))
	for _, b := range []crash.Bucket{like, unlike} {
		c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	}
	filed := site.Bucket(t, like.ID).Bug
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path() + "/review"

	page := c.Get(path).Want(http.StatusOK)
	page.WantText(".review-known li", "3 of 5 functions in the same order, differs from ")
	if got := page.HTML().Find(".review-known .review-bugs:not(.review-unfiled) li").Length(); got != 1 {
		t.Errorf("got %d similar problems with a bug, want 1:\n%s", got, page.Text(".review-known"))
	}
	page.WantText(".review-unfiled", "no_bug").WantText(".review-unfiled", "3 of 5 functions in the same order")
	if got := page.Attr(".review-unfiled a:last-child", "href"); !strings.Contains(got, "merge?problems="+b.ID.String()) {
		t.Errorf("link that merges: got %q", got)
	}
	page.WantText(".advice", "of a similar problem may be about the same fault")
	c.Get(b.ID.Path()).WantText(".advice", "of a similar problem may be about the same fault")
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
				checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
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
	checktest.Equal(t, "value", handlertest.ReviewForm(t, page).Get("information_type"), "Private Security")
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
		page := c.Get(path).Want(http.StatusOK).WantText("#review-trouble", "Your text is back")
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
		checktest.Equal(t, "from another site: title", handlertest.ReviewForm(t, c.Get(path)).Get("title"), b.Title)
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
