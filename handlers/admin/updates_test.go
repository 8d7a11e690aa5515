package admin_test

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
	bugsview "mishap/views/bugs"
)

func TestUpdateRulesPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	post := func(fields ...string) *handlertest.Answer {
		t.Helper()
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		return c.Post(bugsview.PathUpdates, form)
	}
	patterns := func() (out []string) {
		t.Helper()
		rules, err := site.Store.UpdateRules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			out = append(out, r.Pattern)
		}
		return out
	}
	c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText("#updates + p", "Off")
	page := c.Get(bugsview.PathUpdates).Want(http.StatusOK).WantText(".update-rules tbody tr", "All other packages for "+
		"weeks never Save")
	page.WantNone(".update-rules input[checked]")

	post("do", "add", "pattern", " linux* ", "quiet", "on", "weeks", "6").WantRedirect(http.StatusSeeOther,
		bugsview.PathUpdates)
	post("do", "add", "pattern", "linux-firmware", "weeks", "12").WantRedirect(http.StatusSeeOther, bugsview.PathUpdates)
	post("do", "save", "pattern", "*", "again", "on", "section", "on", "weeks", "3").
		WantRedirect(http.StatusSeeOther, bugsview.PathUpdates)
	if got := strings.Join(patterns(), " "); got != "linux* linux-firmware *" {
		t.Errorf("got the rules %s", got)
	}
	post("do", "raise", "pattern", "linux-firmware").WantRedirect(http.StatusSeeOther, bugsview.PathUpdates)
	if got := strings.Join(patterns(), " "); got != "linux-firmware linux* *" {
		t.Errorf("moved up: got the rules %s", got)
	}
	rules, err := site.Store.UpdateRules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := rules.For("linux"); !r.Quiet || r.QuietWeeks != 6 || r.Again || r.Section || r.Person == "" ||
		r.Changed.IsZero() {
		t.Errorf("got %+v, want what the form says", r)
	}
	if r := rules.For("bash"); r.Quiet || !r.Again || !r.Section || r.QuietWeeks != 3 {
		t.Errorf("got %+v, want the rule for all others", r)
	}
	c.Get(handlertest.TrackerPath).WantText("#updates + p", "On")

	for name, refused := range map[string]struct {
		form []string
		says string
	}{
		"no name":       {[]string{"do", "add", "pattern", "", "weeks", "12"}, "Use the name"},
		"capitals":      {[]string{"do", "add", "pattern", "Linux", "weeks", "12"}, "Use the name"},
		"a known one":   {[]string{"do", "add", "pattern", "*", "weeks", "12"}, "already a row"},
		"no weeks":      {[]string{"do", "save", "pattern", "linux*", "weeks", ""}, "between 1 and 260"},
		"too many":      {[]string{"do", "save", "pattern", "linux*", "weeks", "261"}, "between 1 and 260"},
		"weeks in text": {[]string{"do", "add", "pattern", "vim", "section", "on", "weeks", "six"}, "between 1 and 260"},
	} {
		answer := post(refused.form...).Want(http.StatusUnprocessableEntity).WantText("p.error", refused.says)
		if name == "weeks in text" && (answer.Attr("#rule-pattern", "value") != "vim" ||
			answer.HTML().Find("#rule-new input[name=section][checked]").Length() != 1) {
			t.Errorf("%s: the form has lost what was typed", name)
		}
	}
	post("do", "drop", "pattern", "*").Want(http.StatusNotFound)
	post("do", "drop", "pattern", "no-such").Want(http.StatusNotFound)
	post("do", "raise", "pattern", "no-such").Want(http.StatusNotFound)
	post("do", "drop", "pattern", "linux*").WantRedirect(http.StatusSeeOther, bugsview.PathUpdates)
	if got := strings.Join(patterns(), " "); got != "linux-firmware *" {
		t.Errorf("got the rules %s", got)
	}
}

