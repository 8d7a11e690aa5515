package kinds_test

import (
	"context"
	"errors"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/kinds"
)

// TestChoose asks where bugs go, with routes to a tracker of the distribution, to one of upstream, and to one that is
// no longer in the configuration.
func TestChoose(t *testing.T) {
	t.Parallel()
	store := bugs.New(dbtest.Open(t, dbtest.URL(t)))
	member := func(name string, kind *tracker.Kind, target string, upstream bool) tracker.Member {
		cfg := tracker.Config{Name: name, Kind: kind, URL: "https://" + name + ".example", Target: target,
			Upstream: upstream}
		return tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)}
	}
	sites := tracker.NewSites(store, member("fedora", kinds.Named("bugzilla"), "Fedora/{source}/{release}", false),
		member("ubuntu", kinds.Launchpad, "ubuntu", false), member("gnome", kinds.Named("gitlab"), "", true))
	filer := tracker.NewFiler(tracker.Config{Log: dbtest.Log(t)}, store, sites)
	t.Cleanup(func() { filer.Close(context.WithoutCancel(t.Context())) })
	checktest.NoError(t, store.SaveRoutes(t.Context(), crash.Routes{
		{Package: "mutter", Tracker: "gnome", Target: "GNOME/{source}"},
		{Package: "gnome-*", Tracker: "gnome", Target: "GNOME"},
		{Package: "linux*", ProblemType: "KernelOops", Tracker: "fedora", Target: "Fedora/kernel"},
		{Package: "g++*", Tracker: "ubuntu"},
		{Package: "cups", Tracker: "gone"},
	}, "ines"))
	for _, tt := range []struct {
		source, problemType string
		upstream            bool
		where, code, route  string
	}{
		{"mutter", "Crash", false, "Fedora/mutter/42 in fedora", "", ""},
		{"mutter", "Crash", true, "GNOME/mutter in gnome", "", "mutter → gnome"},
		{"gnome-shell", "Crash", true, "", "bad_target", "gnome-* → gnome"},
		{"linux", "KernelOops", false, "Fedora/kernel in fedora", "", "linux*, KernelOops → fedora"},
		{"linux", "Crash", false, "Fedora/linux/42 in fedora", "", ""},
		{"linux", "Crash", true, "", "no_upstream", ""},
		{"g++-13", "Crash", false, "g++-13 in ubuntu", "", "g++* → ubuntu"},
		{"cups", "Crash", false, "", "no_tracker", "cups → gone"},
		{"cups", "Crash", true, "", "no_tracker", "cups → gone"},
	} {
		b := crash.Bucket{SourcePackage: tt.source, ProblemType: tt.problemType, LastSeenRelease: "Fedora 42"}
		got, err := filer.Choose(t.Context(), b, tt.upstream)
		code, where, route := "", "", ""
		if e, ok := errors.AsType[*crash.Error](err); ok {
			code = e.Code
		}
		if err == nil {
			where = got.Where()
		}
		if got.Route != (crash.Route{}) {
			route = got.Route.String()
		}
		if code != tt.code || where != tt.where || route != tt.route {
			t.Errorf("%s, %s, upstream %v: got %q, %q, %q, want %q, %q, %q", tt.source, tt.problemType, tt.upstream,
				where, code, route, tt.where, tt.code, tt.route)
		}
		to, err := filer.Destination(t.Context(), b, tt.upstream)
		if err == nil && to.Where() != tt.where || (err == nil) != (tt.code == "") {
			t.Errorf("%s: filing goes elsewhere: %v, %v", tt.source, to, err)
		}
	}
	for _, tt := range []struct {
		route crash.Route
		want  string
	}{
		{crash.Route{Package: "*", Tracker: "fedora"}, ""},
		{crash.Route{Package: "mutter", Tracker: "gnome", Target: "GNOME/{source}"}, ""},
		{crash.Route{Package: "*", Tracker: "gone"},
			`there is no tracker "gone" in the configuration. There is fedora, ubuntu, gnome.`},
		{crash.Route{Package: "*", Tracker: "gnome"},
			"the target is missing, and the configuration of gnome has none. Its form is group/project."},
		{crash.Route{Package: "*", Tracker: "gnome", Target: "{source}"},
			"“{source}” is no target in gnome, whose form is group/project."},
		{crash.Route{Package: "*", Tracker: "fedora", Target: "Fedora/{sourse}"},
			"the target “Fedora/{sourse}” has an unknown placeholder. There are {source}, {release} and {version}."},
		{crash.Route{Package: "*", Tracker: "ubuntu", Target: "Ubuntu Linux"},
			"“Ubuntu Linux” is no target in ubuntu, whose form is distribution."},
	} {
		checktest.Equal(t, tt.route.String()+" "+tt.route.Target, sites.CheckRoute(tt.route), tt.want)
	}
}
