// Command mishap collects crash reports, groups them into problems, shows the problems, and files
// bugs for them. This package parses the command line and wires the other packages together; it
// holds no rules of its own.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	_ "time/tzdata" // time zones of people, for machines without tzdata

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/send"
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
		Version:       versionLine(),

		PersistentPreRun: func(cmd *cobra.Command, _ []string) { actAs(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().String("config", config.DefaultFile, "the configuration `file`")
	root.AddCommand(p.serveCommand(), p.importCommand(), p.inspectCommand(), p.migrateCommand(), p.userCommand(),
		p.accessCommand(), p.archiveCommand(),
		p.auditCommand(), systemCommand(p), tokenCommand(p), p.filingsCommand(), p.bugsCommand(),
		p.checkCommand(), doctorCommand{p}.command(), healthCommand(p),
		p.gateCommand(), p.installsCommand(), mcpCommand(p), p.regroupCommand(), p.similarCommand(), privacyCommand(p),
		send.Command("send", versionText(), p.out, p.err),
		backupCommand(p), restoreCommand(p),
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
	if cmd.HasSubCommands() {
		cmd.Args, cmd.RunE = cobra.NoArgs, needsCommand
	}
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

// table prints rows in aligned columns, when Flush is called, which returns the error.
type table struct{ *tabwriter.Writer }

// newTable returns a table with a row of headings, if there are any.
func newTable(w io.Writer, headings ...any) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(headings) > 0 {
		t.row(headings...)
	}
	return t
}

func (t table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t, "\t")
		}
		_, _ = fmt.Fprint(t, c)
	}
	_, _ = fmt.Fprintln(t)
}

// labelled prints outside text with a label, unless it is empty.
func (t table) labelled(label, value string) {
	if value != "" {
		t.row("  "+label, onOneLine(value))
	}
}

// dateTime returns a time for people, in UTC.
func dateTime(t time.Time) string { return t.UTC().Format(time.DateTime) }

func timeOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return dateTime(t)
}

// manCommand makes the command "man", with which packages are built.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR [local_config.default.toml]",
		Short: "Writes the manual pages into a folder",
		Long: `Writes a manual page (section 1) for each command into a folder and, from the commented configuration, the
page of the configuration file, mishap.toml(5). SOURCE_DATE_EPOCH is the date of the pages, in seconds
since 1970, so that two runs write the same bytes.`,
		Example: "  mishap man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			root.InitDefaultCompletionCmd()
			version, _, _ := strings.Cut(versionText(), "+")
			header := doc.GenManHeader{Section: "1", Source: "mishap " + version, Manual: "mishap"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return err
			}
			if err := completeManPages(root, args[0]); err != nil || len(args) == 1 {
				return err
			}
			// The title line has the date of all pages.
			first, err := os.ReadFile(filepath.Join(args[0], "mishap.1"))
			if err != nil {
				return err
			}
			title := manTitle.FindString(string(first))
			comments, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			title = strings.Replace(title, `.TH "MISHAP" "1"`, `.TH "MISHAP.TOML" "5"`, 1)
			return os.WriteFile(filepath.Join(args[0], "mishap.toml.5"), configPage(title, string(comments)), 0o644)
		},
	}
}

var manTitle = regexp.MustCompile(`(?m)^\.TH .*$`)

