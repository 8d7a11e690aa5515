package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
)

// demoCommand returns the command that `make run` runs.
func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Runs mishap with sample reports and a practice bug tracker",
		Long: `Runs mishap with everything needed to try it: a private PostgreSQL, a practice bug tracker that is not
connected yet, an account, and sample reports and bugs, which the first run loads. All data is in one
folder; remove it to start again. MISHAP_… variables are passed to the server.`,
		Example: "  devtool demo\n  MISHAP_LISTEN=127.0.0.1:9000 devtool demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.out, d.err, d.environ, d.symbolsAfter = cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Environ(), symbolsAfter
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&d.folder, "folder", "data/demo", "the `folder` for all data")
	cmd.Flags().StringVar(&d.tracker, "tracker", "127.0.0.1:8085",
		"`address` of the practice tracker; another one if it is in use")
	cmd.Flags().StringVar(&d.program, "mishap", besideMe("mishap"), "the mishap `program`")
	cmd.Flags().IntVar(&d.reports, "reports", 1500, "number of sample reports that the first run loads")
	return cmd
}

// besideMe returns the path of a program in the same folder as this one.
func besideMe(name string) string {
	me, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(me), name)
}

// demo is one run of the demonstration.
type demo struct {
	folder, tracker, program string
	reports                  int
	out, err                 io.Writer
	environ                  []string
	memory                   *memory
	symbolsAfter             time.Duration // time from the greeting to the debug files
}

const demoAccount = "demo"

func (d *demo) run(ctx context.Context) (err error) {
	if err := d.remember(); err != nil {
		return err
	}
	practice, err := startPractice(ctx, d.tracker, d.path("tracker.json"))
	if err != nil {
		return err
	}
	defer practice.close()
	server, at, err := d.serve(ctx, practice, crash.AccessToken{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := d.grant(ctx); err != nil {
		return err
	}
	if err := d.seed(ctx, at.ingest); err != nil {
		return err
	}
	if err := d.seedBugs(ctx, practice); err != nil {
		return err
	}
	sample := d.path("sample.bson")
	if err := os.WriteFile(sample, freshReport(d.reports, d.memory.SeedTime, time.Now()).BSON(), 0o644); err != nil {
		return err
	}
	if !d.memory.Named {
		if err := d.sendCrash(ctx, at.ingest); err != nil {
			return err
		}
	}
	d.greet(at, practice, sample)
	var naming sync.WaitGroup
	serving, stop := context.WithCancel(ctx)
	defer naming.Wait()
	defer stop()
	naming.Go(func() {
		if err := d.nameCrash(serving); err != nil && serving.Err() == nil {
			d.printf("The native crash stays without names: %v", err)
		}
	})
	select {
	case <-ctx.Done():
		d.printf("\nStopping.")
		return nil
	case <-server.ended:
		return server.failure()
	}
}

// remember creates the folder and reads the state of earlier runs.
func (d *demo) remember() (err error) {
	if d.folder, err = filepath.Abs(d.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(d.folder, 0o755); err != nil { // the database's user needs access to subfolders
		return err
	}
	d.memory, err = readMemory(d.path("demo.json"))
	return err
}

func (d *demo) path(name string) string { return filepath.Join(d.folder, name) }

func (d *demo) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format+"\n", args...) }

// greet prints the addresses and what to try.
func (d *demo) greet(at addresses, practice *practice, sample string) {
	d.printf(`
mishap is running, with sample reports and a practice bug tracker.

  open              %s
  sign in as        %s, password %s
  or with           Practice SSO, as one of four people
  practice tracker  %s
  machines post to  %s
  database          %s
  log               %s

To create bugs, first connect mishap to the practice tracker:

  1. Sign in, open  %s/admin/tracker  and press "Connect to Practice Launchpad".
  2. Follow the link to the practice tracker and press "Change Non-Private Data".
  3. Come back and press "I've authorised it – finish". Now Create works.

%sPost a report as a machine would, then reload the page:

  curl --data-binary @%s %s/machine-1

(The same report from the same machine counts only once; use machine-2 for a second one.)
Ctrl-C stops everything; the data stays in %s.`,
		at.base, demoAccount, d.memory.Password, practice.url, at.ingest, at.database, d.path("mishap.log"), at.base,
		d.watch(at), sample, at.ingest, d.places(at))
}

// places returns the folders that hold the data: that of the demonstration and, if it is elsewhere, that of
// the database.
func (d *demo) places(at addresses) string {
	if at.database == "" || strings.HasPrefix(at.database, d.folder+"/") {
		return d.folder
	}
	return d.folder + " and " + at.database
}

// watch says where to watch the native crash get its names, before it has them.
func (d *demo) watch(at addresses) string {
	_, path, err := nativeCrash(time.Now())
	if err != nil || d.memory.Named {
		return ""
	}
	if _, err := exec.LookPath("gdb"); err != nil {
		return fmt.Sprintf("A native crash has arrived as addresses. Install gdb, start again, and it gets names:\n\n"+
			"  %s%s\n\n", at.base, path)
	}
	return fmt.Sprintf(
		`Watch a native crash get its function names. It has arrived as addresses, and its debug files follow in
%.0f seconds. Sign in, then open this page:

  %s%s

`, d.symbolsAfter.Seconds(), at.base, path)
}
