// Command mishap-send sends the crash reports of a machine to a mishap server. It is "mishap send" without
// the server: a small program that needs little memory.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/send"
)

// version is set by the linker (-X main.version=…).
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	v := cmp.Or(version, "unknown")
	cmd := send.Command("mishap-send", v, os.Stdout, os.Stderr)
	cmd.Version = v
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.CompletionOptions.DisableDefaultCmd = true
	status := 2 // the command line is wrong
	cmd.PreRun = func(*cobra.Command, []string) { status = 1 }
	if err := cmd.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "mishap-send: %s\n", err)
		os.Exit(status)
	}
}
