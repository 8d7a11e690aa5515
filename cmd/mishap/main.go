// Command mishap collects crash reports, groups them into problems, shows the problems, and files
// bugs for them. This package parses the command line and wires the other packages together; it
// holds no rules of its own.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones of people, for machines without tzdata

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/symbols/sandbox"
)

// program is the environment of a command, which tests replace.
type program struct {
	in       io.Reader
	out, err io.Writer
	environ  []string // as from os.Environ
	listen   func(ctx context.Context, key, address string) (net.Listener, error)
	became   string // the user that root has become, see becomeOwner
}

func main() {
	sandbox.Child() // does not return in the process that becomes gdb
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(), listen: listenOn}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // unknown command or flag, wrong arguments
)

// statusError ends a command with an exit status of its own.
type statusError struct {
	err    error
	status int
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes the command line and returns the exit status. It prints errors to p.err.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if p.became != "" {
		defer func() { _, _ = fmt.Fprintf(p.err, "mishap: root acts as %s.\n", p.became) }()
	}
	status := exitFailed
	if own, ok := errors.AsType[*statusError](err); ok {
		status = own.status
	}
	if wrong, ok := errors.AsType[config.Mistakes](err); ok {
		_, _ = fmt.Fprintln(p.err, wrong.Error()) // each line names its position
		return status
	}
	if wrong, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintf(p.err, "mishap: %s\n\"%s --help\" shows the usage.\n", wrong, cmd.CommandPath())
		return exitUsage
	}
	switch {
	case errors.Is(err, errReported):
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		_, _ = fmt.Fprintln(p.err, "mishap: interrupted")
	default:
		_, _ = fmt.Fprintf(p.err, "mishap: %s\n", explain(err))
	}
	return status
}

// explain returns the message of an error for the terminal, with its cause on a second line.
func explain(err error) string {
	known, ok := errors.AsType[*crash.Error](err)
	if !ok {
		return err.Error()
	}
	if known.Err == nil {
		return known.Message
	}
	return known.Message + "\n  " + strings.Join(strings.Fields(known.Err.Error()), " ")
}

// errReported ends a command with status 1 after it has printed its errors.
var errReported = errors.New("reported already")

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mishap",
		Short: "Collects crash reports, groups them, and files bugs for them",
		Long: `mishap collects crash reports from Linux machines, groups them into buckets, shows the
buckets, and files a bug for a bucket in the external bug tracker.

Start it with "mishap serve". The configuration comes from local_config.toml, a copy of
local_config.default.toml, or else from /etc/mishap/config.toml, and from the environment
(MISHAP_LISTEN and so on).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          needsCommand,
		Version:       versionLine(),

		PersistentPreRun: func(cmd *cobra.Command, _ []string) { actAs(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().String("config", config.DefaultFile, "the configuration `file`")
	root.AddCommand(p.serveCommand(), p.importCommand(), p.inspectCommand(), p.migrateCommand(), p.userCommand(),
		p.accessCommand(), p.auditCommand(), systemCommand(p), tokenCommand(p), p.filingsCommand(), p.checkCommand(),
		doctorCommand{p}.command(), healthCommand(p),
		p.gateCommand(), p.regroupCommand(), privacyCommand(p), backupCommand(p), restoreCommand(p),
		upgradeCommand(p),
		p.symbolsCommand(), p.symboliseCommand(),
		p.setupOAuthTokenCommand(), p.versionCommand())
	root.AddCommand(manCommand(root))
	checkUsage(root)
	return root
}

// needsCommand is the action of a command that only has subcommands.
func needsCommand(cmd *cobra.Command, _ []string) error {
	_ = cmd.Help()
	return usageError{fmt.Errorf("%s needs one of the commands above", cmd.CommandPath())}
}

// checkUsage makes errors of flags, arguments and PreRunE usageErrors, in cmd and all its subcommands.
func checkUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	if check := cmd.Args; check != nil {
		more := cmd.PreRunE
		cmd.PreRunE = nil
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := errors.Join(check(c, args), c.ValidateFlagGroups())
			if err == nil && more != nil {
				err = more(c, args)
			}
			if err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		checkUsage(sub)
	}
}

// config reads the configuration that the command line names.
func (p *program) config(cmd *cobra.Command) (config.Config, error) {
	file, required := configFileOf(cmd)
	return config.Load(file, required, p.environ)
}

// configFileOf returns the configuration file, and whether it must exist.
func configFileOf(cmd *cobra.Command) (file string, required bool) {
	flag := cmd.Flags().Lookup("config")
	if _, err := os.Stat(config.DefaultFile); flag.Changed || err == nil {
		return flag.Value.String(), flag.Changed
	}
	if _, err := os.Stat(config.PackagedFile); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return config.PackagedFile, true
	}
	return config.DefaultFile, false
}

// version is set by the linker (-X main.version=…) to the content of the file VERSION and the
// commit in git. It is empty without the Makefile.
var version string

// versionText returns the version of this program, "0.1.0+3f2a9c1", or else the version of Go's
// build information.
func versionText() string {
	known := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		known = info.Main.Version
	}
	return cmp.Or(version, known, "unknown")
}

// versionLine returns what "mishap version" and "mishap --version" print.
func versionLine() string {
	return fmt.Sprintf("mishap %s (%s, %s/%s)", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Prints the version",
		Long:    "Prints the version of mishap and of the Go compiler that built it.",
		Example: "  mishap version",
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(p.out, versionLine())
			return err
		},
	}
}
