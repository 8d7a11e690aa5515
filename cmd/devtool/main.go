// Command devtool helps people who develop or try mishap. It provides a complete demonstration,
// sample reports, a practice bug tracker and measurements. mishap does not need it to run.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/views/gallery"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode()) // the command has printed its error
	}
	fmt.Fprintln(os.Stderr, "devtool:", err)
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "devtool",
		Short:         "Tools for working on mishap and for trying it out",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(benchCommand(), demoCommand(), seedCommand(), loadCommand(), trackerCommand(), galleryCommand(),
		postgresCommand(), releaseNotesCommand())
	return root
}

// postgresCommand returns the command that runs another command with what the tests of all packages
// share.
func postgresCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "postgres -- COMMAND [ARGUMENT…]",
		Short: "Runs a command with a throw-away PostgreSQL",
		Long: `Runs a command with TEST_DATABASE_URL set to a throw-away PostgreSQL, which it stops afterwards. If
TEST_DATABASE_URL is set already, it starts none. The tests also share a folder of crashing programs.`,
		Example: "  devtool postgres -- go test ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return besidePostgres(cmd.Context(), args)
		},
	}
}

func besidePostgres(ctx context.Context, args []string) (err error) {
	programs, err := os.MkdirTemp("", "mishap-programs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs) }()     // a temporary folder
	if err := os.Chmod(programs, 0o755); err != nil { // gdb runs as another user
		return err
	}
	environ := append(os.Environ(), checktest.Programs+"="+programs)
	if os.Getenv("TEST_DATABASE_URL") == "" {
		server, startErr := dbtest.StartServer(ctx)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.Close(context.WithoutCancel(ctx))) }()
		environ = append(environ, "TEST_DATABASE_URL="+server.URL())
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	return command.Run()
}

// progress returns a progress bar that is visible only at a terminal.
func progress(w io.Writer, steps int, what string) *progressbar.ProgressBar {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		w = io.Discard
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
}

// galleryCommand returns the command that serves pages and parts in every state until it is
// interrupted.
func galleryCommand() *cobra.Command {
	var listen, assetsDir string
	cmd := &cobra.Command{
		Use:   "gallery",
		Short: "Shows pages and parts in every state, with invented data",
		Long: `Shows pages and parts in every state: empty, partial, refused, without permission, overlong. It needs no
database and no account, and its buttons have no effect. The accessibility test checks the same pages.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var lc net.ListenConfig
			l, err := lc.Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return err
			}
			server := &http.Server{Handler: gallery.Handler(assetsDir), ReadHeaderTimeout: 10 * time.Second}
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(l) }()
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "The gallery is at http://%s\n", l.Addr())
			select {
			case err = <-ended:
			case <-cmd.Context().Done():
				if err := server.Close(); err != nil {
					return err
				}
				err = <-ended
			}
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8086", "`address` to listen on")
	cmd.Flags().StringVar(&assetsDir, "assets", "", "`folder` of assets to read on each request (assets/static); "+
		"empty: the built-in ones")
	return cmd
}

// releaseNotesCommand returns the command that prints the part of the changelog about a version.
func releaseNotesCommand() *cobra.Command {
	var file, address string
	cmd := &cobra.Command{
		Use:   "release-notes VERSION",
		Short: "Prints the notes of a version from CHANGELOG.md",
		Long: `Prints what CHANGELOG.md says about a version: what follows the heading "## VERSION", up to the next
one. With --link, relative links lead to that address instead, so that they work outside the source.
The version "unreleased" stands for the changes since the last version.`,
		Example: "  devtool release-notes 0.2.0 --link https://example.org/mishap/v0.2.0/",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			notes, err := releaseNotes(text, args[0], address)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			_, err = cmd.OutOrStdout().Write(notes)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "file", "CHANGELOG.md", "the changelog")
	cmd.Flags().StringVar(&address, "link", "", "the address that relative links lead to, with a final slash")
	return cmd
}

// relativeLink matches a link in Markdown that leads to a file of the source.
var relativeLink = regexp.MustCompile(`\]\(([A-Za-z0-9_][^):]*)\)`)

// releaseNotes returns the section of a changelog about a version, without its heading.
func releaseNotes(changelog []byte, version, address string) ([]byte, error) {
	var notes bytes.Buffer
	inside := false
	for line := range strings.Lines(string(changelog)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if inside {
				break
			}
			words := strings.Fields(heading) // a version, perhaps with a date
			inside = len(words) > 0 && strings.EqualFold(strings.Trim(words[0], "[]"), version)
			continue
		}
		if inside {
			notes.WriteString(line)
		}
	}
	text := bytes.TrimSpace(notes.Bytes())
	if len(text) == 0 {
		return nil, fmt.Errorf("there is nothing about %s", version)
	}
	if address != "" {
		text = relativeLink.ReplaceAll(text, []byte("]("+address+"$1)"))
	}
	return append(text, '\n'), nil
}
