// Package send is the command that sends the crash reports of a machine to a server. It is part of mishap, and
// a small program of its own for machines that need nothing else.
package send

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/sender"
)

// options are the flags.
type options struct {
	config, state, files string
	own, dryRun, id      bool
}

// program is a command with its name and its streams.
type program struct {
	name, version string
	out, err      io.Writer
}

// Command returns the command, for the given name in its parent or of the program.
func Command(name, version string, out, err io.Writer) *cobra.Command {
	p := program{name, version, out, err}
	called := name
	if name == "send" {
		called = "mishap send"
	}
	var o options
	cmd := &cobra.Command{
		Use:   name,
		Short: "Sends this machine's crash reports to a mishap server",
		Long: `Sends the crashes of this machine to a mishap server, for machines without whoopsie. It reads those
that systemd-coredump describes in the journal, the kernel's, and apport's files in /var/crash, and runs
until it is stopped. It sends nothing unless /etc/mishap/send.toml names the server:

  server = "https://crashes.example.org"
  users = ["ada", "1001"]

The server is the address of ingest_listen, as in whoopsie's CRASH_DB_URL. Without users, it sends the
crashes of all users, of services and of the kernel, else only those of these users. With --user, one user
sends their own crashes, as their own ~/.config/mishap/send.toml says.

Reports hold the program, its package, release, architecture, signal and time, the functions of its stack,
and of apport's files also messages and Python's traceback. They never hold the environment, the command
line, folders, memory maps or the name of the machine. --dry-run shows them. Of one program, it reports 5
crashes per hour and 20 per day. With "cores = true" in the file, it also sends core dumps that the server
asks for; they contain all that the program had in memory. With "ping = true", it says once a day that the
machine is there, with its release and architecture and nothing that names it.

Reports wait in the state folder until the server has them, at most 200 for at most a month. Reading the
journal needs root or the group systemd-journal. The package mishap-send has the same program without the
server, which needs less memory, and a service.`,
		Example: "  " + called + " --dry-run\n  " + called + " --id\n  " + called,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.own {
				if err := o.forUser(cmd); err != nil {
					return err
				}
			}
			return p.run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", configFile, "the configuration `file` of this command")
	cmd.Flags().StringVar(&o.state, "state", "/var/lib/mishap-send", "the `folder` of reports that wait")
	cmd.Flags().StringVar(&o.files, "files", "/var/crash", "the `folder` of apport's files")
	cmd.Flags().BoolVar(&o.own, "user", false,
		"send only the crashes of this user, who agrees in ~/.config/mishap/send.toml")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the reports that would be sent, and send nothing")
	cmd.Flags().BoolVar(&o.id, "id", false, "print the machine's id and how to have its reports erased")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "id")
	return cmd
}

// forUser changes the files that no flag names to those of the user.
func (o *options) forUser(cmd *cobra.Command) error {
	config, err := os.UserConfigDir()
	if err != nil {
		return err
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		state = filepath.Join(home, ".local/state")
	}
	for flag, to := range map[string]struct {
		value *string
		file  string
	}{
		"config": {&o.config, filepath.Join(config, "mishap/send.toml")},
		"state":  {&o.state, filepath.Join(state, "mishap-send")},
	} {
		if !cmd.Flags().Changed(flag) {
			*to.value = to.file
		}
	}
	return nil
}

func (p program) run(ctx context.Context, o options) error {
	s, err := load(o.config)
	if agreed := !errors.Is(err, fs.ErrNotExist); err != nil && (agreed || !o.dryRun && !o.id) {
		return err
	}
	id, err := sender.MachineID("/")
	if err != nil {
		return fmt.Errorf("find the machine's id: %w", err)
	}
	if o.id {
		return p.printID(s.Server, id)
	}
	c := sender.Config{Server: s.Server, Machine: sender.ReadMachine("/"), ID: id, State: o.state, Files: o.files,
		Pstore: "/var/lib/systemd/pstore", Power: "/sys/class/power_supply", CoresOnBattery: s.CoresOnBattery,
		Users: s.uids, Ping: s.Ping, Agent: "mishap-send/" + strings.Fields(p.version)[0]}
	if s.Cores {
		c.MaxCore = s.CoreMaxBytes
	}
	if o.own && s.Ping {
		return fmt.Errorf("%s: ping: only the sender of the whole machine says that it is there; remove the key",
			o.config)
	}
	if o.own {
		c.Users = []int64{int64(os.Getuid())}
	}
	if o.dryRun {
		n, err := sender.Preview(ctx, p.out, c)
		if err == nil && n == 0 {
			_, _ = fmt.Fprintln(p.err, "There is no report to send.")
		}
		return errors.Join(err, p.printPing(c))
	}
	// In the journal, each line has its time already.
	c.Log = slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	run, err := sender.New(c)
	if err != nil {
		return err
	}
	return run.Run(ctx)
}

// printPing prints what says that the machine is there, not among the reports.
func (p program) printPing(c sender.Config) error {
	body, err := json.Marshal(c.Machine.Ping())
	if err != nil {
		return err
	}
	when := `With "ping = true", it would also send this once a day`
	if c.Ping {
		when = "Once a day, it also sends this"
	}
	_, err = fmt.Fprintf(p.err, "%s, to %s/ping, without the machine's id: %s\n", when,
		cmp.Or(c.Server, "https://SERVER"), body)
	return err
}

// printID prints the machine's id and how to have its reports erased.
func (p program) printID(server string, id crash.SystemID) error {
	server = cmp.Or(server, "https://SERVER")
	_, err := fmt.Fprintf(p.out, `%s

The server knows this machine by this id. To have its reports erased, send this address to the
administrators of the server. It shows them what the server has of this machine, and erases it:

%s/user/%s/erase
`, id, server, id)
	return err
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
