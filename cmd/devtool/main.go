// Command devtool helps people who develop or try mishap. It provides a complete demonstration,
// sample reports, a practice bug tracker and measurements. mishap does not need it to run.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
	root.AddCommand(benchCommand(), demoCommand(), loadCommand(), galleryCommand(), postgresCommand(), trackerCommand())
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
		address, forget := sameAddress(server.URL())
		defer forget()
		environ = append(environ, "TEST_DATABASE_URL="+address)
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	return command.Run()
}

// sameAddress returns the address of a temporary server by way of a link that has the same name in each run of
// a checkout, so that Go remembers the results of tests whose package has not changed. While another run uses
// the link, it returns the address as it is.
func sameAddress(address string) (same string, forget func()) {
	u, err := url.Parse(address)
	if err != nil {
		return address, func() {}
	}
	query, checkout := u.Query(), sha256.New()
	folder, _ := os.Getwd() // if it fails, runs of all checkouts share a link
	_, _ = io.WriteString(checkout, folder)
	link := filepath.Join(os.TempDir(), fmt.Sprintf("mishap-tests-%d-%x", os.Getuid(), checkout.Sum(nil)[:6]))
	if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(link) // of a run that was killed
	}
	if os.Symlink(query.Get("host"), link) != nil {
		return address, func() {}
	}
	query.Set("host", link)
	u.RawQuery = query.Encode()
	return u.String(), func() { _ = os.Remove(link) }
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
			server := &http.Server{Addr: listen, Handler: gallery.Handler(assetsDir), ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(cmd.Context(), func() { _ = server.Close() })
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "The gallery is at http://%s\n", listen)
			if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8086", "`address` to listen on")
	cmd.Flags().StringVar(&assetsDir, "assets", "", "`folder` of assets to read on each request (assets/static); "+
		"empty: the built-in ones")
	return cmd
}
