package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/embedded"
	"mishap/db/people"
	"mishap/db/upkeep"
	adminview "mishap/views/admin"
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
func (d *database) watch(dataDir string) *db.DiskWatch {
	w := db.NewDiskWatch()
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

// useStore sets the table of releases, migrates and opens the database, and closes it after do.
func useStore(ctx context.Context, c config.Config, log *slog.Logger, do func(*db.Store) error) (err error) {
	if err := setReleases(c, log); err != nil {
		return err
	}
	database, err := openDatabase(ctx, c, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	if err := db.Migrate(ctx, database.url, log); err != nil {
		return err
	}
	store, err := db.Open(ctx, db.Config{URL: database.url, Log: log, Privacy: c.Privacy(), Rights: c.Rights(),
		Partitions: db.PartitionsBy(c.ReportsPartitions), KeepBodies: c.KeepBodies})
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
	var all, repair bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Recounts stored reports and compares the counts",
		Long: `Recounts stored reports, in another way than on arrival, and compares the results with the stored
counts of problems, machines, versions, days and releases. By default it checks a new random sample
of problems and days. With --all it checks everything, which takes minutes for ten million reports.

It reads one snapshot, changes nothing, and may run while mishap serves. Exit status 1 means that
counts differ. The counts of reports that were dropped because of their age stay for ever and cannot
be recounted; the check then only verifies that they are large enough.

With --repair it first corrects the numbers of reports that are stored in full (keep_bodies_per_problem), of
all problems, and the counts by hour. It does not correct other counts.`,
		Example: `  mishap check
  mishap check --all
  mishap check --repair`,
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
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if repair {
				wrong, err := s.store.RepairBodies(ctx)
				if err != nil {
					return "", err
				}
				p.printf("Numbers of reports in full: %s corrected.", crash.Counted(int64(wrong), "month of a problem",
					"months of problems"))
				if wrong, err = s.store.RepairHours(ctx); err != nil {
					return "", err
				}
				p.printf("Counts by hour: %s corrected.", crash.Counted(int64(wrong), "day", "days"))
			}
			return "", p.check(ctx, s.store, scope)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything instead of a sample")
	cmd.Flags().BoolVar(&repair, "repair", false, "correct the numbers of reports in full, and the counts by hour")
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

// readingCommands are the commands that change nothing in the database. Others leave a record in the
// audit log. "mishap serve" records what people do.
var readingCommands = map[string]bool{
	"mishap access list": true, "mishap archive list": true,
	"mishap check": true, "mishap gate": true, "mishap inspect": true, "mishap serve": true,
	"mishap symbols list": true, "mishap token list": true, "mishap user list": true, "mishap version": true,
}

// actAs puts the actor of a command into its context.
func actAs(cmd *cobra.Command) {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	cmd.SetContext(audit.WithActor(cmd.Context(), &audit.Actor{Kind: audit.Command, Via: name,
		RequestID: cmd.CommandPath()}))
}

// recordCommand records a command that may have changed the database and has left no record itself.
func recordCommand(ctx context.Context, store *db.Store) error {
	a := audit.ActorOf(ctx)
	if a == nil || a.Kind != audit.Command || a.Recorded() || readingCommands[a.RequestID] {
		return nil
	}
	return store.AuditAlone(ctx, db.AuditEvent{Action: audit.CommandOther, Subject: a.RequestID})
}

func (p *program) auditCommand() *cobra.Command {
	var f audit.Filter
	var since, until string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Prints the audit log as lines of JSON",
		Long: `Prints records of the audit log as lines of JSON, newest first: who did what, from where, before and
after, and with which result (docs/operating.md). Days and times are UTC.`,
		Example: `  mishap audit --since 2026-11-01 --who ada
  mishap audit --action user.role --result refused
  mishap audit > audit.jsonl`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if f.Since, err = parseMoment(since, false); err == nil {
				f.Until, err = parseMoment(until, true)
			}
			if _, known := audit.Words(f.Action); f.Action != "" && !known {
				err = errors.New("--action: " + audit.UnknownAction(f.Action))
			}
			if f.Result != "" && f.Result != audit.Done && f.Result != audit.Refused {
				err = fmt.Errorf("--result: expected done or refused, got %q", f.Result)
			}
			return err
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if err := s.store.AuditAlone(ctx, db.AuditEvent{Action: "read.log"}); err != nil {
				return "", err
			}
			out := bufio.NewWriter(p.out)
			lines := json.NewEncoder(out)
			for record, err := range upkeep.NewAuditLog(s.store).All(ctx, f) {
				if err == nil {
					err = lines.Encode(record)
				}
				if err != nil {
					return "", err
				}
			}
			return "", out.Flush()
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "records from this `day` or time on, such as 2026-11-23 or 2026-11-23T14:00:00Z")
	flags.StringVar(&until, "until", "", "records up to this `day`, or before this time")
	flags.StringVar(&f.Person, "who", "", "records of this `name`: account, system user, rule or task")
	flags.StringVar(&f.Action, "action", "", "records of this `action`, such as user.role")
	flags.StringVar(&f.Object, "object", "", "records about this `object`: number of a problem or report, "+
		"account, address")
	flags.StringVar(&f.Address, "address", "", "records from this `address`")
	flags.StringVar(&f.Result, "result", "", "records with this `result`: done or refused")
	return cmd
}

// parseMoment parses a day or a time. The end of a day is the start of the next one.
func parseMoment(text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, fmt.Errorf("expected a day such as 2026-11-23 or a time such as 2026-11-23T14:00:00Z, got %q", text)
	}
	if end {
		t = t.AddDate(0, 0, 1)
	}
	return t, nil
}

// dataConfig reads the configuration for a command that uses data_dir. Root becomes the owner of
// data_dir first, because the owner could not use what root creates there.
func (p *program) dataConfig(cmd *cobra.Command) (config.Config, error) {
	c, err := p.config(cmd)
	if err != nil {
		return c, err
	}
	return c, p.becomeOwner(c.DataDir)
}

// becomeOwner makes the process of root one of the owner of an existing folder, for good. It does
// nothing if root owns the folder, if it is missing, and for other users. It returns Forbidden, with
// the command to run, if root lacks the right.
func (p *program) becomeOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if os.Geteuid() != 0 || err != nil {
		return nil //nolint:nilerr // whoever uses the folder reports the error
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	id := strconv.Itoa(int(owner.Uid))
	name, gid, groups, home := "#"+id, int(owner.Gid), []int{int(owner.Gid)}, "/"
	if u, err := user.LookupId(id); err == nil { // it may have no account, as in containers
		name, home = u.Username, u.HomeDir
		gid, _ = strconv.Atoi(u.Gid) // always a number on Unix
		groups = []int{gid}
		ids, _ := u.GroupIds() // without them, the account has fewer rights
		for _, text := range ids {
			if n, err := strconv.Atoi(text); err == nil && n != gid {
				groups = append(groups, n)
			}
		}
	}
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(owner.Uid))); err != nil {
		return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "%s belongs to %s, and root could not become that "+
			"user; run this as that user: sudo -u '%s' mishap …", dataDir, name, name).Because(err)
	}
	p.became = fmt.Sprintf("%s, who owns %s", name, dataDir)
	// As after starting with these rights: the sandbox of the debugger writes below /proc.
	return errors.Join(os.Setenv("HOME", home), unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
}

