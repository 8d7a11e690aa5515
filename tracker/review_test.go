package tracker_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// TestNothingPrivateLeaves checks that bugs contain no private data of a report, whatever names a
// template uses.
func TestNothingPrivateLeaves(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"ines.almeida", "cedarbox", "Almeida", "hunter2", "letter-to-ann", "192.168.7.12", "fe80::1c2a", "00:1a:2b:3c:4d:5e",
		"ann@mail.example.org", "ghp_abcdefghijklmnop", "--secret-project", "WAYLAND_DISPLAY", "/srv/private",
	}
	everything := "{problem_url}\n"
	for _, n := range tracker.TemplateNames() {
		everything += n.Name + ": {" + n.Name + "}\n"
	}
	message := "cannot open /home/ines.almeida/letter-to-ann.odt on cedarbox (192.168.7.12, fe80::1c2a:3bff:fe4d:5e6f, " +
		"00:1a:2b:3c:4d:5e) " +
		"for ann@mail.example.org password=hunter2 ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	private := []crashtest.Option{
		crashtest.Set("ProcEnviron", "USER=ines.almeida\nHOSTNAME=cedarbox\nWAYLAND_DISPLAY=wayland-0\nTOKEN=hunter2"),
		crashtest.Set("ProcCmdline", "tidewatch --secret-project /srv/private/x"),
		crashtest.Set("ProcCwd", "/home/ines.almeida"),
		crashtest.Set("Uname", "Linux cedarbox 6.8.0-31-generic x86_64"), crashtest.Set("RealName", "Inês Almeida"),
		crashtest.Set("JournalErrors", message), crashtest.Set("UserName", "ines.almeida"),
		crashtest.Set("HostName", "cedarbox"),
	}
	tests := map[string]crashtest.Report{
		"traceback": crashtest.Python(append(private, crashtest.Set("Traceback", "Traceback (most recent call last):\n"+
			"  File \"/home/ines.almeida/bin/tide\", line 3, in run\n    open(\"/home/ines.almeida/letter-to-ann.odt\")\n"+
			"  File \"/usr/lib/python3/dist-packages/tide/io.py\", line 9, in load\n    f(1)\nOSError: "+message))...),
		"assertion": crashtest.Assertion(append(private, crashtest.Set("AssertionMessage", "tide: "+message))...),
		"package":   crashtest.Package(append(private, crashtest.Set("ErrorMessage", message))...),
		"stack": crashtest.Native(append(private,
			crashtest.Set("Stacktrace", "#0  0x1 in tide_open (path=0x7f \"/home/ines.almeida/letter-to-ann.odt\", "+
				"pw=\"hunter2\") at /home/ines.almeida/src/open.c:3\n"+
				"#1  0x2 in main (argv=\"--secret-project\") at main.c:1\n#2  0x3 in _start ()"),
			crashtest.Set("StacktraceTop", "tide_open (path=\"letter-to-ann\") at /home/ines.almeida/src/open.c:3\nmain () at "+
				"main.c:1\n_start ()"))...),
		"program in a home": crashtest.Native(append(private,
			crashtest.Set("ExecutablePath", "/home/ines.almeida/bin/tide"))...),
	}
	for name, report := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			if err := bugs.New(h.db).SaveBugTemplate(t.Context(), crash.BugTemplate{Body: everything,
				By: "ada"}); err != nil {
				t.Fatal(err)
			}
			bug := h.bugOf(h.report(report))
			text := bug.Title + "\n" + bug.Description
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("the bug contains %q:\n%s", secret, text)
				}
			}
			if !strings.Contains(text, "signature: ") || strings.Count(text, "https://mishap.example/problem/") < 2 {
				t.Errorf("the template was not used:\n%s", text)
			}
		})
	}
}

