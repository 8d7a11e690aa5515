package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/upkeep"
	adminview "mishap/views/admin"
)

func systemCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "system",
		Short: "Shows or erases everything that is known about a machine",
		Long: `Shows or erases everything that is known about a machine. HASH is the id under which the machine
sends reports: the last part of the address of its page, /user/HASH.`,
	}
	cmd.AddCommand(systemDumpCommand(p), systemEraseCommand(p), systemUnblockCommand(p))
	return cmd
}

func systemDumpCommand(p *program) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "dump HASH",
		Short: "Prints everything that is known about a machine as lines of JSON",
		Long: `Prints everything that is known about a machine as lines of JSON: reports with all fields, requests for
core dumps, how they were symbolised, what is counted, and records of the audit log that name the
machine. With --cores it also writes the core dumps of this data_dir to a folder. The audit log
records it.`,
		Example: "  mishap system dump HASH > machine.jsonl\n  mishap system dump HASH --cores cores > machine.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			out := bufio.NewWriter(p.out)
			system := crash.NewSystemID(s.args[0])
			if err := upkeep.NewErasing(s.store).Dump(ctx, system, "", out); err != nil {
				return "", err
			}
			if err := out.Flush(); err != nil || folder == "" {
				return "", err
			}
			return "", dumpCores(ctx, s.config, upkeep.NewErasing(s.store), system, folder)
		}),
	}
	cmd.Flags().StringVar(&folder, "cores", "", "also write core dumps to a `folder`")
	return cmd
}

// dumpCores writes the core dumps of a machine to a folder that only its owner can read.
func dumpCores(
	ctx context.Context, c config.Config, store *upkeep.Erasing, system crash.SystemID, folder string,
) error {
	stored, err := openCores(ctx, c)
	if err != nil {
		return err
	}
	ids, err := store.CoresOf(ctx, system, stored.ID())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, id := range ids {
		core, err := stored.Open(ctx, id)
		if errors.Is(err, fs.ErrNotExist) { // it was asked for, and has not arrived
			continue
		}
		if err != nil {
			return fmt.Errorf("core of %s: %w", id, err)
		}
		f, err := os.OpenFile(filepath.Join(folder, id.String()+".core"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.ReadFrom(core)
			err = errors.Join(err, f.Close())
		}
		if err = errors.Join(err, core.Close()); err != nil {
			return fmt.Errorf("core of %s: %w", id, err)
		}
	}
	return nil
}

func systemEraseCommand(p *program) *cobra.Command {
	var yes, block, asJSON bool
	cmd := &cobra.Command{
		Use:   "erase HASH --yes",
		Short: "Erases everything that is known about a machine",
		Long: `Erases everything that is known about a machine: its reports, core dumps, and what was counted from
them. All other counts stay exact. Without --yes it only says what would be erased.

It can be interrupted at any time. A running server continues it, or this command if called again.
The reports do not come back when the machine sends them again, or when a backup is restored. Later
crashes of the machine are accepted, unless --block is given. The receipt does not contain the
machine. Nothing is recorded, and the exit status is 1, if nothing is known of the machine, unless
--block is given. See docs/privacy.md.`,
		Example: "  mishap system erase HASH\n  mishap system erase HASH --yes --block",
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			system, machines := crash.NewSystemID(s.args[0]), upkeep.NewErasing(s.store)
			if err := machines.Known(ctx, system); err != nil && !block {
				return "", err
			}
			if !yes {
				facts, err := machines.Facts(ctx, system)
				return adminview.MachineFacts(facts) + "\n--yes erases it.", err
			}
			e, err := machines.Request(ctx, system, block, "")
			if err != nil {
				return "", err
			}
			return "", runErasure(ctx, p, s.config, machines, e, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "erase it")
	cmd.Flags().BoolVar(&block, "block", false, "refuse later reports of the machine")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the receipt as JSON")
	return cmd
}

// runErasure works on an erasure and prints its receipt.
func runErasure(ctx context.Context, p *program, c config.Config, machines *upkeep.Erasing, e crash.Erasure,
	asJSON bool) error {
	cores, err := openCores(ctx, c)
	if err != nil {
		return err
	}
	if e, err = machines.Work(ctx, e.ID, cores, nil); err != nil {
		if ctx.Err() != nil || db.IsArchiveAway(err) {
			p.printf("A running server continues it, or this command if called again.")
		}
		return err
	}
	if err := machines.WriteFile(ctx, c.DataDir); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(p.out).Encode(upkeep.NewErasureReceipt(e))
	}
	for _, line := range eraseReceipt(e) {
		p.printf("%s", line)
	}
	return nil
}

func systemUnblockCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "unblock HASH",
		Short: "Accepts reports again of a machine that was erased with --block",
		Long: `Accepts reports again of a machine that was erased with --block. The reports that were erased stay
erased, also when the machine sends them again.`,
		Example: "  mishap system unblock HASH",
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			was, err := upkeep.NewErasing(s.store).Unblock(ctx, crash.NewSystemID(s.args[0]), "")
			if err == nil && !was {
				err = crash.Errorf(crash.NotFound, "not_blocked", "This machine is not blocked.")
			}
			if err != nil {
				return "", err
			}
			return "", upkeep.NewErasing(s.store).WriteFile(ctx, s.config.DataDir)
		}),
	}
}