// regroupShown is the maximum number of moves that are listed.
const regroupShown = 40

func (p *program) regroupCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "regroup",
		Short: "Applies the grouping rules of this version to stored reports",
		Long: `Groups stored reports by the rules of this version of mishap, and moves those that now belong to
another problem, with their counts. New reports are stored meanwhile; while they arrive faster than
they are counted, regrouping pauses.

People's decisions stay: merged problems stay merged, and split reports stay split. If all reports
of a problem move, its address, bugs, notes and name move with them.

It can be interrupted at any time. A running server continues it, or this command if called again.
The page /admin/regroup shows the progress.`,
		Example: "  mishap regroup --dry-run\n  mishap regroup",
		Args:    cobra.NoArgs,
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return "", p.regroup(ctx, s.store, grouping.CurrentRules(), dry)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would move")
	return cmd
}

// regroup starts a run, or continues the one in progress, and prints its result.
func (p *program) regroup(ctx context.Context, store *db.Store, rules crash.GroupingRules, dry bool) error {
	run, err := db.NewDecisions(store).StartRegroup(ctx, rules.Version, dry, "")
	if errors.Is(err, crash.Conflict) {
		if run, err = db.NewDecisions(store).RunningRegroup(ctx); err == nil &&
			(run.Dry != dry || run.Rules != rules.Version) {
			return crash.Errorf(crash.Conflict, "another_run",
				"Another run of regrouping is under way (version %d of the rules%s); "+
					"wait for it, or stop it on the page /admin/regroup.",
				run.Rules, map[bool]string{true: ", a dry run"}[run.Dry])
		}
	}
	if err != nil {
		return err
	}
	bar := p.progressBar(100, "regrouping")
	run, err = db.NewDecisions(store).WorkRegroup(ctx, run.ID, rules,
		func(now crash.RegroupRun) { showProgress(bar, now) })
	_ = bar.Finish()
	if err != nil {
		if ctx.Err() != nil || db.IsArchiveAway(err) {
			p.printf("%s. A running server continues it, or this command if called again.", adminview.RegroupState(run))
		}
		return err
	}
	return p.printRegrouped(ctx, store, run)
}

func showProgress(bar *progressbar.ProgressBar, run crash.RegroupRun) {
	bar.Describe(adminview.RegroupState(run))
	_ = bar.Set64(adminview.RegroupPercent(run))
}

// printRegrouped lists what a run has moved, or would move.
func (p *program) printRegrouped(ctx context.Context, store *db.Store, run crash.RegroupRun) error {
	effect, err := db.NewDecisions(store).RegroupEffect(ctx, run)
	if err != nil {
		return err
	}
	moves, err := db.NewDecisions(store).RegroupMoves(ctx, run.ID, regroupShown+1)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.out, "Rules version %d: %s.\n%s\n",
		run.Rules, adminview.RegroupState(run), adminview.RegroupEffect(run, effect)); err != nil {
		return err
	}
	if len(moves) == 0 {
		return nil
	}
	w := newTable(p.out, "\nREPORTS", "FROM", "TO")
	for _, m := range moves[:min(len(moves), regroupShown)] {
		w.row(m.Reports, regroupEnd(m.From, m.FromLabel, false), regroupEnd(m.To, m.ToLabel, m.New))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(moves) > regroupShown {
		_, err = fmt.Fprintln(p.out, "… and more, all smaller.")
	}
	return err
}

// regroupEnd returns the problem that reports come from or go to.
func regroupEnd(id crash.BucketID, label string, isNew bool) string {
	if id == (crash.BucketID{}) {
		return "no problem"
	}
	out := id.String()[:8] + " " + onOneLine(crash.Shorten(label, 60))
	if isNew {
		out += " (new)"
	}
	return out
}
