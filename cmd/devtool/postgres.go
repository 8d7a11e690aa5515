package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"mishap/crash/sizetest"
	"mishap/db/dbtest"
)

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
	environ := append(os.Environ(), sizetest.Programs+"="+programs)
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
