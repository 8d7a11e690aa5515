// Package kinds lists the kinds of trackers whose access token a person copies from the tracker's own pages.
package kinds

import (
	"mishap/tracker"
	"mishap/tracker/bugzilla"
	"mishap/tracker/gitlab"
)

// Kind is a kind of tracker.
type Kind struct {
	Name    string // in commands: "gitlab"
	Title   string // for people
	API     string // path of its API below the address of its pages
	Project string // form of [tracker.Config.Target]
	New     func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker
}

// All lists all kinds.
var All = []Kind{
	{"bugzilla", "Bugzilla", "/rest", "Product/Component", func(
		cfg tracker.Config, creds *tracker.Credentials,
	) tracker.Tracker {
		return bugzilla.New(cfg, creds)
	}},
	{"gitlab", "GitLab", "/api/v4", "group/project", func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker {
		return gitlab.New(cfg, creds)
	}},
}
