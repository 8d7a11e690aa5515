package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"mishap/db/dbtest"
)

// postgresCommand runs a command beside a throw-away PostgreSQL, so that the tests of all packages share one server.
func postgresCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "postgres -- COMMAND [ARGUMENT…]",
		Short:   "Runs a command beside a throw-away PostgreSQL",
		Long:    "Runs a command with TEST_DATABASE_URL set to a throw-away PostgreSQL, which it stops afterwards.\nA TEST_DATABASE_URL that is set already is kept, and nothing is started.",
		Example: "  devtool postgres -- go test ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return besidePostgres(cmd.Context(), args)
		},
	}
}

func besidePostgres(ctx context.Context, args []string) (err error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if os.Getenv("TEST_DATABASE_URL") == "" {
		server, startErr := dbtest.StartServer(ctx)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.Close(context.WithoutCancel(ctx))) }()
		command.Env = append(os.Environ(), "TEST_DATABASE_URL="+server.URL())
	}
	return command.Run()
}
