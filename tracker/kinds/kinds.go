// Package kinds lists the kinds of trackers whose access token a person copies from the tracker's own pages.
package kinds

import (
	"time"

	"mishap/tracker"
	"mishap/tracker/bugzilla"
	"mishap/tracker/debian"
	"mishap/tracker/forgejo"
	"mishap/tracker/github"
	"mishap/tracker/gitlab"
)

// Kind is a kind of tracker.
type Kind struct {
	Name    string                    // in commands: "gitlab"
	Title   string                    // for people
	API     func(pages string) string // address of its API, by that of its pages
	Project string                    // form of [tracker.Config.Target]
	Settle  time.Duration             // after an unknown outcome, the time until FindBug is sure
	New     func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker
}

// All lists all kinds.
var All = []Kind{
	{"bugzilla", "Bugzilla", below("/rest"), "Product/Component", usual, returns(bugzilla.New)},
	{"debian", "Debian", below("/cgi-bin/soap.cgi"), "source package", time.Hour, returns(debian.New)},
	{"forgejo", "Forgejo", below("/api/v1"), "owner/name", usual, returns(forgejo.New)},
	{"github", "GitHub", gitHubAPI, "owner/name", github.Settle, returns(github.New)},
	{"gitlab", "GitLab", below("/api/v4"), "group/project", usual, returns(gitlab.New)},
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
