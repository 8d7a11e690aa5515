package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash/sender"
)

// sendOptions are the flags of "mishap send".
type sendOptions struct {
	config, state, files string
	dryRun, id           bool
}

func (p *program) sendCommand() *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Sends this machine's crash reports to a mishap server",
		Long: `Sends the crashes of this machine to a mishap server, for machines without whoopsie. It reads those
that systemd-coredump describes in the journal, and apport's files in /var/crash, and runs until it is
stopped. It sends nothing unless /etc/mishap/send.toml names the server:

  server = "https://crashes.example.org"

That is the address of ingest_listen, as in whoopsie's CRASH_DB_URL. Reports hold the program, its
package, release, architecture, signal and time, the functions of its stack, and of apport's files also
messages and Python's traceback. They never hold the environment, the command line, folders, memory maps,
core dumps or the name of the machine. --dry-run shows them.

Reports wait in the state folder until the server has them, at most 200 for at most a month. Reading the
journal needs root or the group systemd-journal.`,
		Example: `  mishap send --dry-run
  mishap send --id
  mishap send`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.send(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.config, "config", config.SendFile, "the configuration `file` of this command")
	cmd.Flags().StringVar(&o.state, "state", "/var/lib/mishap-send", "the `folder` of reports that wait")
	cmd.Flags().StringVar(&o.files, "files", "/var/crash", "the `folder` of apport's files")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the reports that would be sent, and send nothing")
	cmd.Flags().BoolVar(&o.id, "id", false, "print the machine's id and how to have its reports erased")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "id")
	return cmd
}

func (p *program) send(ctx context.Context, o sendOptions) error {
	var server string
	if !o.id && !o.dryRun {
		var err error
		if server, err = sendServer(o.config); err != nil {
			return err
		}
	}
	id, err := sender.MachineID("/")
	if err != nil {
		return fmt.Errorf("find the machine's id: %w", err)
	}
	if o.id {
		p.printf("%s\n\nThe server knows this machine by this id. Its administrators can show and erase all reports\n"+
			"of it, at /user/ID/erase on its pages or with \"mishap system erase ID\".", id)
		return nil
	}
	c := sender.Config{Server: server, Machine: sender.ReadMachine("/"), ID: id, State: o.state, Files: o.files,
		Open: openCrashFile, Agent: "mishap-send/" + strings.Fields(versionText())[0]}
	if o.dryRun {
		n, err := sender.Preview(ctx, p.out, c)
		if err == nil && n == 0 {
			_, _ = fmt.Fprintln(p.err, "There is no report to send.")
		}
		return err
	}
	c.Log = newLog(p.err, slog.LevelInfo)
	s, err := sender.New(c)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// sendServer returns the server that the administrator of the machine has agreed to.
func sendServer(file string) (string, error) {
	address, err := config.LoadSend(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("nothing is sent, because %s does not exist; to agree, write into it: "+
			`server = "https://crashes.example.org"`, file)
	}
	if err != nil {
		return "", err
	}
	server, err := sender.ParseServer(address)
	if err != nil {
		return "", fmt.Errorf("%s: server: %w", file, err)
	}
	return server, nil
}
