package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
)

// kinds says which kinds of instance a process is.
type kinds struct{ web, ingest bool }

func (p *program) serveCommand() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Runs the pages and takes reports",
		Long: `Runs mishap: the pages and the JSON API on the address "listen", reports from machines on
"ingest_listen", metrics and profiles on "ops_listen". With an empty
database_url it starts a private PostgreSQL under data_dir first. The database schema is brought
up to date; several instances may start at once.

SIGINT (Ctrl-C) and SIGTERM stop it: nothing new is taken, what was accepted is finished, calls
to the bug tracker get a little time to end. A second signal stops it at once; nothing that was
acknowledged is lost by that.

With --only the process is an instance of one kind, so that pages and reports can be served by
different machines on one database_url.`,
		Example: `  mishap serve
  MISHAP_DATABASE_URL=postgres://mishap@db/mishap mishap serve --only ingest`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k := kinds{web: only != "ingest", ingest: only != "web"}
			if only != "" && k.web == k.ingest {
				return &usageError{fmt.Errorf("--only: expected web or ingest, got %q", only), cmd.CommandPath()}
			}
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), c, k)
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "run an instance of one kind: web or ingest")
	return cmd
}

// serve runs an instance until ctx ends, then stops it in good order. It returns nil after a good
// stop.
func (p *program) serve(ctx context.Context, c config.Config, k kinds) (err error) {
	log := newLog(p.err, slog.LevelInfo)
	log.InfoContext(ctx, "starting", "version", versionText(), "config", c)
	p.warn(ctx, c, log)
	database, err := openDatabase(ctx, c, true, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	listeners, err := p.openListeners(ctx, c, k)
	if err != nil {
		return err
	}
	defer listeners.close()
	i := newInstance(c, listeners, log)
	defer i.stopServers()
	if i.store, err = i.openStore(ctx, database.url); errors.Is(err, errStoppedWaiting) {
		return nil
	} else if err != nil {
		return err
	}
	defer i.store.Close()
	i.disk = database.watch(c.DataDir)
	if err := i.build(); err != nil {
		return err
	}
	p.banner(c, listeners, database)
	return i.run(ctx)
}

// maxConns is the maximum of connections to the database of one process. The writers of reports
// need two, the job queue and the background tasks up to five; the rest is for pages.
const maxConns = 16

// listeners are those of a process; nil: not this kind of instance.
type listeners struct{ web, ingest, ops net.Listener }

func (p *program) openListeners(ctx context.Context, c config.Config, k kinds) (*listeners, error) {
	var l listeners
	var err error
	open := func(wanted bool, key, address string, into *net.Listener) {
		if !wanted || err != nil {
			return
		}
		var opened net.Listener
		if opened, err = p.listen(ctx, key, address); err == nil {
			*into = opened
		}
	}
	open(k.web, "listen", c.Listen, &l.web)
	open(k.ingest, "ingest_listen", c.IngestListen, &l.ingest)
	open(true, "ops_listen", c.OpsListen, &l.ops)
	if err != nil {
		l.close()
		return nil, err
	}
	return &l, nil
}

// close closes the listeners that no server has closed.
func (l *listeners) close() {
	for _, one := range []net.Listener{l.web, l.ingest, l.ops} {
		if one != nil {
			_ = one.Close() // mostly closed by its server already
		}
	}
}

// banner tells the person at the terminal where everything is.
func (p *program) banner(c config.Config, l *listeners, database *database) {
	p.say("mishap %s is running.\n", versionText())
	if l.web != nil {
		p.say("  pages               %s", c.BaseURL)
	}
	if l.ingest != nil {
		p.say("  machines post to    %s", httpAddress(l.ingest.Addr().String()))
	}
	p.say("  metrics             %s/metrics", httpAddress(l.ops.Addr().String()))
	if database.server != nil {
		p.say("  private PostgreSQL  %s", database.server.Dir())
	}
	if notice := database.notice(); notice != "" {
		p.say("\n%s", notice)
	}
	p.say("\nCtrl-C stops it.")
}

// httpAddress is how an address that is listened on can be reached from this machine.
func httpAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// warn says what is allowed and yet probably a mistake.
func (p *program) warn(ctx context.Context, c config.Config, log *slog.Logger) {
	for _, stray := range config.StrayVariables(p.environ) {
		log.WarnContext(ctx, "environment: "+stray)
	}
	for _, k := range []struct{ name, address, danger string }{
		{"base_url", c.BaseURL, "passwords and sessions cross the network readable"},
		{"tracker_url", c.TrackerURL, "the tracker's secrets cross the network readable"},
		{"tracker_api_url", c.TrackerAPIURL, "the access token crosses the network readable"},
	} {
		if u, err := url.Parse(k.address); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			log.WarnContext(ctx, k.name+" is http on another machine: "+k.danger+"; use https", k.name, k.address)
		}
	}
	info, err := os.Stat(c.File)
	if err == nil && info.Mode().Perm()&0o077 != 0 && c.SecretsInFile() {
		log.WarnContext(ctx, "the configuration file holds secrets and others can read it; chmod 600 it", "file", c.File)
	}
}