// Sections of the pages of commands.
const (
	manStatus = ".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nThe command failed, or found what it looks for; a message " +
		"says what.\n" +
		".TP\n2\nThe command line is wrong, and nothing was done.\n"
	manFiles = ".SH FILES\n.TP\n\\fIlocal_config.toml\\fP\nThe configuration, if it is in the present folder. See " +
		"mishap.toml(5).\n" +
		".TP\n\\fI/etc/mishap/config.toml\\fP\nThe configuration otherwise.\n" +
		".TP\n\\fIconfig.d/*.toml\\fP\nFiles beside the configuration that are read before it.\n" +
		".TP\n\\fI/var/lib/mishap\\fP\nThe data (data_dir) of Debian's package.\n"
	manSendFiles = ".SH FILES\n.TP\n\\fI/etc/mishap/send.toml\\fP\nThe configuration. Without it, nothing is sent.\n" +
		".TP\n\\fI/var/lib/mishap-send\\fP\nReports that wait, and what was sent.\n" +
		".SH ENVIRONMENT\n.TP\n\\fBHTTPS_PROXY\\fP, \\fBHTTP_PROXY\\fP, \\fBNO_PROXY\\fP\nThe proxy to send through, " +
		"and the servers without one.\n"
	manEnvironment = ".SH ENVIRONMENT\n.TP\n\\fBMISHAP_\\fP\\fIKEY\\fP\nThe value of a key of mishap.toml(5), in " +
		"capitals " +
		"(MISHAP_LISTEN for listen). It overrides the files.\n" +
		".TP\n\\fBMISHAP_\\fP\\fIKEY\\fP\\fB_FILE\\fP\nThe name of a file that holds the value.\n" +
		".TP\n\\fBTMPDIR\\fP\nThe folder for temporary files; /tmp by default.\n" +
		".TP\n\\fBPATH\\fP\nWhere the programs of PostgreSQL and gdb are looked for first.\n"
)

// ownStatuses are the commands that describe statuses of their own.
var ownStatuses = []string{"mishap doctor", "mishap gate"}

// completeManPages adds the sections that all pages have to those of cmd and its subcommands.
func completeManPages(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := completeManPages(sub, dir); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	more := manStatus
	if slices.Contains(ownStatuses, cmd.CommandPath()) {
		more = ".SH EXIT STATUS\nSee DESCRIPTION.\n"
	}
	if cmd.CommandPath() == "mishap send" {
		more += manSendFiles
	} else {
		more += manFiles + manEnvironment
	}
	at := len(page)
	for _, next := range []string{".SH SEE ALSO", ".SH EXAMPLE"} {
		if i := bytes.Index(page, []byte(next)); i >= 0 {
			at = i
		}
	}
	return os.WriteFile(path, slices.Concat(page[:at], []byte(more), page[at:]), 0o644)
}

var (
	configSection = regexp.MustCompile(`^# --- (.*?) -+$`)
	configKey     = regexp.MustCompile(`^([a-z_0-9]+) = (.*)$`)
)

// configPage returns the manual page of the configuration file, from local_config.default.toml: its comments
// explain the keys below them.
func configPage(title, commented string) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, "%s\n.SH NAME\nmishap.toml \\- configuration of mishap\n.SH SYNOPSIS\n"+
		"\\fIlocal_config.toml\\fP, \\fI/etc/mishap/config.toml\\fP, \\fIconfig.d/*.toml\\fP\n.SH DESCRIPTION\n", title)
	var words []string
	keys := false
	for line := range strings.Lines(commented) {
		line = strings.TrimRight(line, "\n")
		text, comment := strings.CutPrefix(line, "#")
		key := configKey.FindStringSubmatch(text) // in an example, it is a comment without a blank
		section := configSection.FindStringSubmatch(line)
		switch {
		case section != nil:
			if !keys {
				page.WriteString(".SH KEYS\n")
				keys = true
			}
			fmt.Fprintf(&page, ".SS %s\n", roff(section[1]))
		case key != nil && len(words) == 0: // explained above
			fmt.Fprintf(&page, ".br\n\\fB%s\\fP = %s\n", key[1], roff(key[2]))
		case key != nil:
			fmt.Fprintf(&page, ".TP\n\\fB%s\\fP = %s\n%s\n", key[1], roff(key[2]), strings.Join(words, "\n"))
			words = nil
		case comment && strings.TrimSpace(text) != "":
			words = append(words, roff(strings.TrimSpace(text)))
		case len(words) > 0: // a paragraph
			page.WriteString(strings.Join(words, "\n") + "\n.PP\n")
			words = nil
		}
		if strings.HasPrefix(text, "[[") { // the heading of an example ends a paragraph, too
			page.WriteString(strings.Join(words, "\n") + "\n.PP\n")
			words = nil
		}
	}
	page.WriteString(".SH FILES\n.TP\n\\fI/usr/share/doc/mishap/local_config.default.toml\\fP\nAll keys with these " +
		"texts, to copy " +
		"from.\n" + manEnvironment + ".SH SEE ALSO\nmishap(1), mishap\\-doctor(1)\n")
	return page.Bytes()
}

// roff escapes a line of text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
