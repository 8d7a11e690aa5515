package bugs_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"mishap/crash"
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
			if got := form.Get("title"); got != b.Title {
				t.Errorf("title: got %q, want %q", got, b.Title)
			}
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
			if got := preview.HTML().Find(".tracker-text").Text(); got != wantText {
				t.Errorf("preview: got %q, want %q", got, wantText)
			}
			if got := preview.Attr(".tracker-text a", "href"); got != marker {
				t.Errorf("link: got %q, want %q", got, marker)
			}
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
			late.WantText("#review-trouble", "has the bug "+number+" meanwhile")
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
					"Name the source package")
		}
		c.Post(path, handlertest.With(form, "do", "file", "target", "elsewhere")).Want(http.StatusUnprocessableEntity).
			WantText(
				"#review-problem-package", "choose one of the two")
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
					if back != typed {
						t.Errorf("%s %.30q: got %.30q in the form, want it unchanged", field, value, back)
					}
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
		WantText("#review-problem-package", "“libtide1” is a binary package of the source package “tide”")
	c.Post(path, handlertest.With(handlertest.ReviewForm(t, page), "do", "file", "tags", "Foo ok_ fine")).
		Want(http.StatusUnprocessableEntity).
		WantText("#review-problem-tags", "“Foo”, “ok_” are no tags")
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
