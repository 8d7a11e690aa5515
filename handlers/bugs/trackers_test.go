package bugs_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker"
)

// route sends the bugs of the practice reports to a tracker.
func route(t *testing.T, site *handlertest.Site, routes ...crash.Route) {
	t.Helper()
	if err := site.Bugs.SaveRoutes(t.Context(), routes, "ada-admin"); err != nil {
		t.Fatal(err)
	}
}

func TestReviewOfAnotherTracker(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience, Trackers: []string{"gitlab"}})
	route(t, site, crash.Route{Package: "*", Tracker: "gitlab", Target: "GNOME/mutter"})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path()).WantText(".create-bug button", "Create bug in GitLab")
	path := b.ID.Path() + "/review"
	page := c.Get(path).Want(http.StatusOK).WantText("form", "GNOME/mutter in GitLab").
		WantText(".review-buttons .primary", "File bug in GitLab").WantText(`label[for="review-private"]`,
		"Private. Only members of the project can read it.").
		WantNone("#review-subscribe").WantNone("#review-on-distribution").WantNone("#review-found")
	if address := page.Attr(`.review-known a`, "href"); !strings.HasPrefix(address,
		site.Practice["gitlab"].URL+"/GNOME/mutter/-/issues?state=all&search=") {
		t.Errorf("got the search %q, want GitLab's", address)
	}
	form := handlertest.ReviewForm(t, page)
	c.Post(path, handlertest.With(form, "title", strings.Repeat("x", 256))).Want(http.StatusUnprocessableEntity).
		WantText("#review-problem-title", "GitLab takes at most 255")

	shown := c.Post(path, handlertest.With(form, "do", "request")).Want(http.StatusOK)
	request := shown.HTML().Find("pre.review-request").Text()
	for _, want := range []string{"POST " + site.Practice["gitlab"].URL + "/api/v4/projects/GNOME%2Fmutter/issues\n",
		"Private-Token: [secret]\n", `"title":"` + b.Title[:9]} {
		if !strings.Contains(request, want) {
			t.Errorf("the request lacks %q:\n%s", want, request)
		}
	}
	if len(site.Practice["gitlab"].Issues()) != 0 {
		t.Fatal("showing the request filed a bug")
	}

	c.Post(path, handlertest.With(form, "do", "file")).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "Bug mutter#1 has been filed.").WantText("#bugs a.bug-link", "mutter#1")
	if issues := site.Practice["gitlab"].Issues(); len(issues) != 1 || issues[0].Project != "GNOME/mutter" {
		t.Errorf("got issues %+v, want one in GNOME/mutter", issues)
	}
	c.Get("/search?q=mutter%231").WantRedirect(http.StatusSeeOther, "/bug/1099511627777")
	c.Post(path, handlertest.With(form, "do", "file")).Want(http.StatusConflict).
		WantText("#review-trouble", "bug mutter#1")
}

func TestEveryoneSeesEmbargoed(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience, Trackers: []string{"github"}})
	route(t, site, crash.Route{Package: "*", Tracker: "github", Target: "sandbox/trial"})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleAdmin)
	form := handlertest.ReviewForm(t, c.Get(b.ID.Path()+"/review").WantText("fieldset", "Everyone sees bugs in GitHub."))
	c.Post(b.ID.Path()+"/embargo", handlertest.With(url.Values{}, "do", "set", "reason", "exploitable"))
	if n, err := site.Problems.CountEmbargoed(t.Context(), []crash.BucketID{b.ID}); err != nil || n != 1 {
		t.Fatalf("got %d embargoed problems, %v, want one", n, err)
	}
	c.Get(b.ID.Path()).WantText("#bugs", "everyone sees bugs in GitHub").WantNone(".create-bug")
	c.Get(b.ID.Path()+"/review").WantText("#review-trouble", "Tell the project in private").WantNone("#review-form")
	c.Post(b.ID.Path()+"/review", handlertest.With(form, "do", "file")).Want(http.StatusUnprocessableEntity)
	c.Post("/api/1.0/create-bug-report/", handlertest.With(url.Values{}, "signature", b.Signature)).
		WantRedirect(http.StatusSeeOther, b.ID.Path())
	if f := site.Bucket(t, b.ID).Filing; f.State != crash.FilingRefused || !strings.Contains(f.Reason, "GitHub") {
		t.Errorf("got filing %+v, want it refused", f)
	}
	if requests := site.Practice["github"].Requests("create"); len(requests) != 0 {
		t.Errorf("got requests %+v, want none for an embargoed problem", requests)
	}
}

