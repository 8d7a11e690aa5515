package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/embedded"
	"mishap/tracker"
)

// seedConsumer is the consumer key that reads sample bugs. It differs from mishap's, so that mishap
// is not connected yet.
const seedConsumer = "mishap sample bugs"

// seedBugs creates the bugs of the stories on the first run: in the practice tracker, and with
// their states in the database. It continues an interrupted run.
func (d *demo) seedBugs(ctx context.Context, p *practice) (err error) {
	if d.memory.BugsSeeded {
		return nil
	}
	store, closeStore, err := d.openStore(ctx)
	if err != nil {
		return fmt.Errorf("link the sample bugs: %w", err)
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if err := store.WaitCounted(ctx); err != nil {
		return fmt.Errorf("link the sample bugs: %w", err)
	}
	token := p.TokenOf(seedConsumer, "READ_PRIVATE")
	settings := tracker.Config{URL: p.url, APIURL: p.url + "/devel", ConsumerKey: seedConsumer, Token: token,
		Target: "ubuntu", Log: slog.New(slog.DiscardHandler)}
	client := tracker.NewClient(settings, tracker.NewCredentials(settings, bugs.New(store)))
	for _, s := range stories(d.memory.SeedTime) {
		for i := range s.bugs {
			if err := d.seedBug(ctx, p, store, client, s, i); err != nil {
				return fmt.Errorf("sample bug of %s: %w", s.name, err)
			}
		}
	}
	p.Revoke(token.Token)
	if err := bugs.New(store).ForgetToken(ctx, crash.TrackerKey{URL: p.url, ConsumerKey: seedConsumer},
		demoAccount); err != nil {
		return err
	}
	d.memory.BugsSeeded = true
	return d.memory.write()
}

// seedBug files one bug of a story, links it, and stores its state.
func (d *demo) seedBug(ctx context.Context, p *practice, store *db.Store, client *tracker.Client, s story,
	i int) error {
	bug := s.bugs[i]
	bug.Title, bug.Package, bug.Tags = s.title(), s.name, []string{"noble"}
	bug.Description = fmt.Sprintf("Bug %d of %d that the demonstration has for %s.\n\nIt crashes in %s_%s().", i+1,
		len(s.bugs), s.name, s.name, s.function)
	number := int64(0)
	for _, b := range p.Bugs() {
		if b.Description == bug.Description {
			number = b.Number
		}
	}
	if number == 0 {
		number = p.Add(bug)
	}
	link := crash.Bug{Number: number, Title: bug.Title, URL: client.BugURL(number), By: demoAccount}
	if bug.InformationType != "" && bug.InformationType != "Public" {
		link.Title = ""
	}
	if _, err := bugs.New(store).LinkBug(ctx, s.bucket(), link); err != nil {
		return err
	}
	reading, err := client.ReadState(ctx, number)
	if err != nil {
		return err
	}
	return bugs.New(store).SaveBugReading(ctx, reading, "", 6*time.Hour)
}

// openStore opens the database of the running server.
func (d *demo) openStore(ctx context.Context) (*db.Store, func() error, error) {
	url, err := d.databaseURL()
	if err != nil {
		return nil, nil, err
	}
	stop := func() error { return nil }
	if url == "" {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: d.dataDir()})
		if err != nil {
			return nil, nil, err
		}
		url = server.URL()
		stop = func() error { return server.Stop(context.WithoutCancel(ctx)) }
	}
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return store, func() error { store.Close(); return stop() }, nil
}

// databaseURL returns the database_url of the server, which is empty for a private PostgreSQL.
func (d *demo) databaseURL() (string, error) {
	if url := variable(d.environ, "MISHAP_DATABASE_URL"); url != "" {
		return url, nil
	}
	if file := variable(d.environ, "MISHAP_DATABASE_URL_FILE"); file != "" {
		url, err := os.ReadFile(file)
		return strings.TrimRight(string(url), "\r\n"), err
	}
	config, err := os.ReadFile(d.configFile())
	if m := configuredDatabase.FindSubmatch(config); m != nil {
		return string(m[1]), nil
	}
	return "", err
}

var configuredDatabase = regexp.MustCompile(`(?m)^database_url *= *["'](.+)["']`)

// dataDir returns the data_dir of the server.
func (d *demo) dataDir() string {
	return cmp.Or(variable(d.environ, "MISHAP_DATA_DIR"), d.folder)
}
