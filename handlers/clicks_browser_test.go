package handlers_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
)

// storyRow is a row of the table of clicks in docs/triage.md: a story, and the number of its clicks.
var storyRow = regexp.MustCompile(`(?m)^\| ([^|]+?) \| (\d+) \| [^|]* \|$`)

// documentedClicks returns the number of clicks that the documentation promises, by story.
func documentedClicks(t *testing.T) map[string]int {
	t.Helper()
	doc, err := os.ReadFile("../docs/triage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(doc), "\n## Clicks\n")
	if !found {
		t.Fatal("docs/triage.md has no section Clicks")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	clicks := map[string]int{}
	for _, row := range storyRow.FindAllStringSubmatch(section, -1) {
		if clicks[row[1]], err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
	}
	return clicks
}

// story is a browser that counts clicks.
type story struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // of the tab, for one test
	url    string
	clicks int
}

func (s *story) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	browsertest.Do(s.ctx, s.t, steps...)
}

// open opens an address, as the link in a mail does. The caller counts that click.
func (s *story) open(path, visible string) {
	s.t.Helper()
	s.do(chromedp.Navigate(s.url+path), browsertest.WaitVisible(visible))
}

// click clicks an element, and waits for another.
func (s *story) click(selector, visible string) {
	s.t.Helper()
	s.clicks++
	s.do(browsertest.Click(selector), browsertest.WaitVisible(visible))
}

// TestClicks counts the clicks of each story that docs/triage.md lists, and checks what they do. The
// stories about a problem begin with the link in a real mail.
func TestClicks(t *testing.T) {
	t.Parallel()
	relay := mailtest.New(t)
	site := handlertest.New(t, handlertest.Options{SMTPURL: relay.URL})
	ada := site.AddUser(t, crash.RoleAdmin)
	b := handlertest.Candidates(t, site, 1)[0]
	if err := site.Events.AskForMailAddress(t.Context(), ada.ID, "ada@example.org"); err != nil {
		t.Fatal(err)
	}
	if err := site.Events.ConfirmMailAddress(t.Context(), ada.ID, "ada@example.org"); err != nil {
		t.Fatal(err)
	}
	handlertest.Publish(t, site, crash.Event{Edge: "1", Kind: crash.EventNew, Title: "tidewatch crashed", Bucket: &b.ID},
		ada.ID)
	if err := site.Mailer.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	mails := relay.Mails()
	problem := handlertest.LinkIn(t, mails[len(mails)-1], "/problem/")
	unsubscribe := handlertest.LinkIn(t, mails[len(mails)-1], "/unsubscribe/")
	ctx := browsertest.Start(t)
	s := &story{t: t, ctx: ctx, url: site.URL}
	// A visitor may unsubscribe, so this comes before signing in.
	stories := []struct {
		name string
		run  func()
	}{
		{"unsubscribe, from a mail", func() {
			s.clicks++
			s.open(unsubscribe, "#unsubscribe button")
			s.click("#unsubscribe button", "main [role=status]")
			settings, err := site.Events.MailSettings(t.Context(), ada.ID)
			if err != nil || settings.Mode != crash.MailOff {
				t.Errorf("unsubscribe: got mode %s, %v", settings.Mode, err)
			}
			s.do(chromedp.Navigate(site.URL+"/login"), browsertest.Type("#username", ada.Name),
				browsertest.Type("#password", handlertest.Password+"\r"), browsertest.WaitVisible(".account-name"))
		}},
		{"mute a problem for a week, from a mail", func() {
			s.clicks++
			s.open(problem, "#manual")
			s.click("#manual a[href$='/mute']", "#dialog .presets")
			s.click("#dialog .presets button", "#manual .manual-line .state")
			if handlertest.ManualStatus(t, site, b.ID).Muted == nil {
				t.Error("the problem is not muted")
			}
		}},
		{"take a problem, from a mail", func() {
			s.clicks++
			s.open(problem, "#people")
			s.click("#assign-me button", "#flash .flash-done form button")
			page := site.As(t, crash.RoleAdmin).Get(b.ID.Path())
			page.WantText("#people dd", ada.Name)
		}},
		{"mark a problem as fixed in a version, from a mail", func() {
			s.clicks++
			s.open(problem, "#manual")
			s.click("#manual a[href$='/fixed']", "#dialog #fix-0")
			s.do(browsertest.Type("#fix-0", "99"))
			s.click("#dialog button.primary", "#flash .flash-done")
			if fixes := handlertest.ManualStatus(t, site, b.ID).Fixes; len(fixes) != 1 || fixes[0].Version != "99" {
				t.Errorf("fixed in: got %+v", fixes)
			}
		}},
		{"approve a candidate", func() {
			s.open("/", "table.problems, .empty")
			s.click(".top-nav a[href='/candidates']", "#candidate-1")
			s.click("#candidate-1-approve button", "#candidate-1[data-state=filed]")
			if n := len(site.Tracker.Bugs()); n != 1 {
				t.Errorf("approve: got %d bugs, want 1", n)
			}
		}},
		{"file a bug, from a mail", func() {
			other := site.Save(t, crashtest.Python())
			s.clicks++
			s.open(other.ID.Path(), "form.create-bug")
			s.click("form.create-bug button", ".bug-now .bug-link")
			if n := len(site.Tracker.Bugs()); n != 2 {
				t.Errorf("file: got %d bugs, want 2", n)
			}
		}},
		{"make a rule, with a rehearsal", func() {
			s.open("/", "main h1")
			s.click(".top-nav a[href^='/admin']", "main h1")
			s.click("a[href='/admin/rules']", ".rule-list")
			s.click("a[href='/admin/rules/new']", "#rule-form")
			s.do(browsertest.Type("#rule-name", "Harbour"))
			s.click("#rule-form button[value=rehearse]", "#rule-form button[value=save]")
			s.click("#rule-form button[value=save]", "#flash .flash-done")
			if n := handlertest.RuleCount(t, site); n != 7 { // the shipped ones, and that of candidates
				t.Errorf("make a rule: got %d rules, want 7", n)
			}
		}},
	}
	want := documentedClicks(t)
	if len(want) != len(stories) {
		t.Errorf("the documentation has %d stories, want %d: %v", len(want), len(stories), fmt.Sprint(want))
	}
	for _, one := range stories {
		s.clicks = 0
		one.run()
		if n, found := want[one.name]; !found || n != s.clicks {
			t.Errorf("%s: got %d clicks, the documentation says %d", one.name, s.clicks, n)
		}
	}
}
