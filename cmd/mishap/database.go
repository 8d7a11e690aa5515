package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/disk"
	"mishap/db/embedded"
	"mishap/db/people"
	"mishap/db/upkeep"
)

// stopTimeout is how long the private PostgreSQL may take to stop before it is killed.
const stopTimeout = 30 * time.Second

// database is the PostgreSQL that the configuration names, or the private one.
type database struct {
	url    string
	server *embedded.Server // nil: database_url is set
}

// openDatabase returns the database of database_url, or else the private one of data_dir, which it
// starts if necessary. If serving is set, it refuses a data_dir that another server uses.
func openDatabase(ctx context.Context, c config.Config, serving bool, log *slog.Logger) (*database, error) {
	if c.DatabaseURL != "" {
		return &database{url: string(c.DatabaseURL)}, nil
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: c.DataDir, Exclusive: serving, Log: log})
	if err != nil {
		return nil, err
	}
	return &database{url: server.URL(), server: server}, nil
}

// notice returns a sentence for the operator about the location of the database, or an empty
// string.
func (d *database) notice() string {
	if d.server == nil {
		return ""
	}
	return d.server.Notice()
}

// watch returns a watch of the disks of data_dir and of the private PostgreSQL. An external
// PostgreSQL reports a full disk itself.
func (d *database) watch(dataDir string) *disk.Watch {
	w := disk.NewWatch()
	w.Add("data_dir", dataDir, false)
	if d.server != nil {
		w.Add("database", d.server.Dir(), true)
	}
	return w
}

// close stops the private PostgreSQL if this process runs it, even after ctx has ended.
func (d *database) close(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return d.server.Stop(ctx)
}

// action is what a command does.
type action = func(*cobra.Command, []string) error

// configured returns the action of a command that uses data_dir.
func (p *program) configured(do func(ctx context.Context, args []string, c config.Config) error) action {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.dataConfig(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), args, c)
	}
}

// session is what a command that uses the database works with.
type session struct {
	args   []string
	config config.Config
	store  *db.Store
	people *people.Store
}

// stored returns the action of a command that uses the database. It prints the message that do returns.
func (p *program) stored(do func(context.Context, session) (message string, err error)) action {
	return p.configured(func(ctx context.Context, args []string, c config.Config) error {
		return useStore(ctx, c, newLog(p.err, slog.LevelWarn), func(store *db.Store) error {
			message, err := do(ctx, session{args, c, store, people.New(store)})
			if err != nil || message == "" {
				return err
			}
			_, err = fmt.Fprintln(p.out, message)
			return err
		})
	})
}

// useStore migrates and opens the database, and closes it after do.
func useStore(ctx context.Context, c config.Config, log *slog.Logger, do func(*db.Store) error) (err error) {
	database, err := openDatabase(ctx, c, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	if err := db.Migrate(ctx, database.url, log); err != nil {
		return err
	}
	store, err := db.Open(ctx, db.Config{URL: database.url, Log: log, Privacy: c.Privacy(), Rights: c.Rights()})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := do(store); err != nil {
		return err
	}
	return recordCommand(ctx, store)
}

func (p *program) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Migrates the database schema to this version",
		Long: `Migrates the schema of the database to this version. "mishap serve" does the same when it starts, so
this is only needed to migrate beforehand. Any number of instances may start at once: one migrates,
the others wait.

With an empty database_url it uses the private PostgreSQL of data_dir, and starts it if necessary
for as long as the command runs.`,
		Example: "  mishap migrate",
		Args:    cobra.NoArgs,
		RunE: p.configured(func(ctx context.Context, _ []string, c config.Config) error {
			return useStore(ctx, c, newLog(p.err, slog.LevelInfo), func(*db.Store) error {
				_, err := fmt.Fprintln(p.out, "The database schema is up to date.")
				return err
			})
		}),
	}
}

func upgradeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "upgrade-postgresql",
		Short: "Moves the private PostgreSQL to the newest installed version",
		Long: `Moves the private PostgreSQL of data_dir to the newest version of PostgreSQL that is installed, with
pg_upgrade. The server programs of the old version must still be installed, and mishap must not run.
The files of the old version stay beside the new ones, so the disk needs space for both. If the command
fails or is killed, the database is as it was.

With database_url, upgrade that server with its own tools. Where only one version is installed, as in
the container images, make a backup with the old one and restore it with the new one.`,
		Example: `  systemctl stop mishap && mishap upgrade-postgresql && systemctl start mishap`,
		Args:    cobra.NoArgs,
		RunE:    p.configured(p.upgradePostgreSQL),
	}
}