// readErasures reads what was erased, from everywhere it can be. A missing configuration is no error: the
// machine may be new.
func (r *restore) readErasures(cmd *cobra.Command) error {
	files := slices.Clone(r.beside)
	if c, err := r.program.config(cmd); err == nil {
		files = append(files, filepath.Join(c.DataDir, upkeep.ErasuresFile))
	}
	if r.erasures != "" {
		if _, err := os.Stat(r.erasures); err != nil {
			return err
		}
		files = append(files, r.erasures)
	}
	for _, name := range files {
		if err := r.erased.ReadFile(name); err != nil {
			return err
		}
	}
	return nil
}

// addErasures adds to the database what was erased after the backup.
func (r *restore) addErasures(ctx context.Context, tx pgx.Tx) error {
	_, err := r.erased.Add(ctx, tx)
	return err
}

// eraseAgain erases machines in a restored database, and their core dumps in a data directory, which may
// be empty. A server would continue it, and does so if an archive is away.
func (r *restore) eraseAgain(ctx context.Context, url, dataDir string) error {
	store, err := db.Open(ctx, db.Config{URL: url, Log: r.log})
	if err != nil {
		return err
	}
	defer store.Close()
	var cores upkeep.ErasedCores
	if dataDir != "" {
		cores = coreFiles{filepath.Join(dataDir, "cores"), filepath.Join(dataDir, "blobs", "cores")}
	}
	machines := upkeep.NewErasing(store)
	err = machines.Continue(ctx, cores)
	if db.IsArchiveAway(err) {
		r.program.printf("%s Machines that were erased after the backup are in the restored database until then; a "+
			"running server erases them.", db.Reason(err))
	}
	if err = db.UnlessAway(err); err != nil || dataDir == "" {
		return err
	}
	return machines.WriteFile(ctx, dataDir)
}

// coreFiles are folders with core dumps of any store.
type coreFiles []string

func (coreFiles) ID() string { return "" }

