// Command devtool is for those who work on mishap and for those who try it out: a demonstration with everything in it,
// sample reports, a practice bug tracker, measurements. It is not needed to run mishap.
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
		os.Exit(exit.ExitCode()) // the command that was run has said what went wrong
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
	root.AddCommand(benchCommands()...)
	root.AddCommand(demoCommand(), seedCommand(), loadCommand(), trackerCommand(), galleryCommand(), postgresCommand(), testCommand())
	return root
}
