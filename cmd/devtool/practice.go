package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
)

// furtherTracker is a practice tracker of the demonstration besides Launchpad.
type furtherTracker struct {
	name, kind string
	port       string   // another one if it is in use
	target     string   // in the configuration
	options    string   // further lines of its table
	packages   []string // patterns of the sample packages whose bugs go there
	upstream   bool

	url string // once it runs
}

// furtherTrackers are the trackers that the demonstration adds to its configuration.
func furtherTrackers() []*furtherTracker {
	return []*furtherTracker{
		{name: "harbour", kind: "bugzilla", port: "8086", target: "Harbour Linux/tidewatch",
			options: "variant = \"header\"\n", packages: []string{"harbor", "keel", "quillpad"}},
		{name: "workshop", kind: "gitlab", port: "8087", target: "workshop/{source}", options: "upstream = true\n",
			packages: []string{"gannet", "lumen-shell", "reef", "wherry"}, upstream: true},
	}
}

// startFurther starts the practice trackers besides Launchpad, whose state is kept in the folder.
func (d *demo) startFurther(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	d.further = furtherTrackers()
	for _, f := range d.further {
		s := issuetest.NewServer(issuetest.Kinds[f.kind](), nil)
		if err := s.Keep(d.path(f.name + ".tracker")); err != nil {
			return stop, fmt.Errorf("practice tracker %s: %w", f.name, err)
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+f.port)
		if err != nil {
			l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		}
		if err != nil {
			return stop, fmt.Errorf("practice tracker %s: %w", f.name, err)
		}
		stops, f.url = append(stops, serveTracker(s, l)), s.URL
	}
	return stop, nil
}

// table returns the table of the tracker in the configuration.
func (f *furtherTracker) table() string {
	return fmt.Sprintf(`
[[tracker]]
name = %q
kind = %q
url = %q
target = %q
account = "mishap"
token = "secret-of-mishap"
timeout_seconds = 20
settle_seconds = 5
%s`, f.name, f.kind, f.url, f.target, f.options)
}

// addTables brings the tables of the practice trackers in a configuration up to date, and adds them if it has none.
func (d *demo) addTables(text string) string {
	tables := strings.Contains(text, "[[tracker]]")
	for _, f := range d.further {
		address := regexp.MustCompile(`(name = "` + f.name + `"\nkind = "` + f.kind + `"\nurl = ")http://127\.0\.0\.1:\d+"`)
		if text = address.ReplaceAllString(text, "${1}"+f.url+`"`); !tables {
			text += f.table()
		}
	}
	return text
}

// seedRoutes leads bugs of some sample packages to the further trackers, unless there are routes.
func (d *demo) seedRoutes(ctx context.Context) (err error) {
	if d.memory.Routed {
		return nil
	}
	store, closeStore, err := d.openStore(ctx)
	if err != nil {
		return fmt.Errorf("save sample routes: %w", err)
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	routes, err := bugs.New(store).Routes(ctx)
	if err == nil && len(routes) == 0 {
		for _, f := range d.further {
			for _, p := range f.packages {
				routes = append(routes, crash.Route{Package: p, Tracker: f.name})
			}
		}
		err = bugs.New(store).SaveRoutes(ctx, routes, demoAccount)
	}
	if err != nil {
		return fmt.Errorf("save sample routes: %w", err)
	}
	d.memory.Routed = true
	return d.memory.write()
}

// describe says where the tracker is, and which bugs go there.
func (f *furtherTracker) describe() string {
	what := "bugs"
	if f.upstream {
		what = "upstream bugs"
	}
	return fmt.Sprintf("  %-17s %s, %s of %s\n", "practice "+kinds.Named(f.kind).Title, f.url, what,
		strings.Join(f.packages, ", "))
}