func (p *program) upgradePostgreSQL(ctx context.Context, _ []string, c config.Config) error {
	if c.DatabaseURL != "" {
		return crash.Errorf(crash.Conflict, "not_private", "database_url is set, so mishap does not run PostgreSQL here; "+
			"upgrade that server with its own tools.")
	}
	log := newLog(p.err, slog.LevelWarn)
	done, err := embedded.Upgrade(ctx, embedded.Config{DataDir: c.DataDir, Log: log})
	if err != nil {
		return err
	}
	if done.Old == "" {
		p.printf("The database belongs to PostgreSQL %d, and no newer version is installed.", done.To)
		return nil
	}
	p.printf("The database belongs to PostgreSQL %d now. The files of PostgreSQL %d stay in %s; remove them when you are "+
		"sure that you do not need them.", done.To, done.From, done.Old)
	if err := analyse(ctx, c, done.To, log); err != nil { // PostgreSQL does so by itself, later
		p.printf("Pages may be slow for some minutes, because the statistics for queries are not there yet: %v", err)
	}
	return nil
}

// analyse collects PostgreSQL's statistics for queries, which pg_upgrade leaves behind.
func analyse(ctx context.Context, c config.Config, major int, log *slog.Logger) error {
	tool, err := embedded.FindTool(ctx, "vacuumdb", major)
	if err != nil {
		return err
	}
	database, err := openDatabase(ctx, c, true, log)
	if err != nil {
		return err
	}
	_, err = embedded.RunTool(ctx, nil, tool, "--analyze-only", "--quiet", "--dbname="+database.url)
	if stopErr := database.close(ctx); err == nil {
		err = stopErr
	}
	return err
}

// checkExamples is the maximum number of printed differences of one kind.
const checkExamples = 10

func (p *program) checkCommand() *cobra.Command {
	scope := crash.CheckScope{Most: checkExamples}
	var all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Recounts stored reports and compares the counts",
		Long: `Recounts stored reports, in another way than on arrival, and compares the results with the stored
counts of problems, machines, versions, days and releases. By default it checks a new random sample
of problems and days. With --all it checks everything, which takes minutes for ten million reports.

It reads one snapshot, changes nothing, and may run while mishap serves. Exit status 1 means that
counts differ. The counts of reports that were dropped because of their age stay for ever and cannot
be recounted; the check then only verifies that they are large enough.`,
		Example: `  mishap check
  mishap check --all`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if scope.Buckets < 1 {
				return fmt.Errorf("--problems: expected a number above 0, got %d", scope.Buckets)
			}
			if all {
				scope.Buckets = 0
			}
			return nil
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) { return "", p.check(ctx, s.store, scope) }),
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything instead of a sample")
	cmd.Flags().IntVar(&scope.Buckets, "problems", 200, "number of problems in the sample, which has a tenth as many days")
	cmd.Flags().Int64Var(&scope.Seed, "seed", 0, "number that selects the sample; 0: a random one")
	cmd.MarkFlagsMutuallyExclusive("all", "problems")
	cmd.MarkFlagsMutuallyExclusive("all", "seed")
	return cmd
}

func (p *program) check(ctx context.Context, store *db.Store, scope crash.CheckScope) error {
	if err := store.WaitCounted(ctx); err != nil {
		return err
	}
	bar := p.progressBar(upkeep.CheckSteps, "recounting")
	result, err := upkeep.Check(ctx, store, scope, func() { _ = bar.Add(1) }) // errors of the bar do not matter
	_ = bar.Finish()
	if err != nil {
		return err
	}
	if err := p.printCheck(result); err != nil {
		return err
	}
	if result.Found > 0 {
		return errReported
	}
	return nil
}

func (p *program) printCheck(r crash.CheckResult) error {
	w := newTable(p.out)
	if len(r.Differences) > 0 {
		w.row("COUNT", "OF", "STORED", "RECOUNTED")
	}
	for _, d := range r.Differences {
		w.row(d.Count, d.Of, cmp.Or(d.Stored, "-"), cmp.Or(d.Recounted, "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Dropped != "" {
		p.printf("Reports of %s and before were dropped; their counts were only verified to be large enough.", r.Dropped)
	}
	if r.Expired != "" {
		p.printf("Counts by day have expired before %s; their sums were verified against the counts by version.", r.Expired)
	}
	_, err := fmt.Fprintf(p.out, "%d problems, %d reports and %d counts checked, %d differences\n",
		r.Buckets, r.Reports, r.Counts, r.Found)
	return err
}