// TestTemplateChosen checks that the most specific template is used, or the shipped text if there
// is none.
func TestTemplateChosen(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	saved := []crash.BugTemplate{
		{Body: "for all {problem_url}"}, {ProblemType: "Crash", Body: "for crashes {problem_url}"},
		{Package: "tidewatch", Body: "for the package {problem_url}"}, {Package: "tidewatch", ProblemType: "Crash",
			Body: "for both {problem_url}"},
		{Package: "other", ProblemType: "Crash", Body: "for others {problem_url}"},
	}
	b := h.bucket(h.report(crashtest.Native()))
	text := func() string {
		t.Helper()
		p, err := u.filer.Propose(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return p.Description
	}
	shipped := text()
	for i, tpl := range saved {
		if err := bugs.New(h.db).SaveBugTemplate(t.Context(), tpl); err != nil {
			t.Fatal(err)
		}
		want := saved[min(i, 3)].Body[:8]
		if got := text(); !strings.HasPrefix(got, want) {
			t.Errorf("with %d templates: got %q, want %q", i+1, got, want)
		}
	}
	for i := 4; i >= 0; i-- {
		if err := bugs.New(h.db).DropBugTemplate(t.Context(), saved[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got := text(); got != shipped {
		t.Errorf("without any: got %q, want the shipped text", got)
	}
	if err := bugs.New(h.db).DropBugTemplate(t.Context(), saved[0]); crash.KindOf(err) != crash.NotFound {
		t.Errorf("deleted twice: got %v, want NotFound", err)
	}
	// A template that was damaged in the database is ignored.
	h.exec(`insert into bug_templates values ('', '', '{nonsense', 'x', now())`)
	if got := text(); got != shipped {
		t.Errorf("an invalid template: got %q, want the shipped text", got)
	}
}

// TestPrivateBugNotFiledTwice checks that nothing is sent again if the bug may exist but be hidden
// from our account. A person must decide.
func TestPrivateBugNotFiledTwice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		level string
		want  crash.FilingState
	}{
		"an account that sees it": {"WRITE_PRIVATE", crash.FilingFiled}, "an account that does not": {"WRITE_PUBLIC",
			crash.FilingRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			h.cfg.Token = h.lp.TokenOf(consumer, tt.level)
			u := h.instance()
			signature := h.problem(1)
			h.lp.Fail(trackertest.OpCreate, trackertest.Lost502)
			draft := crash.Draft{Title: "t", Description: "d", Package: "tidewatch", Information: crash.InformationPrivate}
			if _, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: 0,
				Draft: &draft}); err != nil {
				t.Fatal(err)
			}
			h.until("it is settled", []*instance{u}, func() bool {
				s := h.bucket(signature).Filing.State
				return s == crash.FilingFiled || s == crash.FilingRefused
			})
			f := h.bucket(signature).Filing
			if f.State != tt.want || len(h.lp.Bugs()) != 1 {
				t.Errorf("got state %s (%s) and %d bugs, want %s and 1", f.State, f.Reason, len(h.lp.Bugs()), tt.want)
			}
			if tt.want == crash.FilingRefused && f.Problem != "private_unknown" {
				t.Errorf("got problem %q, want private_unknown", f.Problem)
			}
		})
	}
}

// TestBugsWithoutPrivateFields checks that bugs quote a field unless the configuration makes it private.
func TestBugsWithoutPrivateFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	table, err := privacy.Parse("StepsToReproduce=private", "private")
	if err != nil {
		t.Fatal(err)
	}
	signature := h.save("machine", time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC),
		crashtest.Native(crashtest.Set("StepsToReproduce", "open harbour")))
	for name, tt := range map[string]struct {
		table *privacy.Table
		want  bool
	}{"built in": {nil, true}, "private": {table, false}} {
		u := h.instance(func(c *tracker.Config) { c.Privacy = tt.table })
		p, err := u.filer.Propose(t.Context(), h.bucket(signature))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.Description, "open harbour") != tt.want || !strings.Contains(p.Description, "tide_parse_row") {
			t.Errorf("%s: got the description %q, want the steps in it: %t", name, p.Description, tt.want)
		}
	}
}
