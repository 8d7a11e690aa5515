// Package kinds lists the kinds of trackers.
package kinds

import (
	"regexp"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/bugzilla"
	"mishap/tracker/debian"
	"mishap/tracker/forgejo"
	"mishap/tracker/github"
	"mishap/tracker/gitlab"
	"mishap/tracker/launchpad"
)

// Launchpad is the kind of the first tracker, whose access token mishap obtains itself.
var Launchpad = &tracker.Kind{
	Name: crash.FirstTracker, Title: "Launchpad", Form: "distribution",
	Targets:  regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`),
	Address:  regexp.MustCompile(`/(?:bugs|\+bug)/([0-9]+)(?:[/?].*)?$`),
	MaxTitle: 200, MaxDescription: 50_000,
	Tags:    regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`),
	Private: "only the security team and subscribers", Settle: usual, New: returns(launchpad.New),
}

// All lists the kinds whose access token a person copies from the tracker's own pages.
var All = []*tracker.Kind{
	{
		Name: "bugzilla", Title: "Bugzilla", API: below("/rest"), New: returns(bugzilla.New),
		Search: "/buglist.cgi?quicksearch=ALL+{words}",
		Form:   "Product/Component", Targets: regexp.MustCompile(`^[^/]+/[^/]+(/[^/]+)?$`),
		Address:  regexp.MustCompile(`^/(?:show_bug\.cgi\?(?:.*&)?id=)?([0-9]+)(?:[&?].*)?$`),
		MaxTitle: 255, MaxDescription: 60_000, Tags: tracker.PlainTags, Private: "only the configured group", Settle: usual,
	},
	{
		Name: "debian", Title: "Debian", API: below("/cgi-bin/soap.cgi"), New: returns(debian.New), Mail: true,
		Search: "/cgi-bin/pkgreport.cgi?src={target}",
		Markup: "For Debian, mishap adds the pseudo-header (Package, Version) above the text itself.",
		Form:   "source package, or source/version", Targets: regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(/[\w.+:~%-]+)?$`),
		Address:  regexp.MustCompile(`^/(?:cgi-bin/bugreport\.cgi\?(?:.*&)?bug=)?([0-9]+)(?:[&?#].*)?$`),
		MaxTitle: 200, MaxDescription: 100_000, Tags: tracker.PlainTags,
		Settle: 5 * time.Minute, Late: 5 * 24 * time.Hour, Review: true, PerDay: 10, // relays give up after five days
	},
	{
		Name: "forgejo", Title: "Forgejo", API: below("/api/v1"), New: returns(forgejo.New), Hook: forgejo.Hook,
		Search: "/{target}/issues?state=all&q={words}",
		Markup: inCode("Forgejo"),
		Form:   "owner/name", Targets: repository, PerProject: true, Address: issue,
		MaxTitle: 255, MaxDescription: 60_000, Tags: tracker.PlainTags, Settle: usual,
	},
	{
		Name: "github", Title: "GitHub", API: gitHubAPI, New: returns(github.New), Hook: github.Hook,
		Search: "/{target}/issues?q={words}",
		Markup: inCode("GitHub"),
		Form:   "owner/name", Targets: repository, PerProject: true, Address: issue,
		MaxTitle: 255, MaxDescription: 60_000, Tags: tracker.PlainTags, Settle: github.Settle,
	},
	{
		Name: "gitlab", Title: "GitLab", API: below("/api/v4"), New: returns(gitlab.New), Hook: gitlab.Hook,
		Search: "/{target}/-/issues?state=all&search={words}",
		Markup: inCode("GitLab"),
		Form:   "group/project", Targets: regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+$`), PerProject: true,
		Address:  regexp.MustCompile(`^/(.+?)/(?:-/)?(?:issues|work_items)/([0-9]+)(?:[/?].*)?$`),
		MaxTitle: 255, MaxDescription: 200_000, Tags: tracker.PlainTags, Private: "only members of the project",
		Settle: usual,
	},
}

var (
	repository = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)
	issue      = regexp.MustCompile(`^/([^/]+/[^/]+)/issues/([0-9]+)(?:[/?].*)?$`)
)

func inCode(title string) string {
	return "For " + title + ", mishap puts the text into a code block, so that it is shown as it is."
}

// usual is the time after which no tracker works on a request any more.
const usual = 75 * time.Second

func below(path string) func(string) string { return func(pages string) string { return pages + path } }

// gitHubAPI returns the address of the API of github.com, or of a server of one's own.
func gitHubAPI(pages string) string {
	if pages == "https://github.com" {
		return "https://api.github.com"
	}
	return pages + "/api/v3"
}

// returns gives the constructor of a kind the type of Kind.New.
func returns[T tracker.Tracker](
	construct func(tracker.Config, *tracker.Credentials) T,
) func(tracker.Config, *tracker.Credentials) tracker.Tracker {
	return func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker { return construct(cfg, creds) }
}

// Named returns the kind with a name, or nil.
func Named(name string) *tracker.Kind {
	for _, k := range All {
		if k.Name == name {
			return k
		}
	}
	return nil
}