func TestForwardUpstream(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience, Upstreams: []string{"gitlab"}})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path()).WantNone(".bug-upstream")
	route(t, site, crash.Route{Package: "*", Tracker: "gitlab", Target: "GNOME/mutter"})
	c.Post("/api/1.0/create-bug-report/", handlertest.With(url.Values{}, "signature", b.Signature)).
		WantRedirect(http.StatusSeeOther, b.ID.Path())
	own := site.Bucket(t, b.ID).Bug.Number
	path := b.ID.Path() + "/review?upstream=1"
	c.Get(b.ID.Path()).WantText(`.bug-upstream a[href="`+path+`"]`, "Forward upstream…")
	page := c.Get(path).Want(http.StatusOK).WantText("h1", "Forward upstream").WantText("form", "GNOME/mutter in GitLab")
	form := handlertest.ReviewForm(t, page)
	c.Post(path, handlertest.With(form, "do", "file")).WantRedirect(http.StatusSeeOther, b.ID.Path())
	issues := site.Practice["gitlab"].Issues()
	if len(issues) != 1 || len(site.Tracker.Bugs()) != 1 {
		t.Fatalf("got %d issues and %d bugs, want one of each", len(issues), len(site.Tracker.Bugs()))
	}
	c.Get(b.ID.Path()).WantText(".bug-list", "Upstream: ").WantText(".bug-list", "mutter#1").WantNone(".bug-upstream").
		WantText(".flash-done", "Bug mutter#1 has been filed.").WantText(".filings-of", "upstream: ")
	checktest.Equal(t, "the bug that counts", site.Bucket(t, b.ID).Bug.Number, own)
	c.Post(path, handlertest.With(form, "do", "file")).Want(http.StatusConflict)
	checktest.Equal(t, "issues", len(site.Practice["gitlab"].Issues()), 1)

	number, filing, err := site.Bugs.Upstream(t.Context(), b.ID)
	if err != nil || number == 0 || !filing.Upstream {
		t.Fatalf("got bug %d and filing %+v, %v", number, filing, err)
	}
	upstream := url.Values{"bug": {"1099511627777"}}
	c.Post(b.ID.Path()+"/unlink", upstream).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "Bug mutter#1 unlinked.").WantText(".bug-upstream", "Forward upstream…")
	c.Post(b.ID.Path()+"/relink", upstream).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "Bug mutter#1 linked again.").WantNone(".bug-upstream")
}

func TestUpstreamRefused(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience, Upstreams: []string{"github"}})
	route(t, site, crash.Route{Package: "*", Tracker: "github", Target: "nobody/nothing/more"})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path()).WantText(".bug-upstream", "which is not of the form owner/name")
}

func TestReviewedByAPerson(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Trackers: []string{"debian"}})
	route(t, site, crash.Route{Package: "*", Tracker: "debian", Target: "{source}"})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/review"
	c.Get(b.ID.Path()).WantText(`#bugs a.review-link[href="`+path+`"]`, "Review bug in Debian…").WantNone(".create-bug")
	c.Get("/?period=year").WantText(`.bug a.review-link[href="`+path+`"]`, "Review…").WantNone("button.create")
	c.Get("/problems/create?problems="+b.ID.String()).WantText(".skipped",
		"is reviewed by a person first, as each bug in Debian")
	form := handlertest.ReviewForm(t, c.Get(path).Want(http.StatusOK))
	answer := c.Post(path, handlertest.With(form, "do", "request")).Want(http.StatusOK)
	shown := answer.HTML().Find(".review-request").Text()
	for _, want := range []string{"Mail to submit@", "Source: " + b.SourcePackage, "From: <mishap@example.org>"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the mail lacks %q:\n%s", want, shown)
		}
	}
	if len(site.Practice["debian"].Issues()) != 0 {
		t.Error("showing the mail sent it")
	}
}

// TestRequestHidesSecrets shows the requests of trackers that get the token in other places.
func TestRequestHidesSecrets(t *testing.T) {
	t.Parallel()
	trackers := []string{"bugzilla", "forgejo", "github"}
	site := handlertest.New(t, handlertest.Options{Trackers: trackers})
	b := site.Save(t, crashtest.Native())
	for _, name := range append(trackers, crash.FirstTracker) {
		target := ""
		if name == crash.FirstTracker {
			target = "ubuntu"
		}
		route(t, site, crash.Route{Package: "*", Tracker: name, Target: target})
		request, err := site.Filer.Request(t.Context(), b.ID, nil, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasPrefix(request, "POST http") || !strings.Contains(request, "[secret]") ||
			strings.Contains(request, "secret-of-mishap") || strings.Contains(request, string(site.Token.Secret)) {
			t.Errorf("%s: got request\n%s", name, request)
		}
	}
	if slices.ContainsFunc(trackers, func(name string) bool { return len(site.Practice[name].Issues()) > 0 }) ||
		len(site.Tracker.Bugs()) > 0 {
		t.Error("showing requests filed a bug")
	}
}

// TestPossibleBugs asks whether one of the bugs of mishap's account is that whose outcome is unknown.
func TestPossibleBugs(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Trackers: []string{"debian"}})
	route(t, site, crash.Route{Package: "*", Tracker: "debian", Target: "{source}"})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	link := b.ID.Path() + "/link"
	c.Get(link).Want(http.StatusOK).WantNone(".link-bug section")
	practice := site.Practice["debian"]
	practice.HoldMail()
	review := b.ID.Path() + "/review"
	c.Post(review, handlertest.With(handlertest.ReviewForm(t, c.Get(review)), "do", "file")).
		WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(link).WantText(".link-bug section", "No: every bug")
	other, err := site.Filer.Sites().At(t.Context(), "debian", "")
	checktest.NoError(t, err)
	practice.DeliverMail()
	_, _ = other.Tracker.Create(t.Context(), crash.Intent{ // by mail
		Target: "tidewatch", Title: "Another", Description: "x", Marker: "https://elsewhere.example/",
	}, tracker.MaxSending)
	page := c.Get(link).WantText(".link-bug section li", "debian#")
	if found := page.HTML().Find(".link-bug section li").Length(); found == 0 {
		t.Error("got no bug to choose from")
	}
	c.Get(page.Attr(".link-bug section li a", "href")).Want(http.StatusOK).
		WantText(".found-bug button", "Link bug debian#")
}
