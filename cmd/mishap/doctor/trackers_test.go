package doctor

import (
	"fmt"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
)

// further returns a [[tracker]] table for a practice tracker.
func further(kind string, srv *issuetest.Server, lines ...string) string {
	variant := ""
	if kind == "bugzilla" {
		variant = "variant = 'header'\n"
	}
	return fmt.Sprintf("[[tracker]]\nname = 'harbour'\nkind = '%s'\nurl = '%s'\n%s%s\n", kind, srv.URL, variant,
		strings.Join(lines, "\n"))
}

const itsToken = "token = 'secret-of-mishap'"

// TestFurtherTrackers checks a tracker of each kind that takes bugs.
func TestFurtherTrackers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			s, srv := newSite(t), issuetest.New(t, issuetest.Kinds[k.Name]())
			account, target, has := "mishap", "sandbox/trial", ", and has sandbox/trial"
			if k.Mail {
				account, target, has, s.mail = "mishap@example.org", "{source}", "", srv.Mailer()
			}
			s.tables = further(k.Name, srv, itsToken, "account = '"+account+"'", "target = '"+target+"'")
			all := s.run(t)
			want(t, all, "tracker", OK, "harbour ("+k.Title+") accepts mishap as "+account+has)
			want(t, all, "clock", OK, "harbour")
			if strings.Contains(lines(all), "secret-of-mishap") {
				t.Errorf("got the token: %s", lines(all))
			}
		})
	}
}

// TestFurtherTrackerInTrouble breaks further trackers in all ways that the doctor should see.
func TestFurtherTrackerInTrouble(t *testing.T) {
	t.Parallel()
	const target = "target = 'sandbox/trial'"
	for _, c := range []struct {
		name   string
		kind   string
		harm   func(*issuetest.Server)
		lines  []string
		status Status
		text   string
	}{
		{"revoked", "gitlab", fault("me", issuetest.Expired), []string{itsToken}, Failure,
			"does not accept its access token"},
		{"wrong token", "forgejo", nil, []string{"token = 'x'"}, Failure, "does not accept its access token"},
		{"no token", "github", nil, nil, Warning, "has no access token"},
		{"wrong account", "debian", nil, []string{"account = 'ada'"}, Failure, "not a mail address"},
		{"no relay", "debian", nil, []string{"account = 'ada@example.org'"}, Failure, "set smtp_url"},
		{"proxy", "github", fault("me", issuetest.ErrorBefore), []string{itsToken}, Failure, "502"},
		{"busy", "gitlab", fault("me", issuetest.Busy), []string{itsToken}, Failure, "busy (Retry later)"},
		{"scopes", "gitlab", func(s *issuetest.Server) { s.SetScopes("read_api") }, []string{itsToken, target}, Failure,
			"lacks the scope “api”"},
		{"scopes of GitHub", "github", func(s *issuetest.Server) { s.SetScopes("gist", "user") },
			[]string{itsToken, target}, Failure, "lacks the scope “public_repo”"},
		{"fine-grained", "github", func(s *issuetest.Server) { s.SetScopes("gist", "repo") }, []string{itsToken, target},
			OK, "and has sandbox/trial"},
		{"no project", "gitlab", nil, []string{itsToken, "target = 'nowhere/trial'"}, Failure,
			"there is no “nowhere/trial”, or not for this account (404 Project Not Found)"},
		{"no repository", "forgejo", nil, []string{itsToken, "target = 'nowhere/trial'"}, Failure, "no “nowhere/trial”"},
		{"no repository in GitHub", "github", nil, []string{itsToken, "target = 'nowhere/trial'"}, Failure,
			"no “nowhere/trial”"},
		{"forbidden", "forgejo", fault("project", issuetest.Forbidden), []string{itsToken, target}, Failure,
			"token does not have at least one of required scope(s)"},
		{"no answer about the project", "gitlab", fault("project", issuetest.CutAfter), []string{itsToken, target}, Warning,
			"does not say whether it takes bugs"},
		{"no product", "bugzilla", nil, []string{itsToken, "target = 'nowhere/trial'"}, Failure, "no product “nowhere”"},
		{"no component", "bugzilla", nil, []string{itsToken, "target = 'sandbox/other'"}, Failure,
			"no component “other” in the product “sandbox”"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, srv := newSite(t), issuetest.New(t, issuetest.Kinds[c.kind]())
			if c.harm != nil {
				c.harm(srv)
			}
			s.tables = further(c.kind, srv, c.lines...)
			all := s.run(t)
			want(t, all, "tracker", c.status, c.text)
			want(t, all, "tracker", OK, "practice-person") // the first tracker
		})
	}
}

func fault(operation string, f issuetest.Fault) func(*issuetest.Server) {
	return func(s *issuetest.Server) { s.Fail(operation, f) }
}

// TestFurtherTrackerDetails checks findings that need more than a fault.
func TestFurtherTrackerDetails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := issuetest.New(t, issuetest.Bugzilla(issuetest.BugzillaOptions{Variant: "header", Alias: "ignored",
		Versions: []string{"1.0", "2.0"}}))
	s.tables = further("bugzilla", srv, itsToken, "target = 'sandbox/trial'")
	all := s.run(t)
	want(t, all, "tracker", Warning, "has no aliases")
	want(t, all, "tracker", Failure, "must name one of its versions")

	s.tables = gnome
	want(t, s.run(t), "tracker", Failure, "gnome (GitLab) cannot be reached at "+crashtest.NobodyListens+"/api/v4")
	s.tables = strings.ReplaceAll(gnome, crashtest.NobodyListens, "http://tracker.invalid")
	want(t, s.run(t), "tracker", Failure, "gnome (GitLab) cannot be reached")
}

// TestRoutesToNowhere names the lines of routes to trackers that are not in the configuration.
func TestRoutesToNowhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := bugs.New(dbtest.Open(t, s.keys["database_url"]))
	checktest.NoError(t, store.SaveRoutes(t.Context(), crash.Routes{
		{Package: "tidewatch", Tracker: "launchpad"}, {Package: "mutter", Tracker: "gnome"},
		{Package: "gjs", Tracker: "gnome"}, {Package: "linux*", Tracker: "kernel"}, {Package: "*", Tracker: "gnome"},
	}, "ada"))
	want(t, s.run(t), "routes", Failure,
		"line 3 (mutter → gnome), line 4 (gjs → gnome), line 5 (linux* → kernel) and 1 more")
	s.tables = gnome
	all := s.run(t)
	want(t, all, "routes", Failure, "line 5 (linux* → kernel)")
	if strings.Contains(lines(all), "mutter") {
		t.Errorf("got %s, want no route to a known tracker", lines(all))
	}
}
