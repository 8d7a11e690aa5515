// Command devtool helps people who develop or try mishap. It provides a complete demonstration,
// sample reports, a practice bug tracker and measurements. mishap does not need it to run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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
