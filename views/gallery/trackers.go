package gallery

import (
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
	bugsview "mishap/views/bugs"
)

// severalTrackers returns the page of trackers in every state.
func severalTrackers(launchpad bool) adminview.TrackerPage {
	works := crash.TokenHealth{Account: "mishap-bot", LastSuccess: now.Add(-time.Hour)}
	dead := crash.TokenHealth{Account: "mishap-bot", LastSuccess: now.AddDate(0, 0, -3), Dead: true,
		LastError: "The token was revoked.", LastErrorAt: now.Add(-time.Minute)}
	p := trackerPage(bugsview.TrackerPage{Connection: crash.Connection{Source: crash.FromDatabase, Token: "cMQ49S2ccX0s",
		Context: "None", Person: "ada", Since: now.AddDate(0, 0, -3), TokenHealth: works}}, true)
	p.HasLaunchpad = launchpad
	p.Trackers = []adminview.TrackerRow{
		{Name: "gnome", Title: "gnome", Kind: "GitLab", URL: "https://gitlab.gnome.org", Target: "GNOME/{source}",
			Upstream: true, PerMinute: 2, Connection: crash.Connection{Source: crash.FromConfiguration, TokenHealth: dead},
			Waiting: crash.WaitingFilings{Open: 12, Held: 12}, Problem: "gnome rejects the access token of mishap."},
		{Name: "kde", Title: "kde", Kind: "Bugzilla", URL: "https://bugs.kde.org", Upstream: true},
		{Name: "github", Title: "github", Kind: "GitHub", URL: "https://github.com", Upstream: true,
			Connection: crash.Connection{Source: crash.FromConfiguration, TokenHealth: works},
			Waiting:    crash.WaitingFilings{Open: 3, Held: 1, Reason: "github asks to wait. The bug will be filed then."}},
		{Name: "fedora", Title: "fedora", Kind: "Bugzilla", URL: "https://bugzilla.redhat.com", Target: "Fedora/{source}",
			First: !launchpad, Connection: crash.Connection{Source: crash.FromConfiguration, TokenHealth: works}},
		{Name: "debian", Title: "debian", Kind: "Debian", URL: "https://bugs.debian.org", Target: "{source}", Review: true,
			PerDay: 10, Mail: true, Connection: crash.Connection{Source: crash.FromConfiguration}},
	}
	if launchpad {
		p.Trackers = append(p.Trackers, adminview.TrackerRow{Name: "launchpad", Title: "Launchpad", Kind: "Launchpad",
			URL: "https://launchpad.net", Target: "ubuntu", First: true, Launchpad: true, Connection: p.Connection})
	}
	return p
}

func routeTrackers() []adminview.RouteTracker {
	return []adminview.RouteTracker{
		{Name: "launchpad", Title: "Launchpad", Form: "distribution", Target: "ubuntu"},
		{Name: "fedora", Title: "fedora", Form: "Product/Component", Target: "Fedora/{source}"},
		{Name: "gnome", Title: "gnome", Form: "group/project", Target: "GNOME/{source}", Upstream: true},
	}
}

// routesPage returns routes of every kind, with a question and a mistake.
func routesPage() adminview.RoutesPage {
	routes := crash.Routes{
		{Package: "linux*", ProblemType: "KernelOops", Release: "Fedora *", Tracker: "fedora", Target: "Fedora/kernel"},
		{Package: "mutter", Tracker: "gnome"},
		{Package: "gnome-shell-extension-appindicator-with-a-very-long-name", Tracker: "gnome", Target: "GNOME"},
		{Package: "kwin", Tracker: "kde", Target: "kwin/general"},
	}
	p := adminview.RoutesPage{
		Shell: shell("Where bugs go", admin), Trackers: routeTrackers(), Count: len(routes), Editing: true,
		Unknown: []crash.NameCount{{Name: "kde", Reports: 1}},
		Text:    routes.Text() + "[a,,,gnome,\n",
		Problem: "Line 6: the pattern has an unfinished bracket. * stands for any characters, \\[ for a bracket.",
		Try: adminview.RouteTry{Source: "mutter", ProblemType: "Crash", Release: "Fedora 42",
			Answer:   adminview.RouteAnswer{Where: "Fedora/mutter in fedora", Review: true},
			Upstream: adminview.RouteAnswer{Where: "GNOME/mutter in gnome", Route: routes[1], Line: 3, Version: "1.0-1"}},
	}
	for i, r := range routes {
		row := adminview.RouteRow{Route: r, Line: i + 2, Title: r.Tracker, Upstream: r.Tracker == "gnome"}
		p.Rows = append(p.Rows, row)
	}
	p.Rows[2].Problem = "“GNOME” is no target in gnome, whose form is group/project."
	p.Rows[3].Title = ""
	return p
}

// manyRoutes returns a table that is too long to be edited, after a file with a mistake.
func manyRoutes() adminview.RoutesPage {
	p := routesPage()
	p.Count, p.Editing, p.Text = 24_500, false, ""
	p.Try.Answer = adminview.RouteAnswer{Problem: "The route “kwin → kde” leads to a tracker that is not in this " +
		"instance's configuration. An administrator can change the route at /admin/routes, or add the [[tracker]] table.",
		Route: p.Rows[3].Route, Line: 5}
	p.Try.Upstream = adminview.RouteAnswer{None: true, Problem: "No route."}
	return p
}

// doorsPage returns doors and projects in several states.
func doorsPage() adminview.DoorsPage {
	const key = "0123456789abcdef0123456789abcdef"
	p := adminview.DoorsPage{Shell: shell("Doors", admin), Days: 7, Address: "https://crashes.example.org"}
	for _, door := range crash.Doors {
		p.Doors = append(p.Doors, adminview.DoorRow{Door: door})
	}
	p.Doors[1].Closed = crash.ClosedDoor{Door: crash.DoorABRT, Closed: now, By: "ada"}
	project := adminview.ProjectRow{Project: crash.Project{Number: 7, Name: "harbor", Source: "harbor-sync",
		Listed: true, Keys: []crash.ProjectKey{{Key: key, Created: now, LastUsed: now.Add(-time.Hour)},
			{Key: key, Created: now}}}}
	for i, outcome := range []string{"stored", "repeated", "dropped", "lost", "refused", "failed"} {
		c := crash.DoorCount{Outcome: outcome, Requests: int64(41_300 >> i), LastSeen: now.Add(-time.Minute)}
		if i >= 4 {
			c.Reason = "rate_per_address"
		}
		p.Doors[2].Add(c)
		project.Add(c)
	}
	revoked := crash.Project{Number: 8, Name: "a-program-with-a-rather-long-name", Source: "reef",
		Keys: []crash.ProjectKey{{Key: key, Created: now, Revoked: now}}}
	p.Projects = []adminview.ProjectRow{project, {Project: revoked}}
	p.PingDay = crash.Midnight(now).AddDate(0, 0, -1)
	p.Pings = []crash.PingCount{{Release: "Debian 13", Machines: 1204}, {Release: "Fedora 43", Machines: 310},
		{Machines: 7}}
	p.Installs = []stats.InstallDay{{Day: p.PingDay, Machines: 1_264_423, Releases: 4, Versions: 31,
		Source: "update server", Imported: now}}
	return p
}