// Remove removes the core dump of a report from all folders.
func (f coreFiles) Remove(_ context.Context, id crash.OopsID) error {
	for _, folder := range f {
		if err := os.Remove(filepath.Join(folder, id.String()+".core")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// eraseReceipt is the receipt of a finished erasure. It does not contain the machine.
func eraseReceipt(e crash.Erasure) []string {
	const form = time.DateTime + " UTC"
	lines := []string{"The machine with the digest " + e.Digest + " is erased.",
		"Requested: " + e.Requested.UTC().Format(form) + ", by " + adminview.EraseAuthor(e) + ". Finished: " +
			e.Finished.UTC().Format(form) + ".",
		"Removed: " + adminview.ErasedCounts(e.Counts)}
	if e.Counts.Anonymous > 0 {
		lines = append(lines, crash.Counted(e.Counts.Anonymous, "report", "reports")+" that retention had dropped before "+
			"stay counted, without the machine.")
	}
	if e.Blocked {
		lines = append(lines, "Later reports of the machine are refused.")
	}
	return append(lines, "Backups that were taken before still contain it. Restoring one erases it again "+
		"(docs/privacy.md).")
}

func privacyCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "privacy",
		Short: "Shows and applies the classes of the fields of reports",
	}
	cmd.AddCommand(privacyTableCommand(p), privacyCheckCommand(p))
	return cmd
}

func privacyTableCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "table",
		Short: "Shows who may read which fields of reports",
		Long: `Prints the class of every known field, with the changes by privacy_fields: public, restricted (people
with a role), private (people with the right to private data) or secret (dropped on arrival). It uses
no database.`,
		Example: "  mishap privacy table | grep secret",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			w := newTable(p.out, "FIELD", "CLASS", "RESTRICTED EXCERPT", "CHANGED FROM")
			for _, row := range c.Privacy().Rows() {
				before := ""
				if row.Changed() {
					before = row.Before.String()
				}
				w.row(onOneLine(row.Name), row.Class, row.Excerpt, before)
			}
			w.row("(others)", c.Privacy().Unlisted(), "", "")
			return w.Flush()
		},
	}
}

func privacyCheckCommand(p *program) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "check [--apply]",
		Short: "Counts the secret and private fields of stored reports",
		Long: `Examines all stored reports, and prints how many have fields that are secret or private by the present
configuration, and which. It changes nothing without --apply, which removes the secret fields. Reports
of held problems keep theirs, and titles and signatures that were made from a field stay.

It may run while mishap serves, which has priority. It can be interrupted at any time: a running server
continues it, or this command if called again. The page /admin/data shows the progress.`,
		Example: "  mishap privacy check\n  mishap privacy check --apply",
		Args:    cobra.NoArgs,
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			kind := privacy.RunCheck
			if apply {
				kind = privacy.RunApply
			}
			return "", examineFields(ctx, p, upkeep.NewRetention(s.store, s.config.Privacy()), kind)
		}),
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "remove the secret fields")
	return cmd
}

// examineFields starts a run, or continues the one in progress if it is of the same kind.
func examineFields(ctx context.Context, p *program, store *upkeep.Retention, kind privacy.RunKind) error {
	run, err := store.Start(ctx, kind, store.Now(), "")
	if errors.Is(err, crash.Conflict) {
		refused := err
		runs, err := store.Runs(ctx, 1)
		if err != nil {
			return err
		}
		if len(runs) == 0 || runs[0].Kind != kind || !runs[0].Finished.IsZero() {
			return refused
		}
		run = runs[0]
	} else if err != nil {
		return err
	}
	bar := p.progressBar(100, "examining")
	run, err = store.Work(ctx, run.ID, func(now privacy.Run) { _ = bar.Set64(now.Percent()) })
	_ = bar.Finish()
	if err != nil {
		if ctx.Err() != nil || db.IsArchiveAway(err) {
			p.printf("Interrupted. A running server continues, or this command if called again.")
		}
		return err
	}
	p.printf("%s", run.Summary())
	w := newTable(p.out)
	for _, found := range []struct {
		class  privacy.Class
		counts map[string]int64
	}{{privacy.Secret, run.Found.Secret}, {privacy.Private, run.Found.Private}} {
		for _, f := range privacy.Sorted(found.counts) {
			w.row(found.class, f.Reports, onOneLine(f.Name))
		}
	}
	return w.Flush()
}