// TestUpdatesOfBug checks what the page of a problem and the filing log say about updates of its bug,
// and that a triager can resume the section.
func TestUpdatesOfBug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	triager, viewer, visitor := site.As(t, crash.RoleTriager), site.As(t, crash.RoleViewer), site.As(t, crash.RoleNone)
	triager.Post(b.ID.Path()+"/link", url.Values{"bug": {"7"}}).Want(http.StatusSeeOther)
	store, ctx := site.Bugs, t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for kind, about := range map[crash.UpdateKind]string{crash.UpdateQuiet: "2026-08-01", crash.UpdateAgain: "1.4-2"} {
		_, err := store.BeginComment(ctx, 7, kind, about, b.ID)
		must(err)
	}
	must(store.EndComment(ctx, 7, crash.UpdateQuiet, "2026-08-01", "sent", ""))
	must(store.EndComment(ctx, 7, crash.UpdateAgain, "1.4-2", "refused", "no permission"))
	section := crash.BugSection{Number: 7, Hashes: []string{"x"}, Written: time.Now()}
	must(store.AddSection(ctx, section, time.Hour))
	viewer.Get(b.ID.Path()).WantText(".bug-list", "Section in the description updated").
		WantText(".bug-list", "Commented: no report since 2026-08-01.").
		WantText(".bug-list", "Comment (seen again in 1.4-2) refused: no permission.")
	visitor.Get(b.ID.Path()).WantNone(".bug-section").WantNone(".bug-comment")

	must(store.StopSection(ctx, section, crash.SectionChanged))
	stopped := "Someone changed the section, so mishap no longer updates it."
	viewer.Get(b.ID.Path()).WantText(".bug-section", stopped).WantNone("form[action$='/resume-section']")
	triager.Get(b.ID.Path()).WantText(".bug-section", stopped).WantText("form[action$='/resume-section']",
		"Update it again")
	resume := url.Values{"bug": {strconv.Itoa(7)}}
	viewer.Post(b.ID.Path()+"/resume-section", resume).Want(http.StatusForbidden)
	other := site.Save(t, crashtest.Python())
	triager.Post(other.ID.Path()+"/resume-section", resume).Want(http.StatusNotFound)
	triager.Post(b.ID.Path()+"/resume-section", resume).WantRedirect(http.StatusSeeOther, b.ID.Path())
	triager.Get(b.ID.Path()).WantText(".bug-section", "Section in the description updated")
	triager.Post(b.ID.Path()+"/resume-section", resume).Want(http.StatusNotFound)
	must(store.DelaySection(ctx, section, "The tracker is upset.", time.Hour))
	viewer.Get(b.ID.Path()).WantText(".bug-list", "Section not updated The tracker is upset.")
}

// TestReviewShowsSection checks that the review of a bug shows the section which mishap will add, and
// that the filed bug has it below the typed text.
func TestReviewShowsSection(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c, path := site.As(t, crash.RoleTriager), b.ID.Path()+"/review"
	c.Get(path).Want(http.StatusOK).WantNone(".review-section")
	if err := site.Bugs.SaveUpdateRule(t.Context(), crash.UpdateRule{Pattern: b.SourcePackage, Section: true,
		QuietWeeks: crash.DefaultQuietWeeks}); err != nil {
		t.Fatal(err)
	}
	page := c.Get(path).Want(http.StatusOK).WantText(".review-section pre", "1 report from 1 machine")
	form := handlertest.ReviewForm(t, page)
	if strings.Contains(form.Get("description"), "=== Crash reports") {
		t.Errorf("got the draft\n%s\nwant it without the section", form.Get("description"))
	}
	typed := "Typed. http://localhost:8080" + b.ID.Path()
	c.Post(path, handlertest.With(form, "do", "file", "description", typed)).Want(http.StatusSeeOther)
	filed := site.Tracker.Bugs()
	if len(filed) != 1 || !strings.HasPrefix(filed[0].Description, typed) ||
		strings.Count(filed[0].Description, "=== Crash reports") != 1 {
		t.Errorf("got %+v, want one bug with the typed text and the section", filed)
	}
}
