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

// postgresCommand returns the command that runs another command with a throw-away PostgreSQL, which
// the tests of all packages share.
func postgresCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "postgres -- COMMAND [ARGUMENT…]",
		Short: "Runs a command with a throw-away PostgreSQL",
		Long: "Runs a command with TEST_DATABASE_URL set to a throw-away PostgreSQL, which it stops afterwards.\n" +
			"If TEST_DATABASE_URL is set already, it starts nothing.",
		Example: "  devtool postgres -- go test ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return besidePostgres(cmd.Context(), args)
		},
	}
}

func besidePostgres(ctx context.Context, args []string) error {
	return withPostgres(ctx, func(environ []string) error {
		command := exec.CommandContext(ctx, args[0], args[1:]...)
		command.Env, command.Stdin, command.Stdout, command.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		return command.Run()
	})
}

// withPostgres calls run with an environment in which TEST_DATABASE_URL names a server. It starts
// and stops one unless that variable is set already.
func withPostgres(ctx context.Context, run func(environ []string) error) (err error) {
	if os.Getenv("TEST_DATABASE_URL") != "" {
		return run(os.Environ())
	}
	server, err := dbtest.StartServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(context.WithoutCancel(ctx))) }()
	return run(append(os.Environ(), "TEST_DATABASE_URL="+server.URL()))
}
