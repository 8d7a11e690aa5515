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
)

// kinds says which kinds of unit a process is.
type kinds struct{ web, ingest bool }

func (p *program) serveCommand() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Runs the pages and takes reports",
		Long: `Runs mishap: the pages and the JSON API on the address "listen", the door for machines that
report crashes on "ingest_listen", metrics and profiles on "ops_listen". With an empty
database_url it starts a private PostgreSQL under data_dir first. The database schema is brought
up to date; several units may start at once.

SIGINT (Ctrl-C) and SIGTERM stop it: nothing new is taken, what was accepted is finished, calls
to the bug tracker get a little time to end. A second signal stops it at once; nothing that was
acknowledged is lost by that.

With --only the process is a unit of one kind, so that pages and reports can be served by
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
	cmd.Flags().StringVar(&only, "only", "", "run a unit of one kind: web or ingest")
	return cmd
}

// serve runs the units until ctx ends, then stops them in good order. It returns nil after a good stop.
func (p *program) serve(ctx context.Context, c Config, k kinds) (err error) {
	log := newLog(p.err, slog.LevelInfo)
	log.InfoContext(ctx, "starting", "version", versionText(), "config", c)
	p.warn(ctx, c, log)
	database, err := openDatabase(ctx, c, true, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	doors, err := p.openDoors(ctx, c, k)
	if err != nil {
		return err
	}
	defer doors.close()
	u := newInstance(c, doors, log)
	defer u.stopServers()
	if u.store, err = u.openStore(ctx, database.url); errors.Is(err, errStoppedWaiting) {
		return nil
	} else if err != nil {
		return err
	}
	defer u.store.Close()
	u.disk = database.watch(c.DataDir)
	if err := u.build(); err != nil {
		return err
	}
	p.banner(c, doors, database)
	return u.run(ctx)
}

// maxConns is how many connections to the database one process holds at most. The writers of reports need two, the job
// queue and the watch over filings three; the rest is for pages.
const maxConns = 16

// doors are the listeners of a process; nil: not this kind of unit.
type doors struct{ web, ingest, ops net.Listener }

func (p *program) openDoors(ctx context.Context, c Config, k kinds) (*doors, error) {
	var d doors
	var err error
	open := func(wanted bool, key, address string, into *net.Listener) {
		if !wanted || err != nil {
			return
		}
		var l net.Listener
		if l, err = p.listen(ctx, key, address); err == nil {
			*into = l
		}
	}
	open(k.web, "listen", c.Listen, &d.web)
	open(k.ingest, "ingest_listen", c.IngestListen, &d.ingest)
	open(true, "ops_listen", c.OpsListen, &d.ops)
	if err != nil {
		d.close()
		return nil, err
	}
	return &d, nil
}

// close closes the listeners that no server has closed.
func (d *doors) close() {
	for _, l := range []net.Listener{d.web, d.ingest, d.ops} {
		if l != nil {
			_ = l.Close() // closed by its server already, mostly
		}
	}
}

// banner tells the person at the terminal where everything is.
func (p *program) banner(c Config, d *doors, database *database) {
	p.say("mishap %s is running.\n", versionText())
	if d.web != nil {
		p.say("  pages               %s", c.BaseURL)
	}
	if d.ingest != nil {
		p.say("  machines post to    %s", httpAddress(d.ingest.Addr().String()))
	}
	p.say("  metrics             %s/metrics", httpAddress(d.ops.Addr().String()))
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
func (p *program) warn(ctx context.Context, c Config, log *slog.Logger) {
	for _, stray := range strayVariables(p.environ) {
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
	info, err := os.Stat(c.file)
	if err == nil && info.Mode().Perm()&0o077 != 0 && c.secretsInFile() {
		log.WarnContext(ctx, "the configuration file holds secrets and others can read it; chmod 600 it", "file", c.file)
	}
}
