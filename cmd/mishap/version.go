package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=…) to the content of the file VERSION and the
// commit in git. It is empty without the Makefile.
var version string

// versionText returns the version of this program, "0.1.0+3f2a9c1", or else the version of Go's
// build information.
func versionText() string {
	known := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		known = info.Main.Version
	}
	return cmp.Or(version, known, "unknown")
}

// versionLine returns what "mishap version" and "mishap --version" print.
func versionLine() string {
	return fmt.Sprintf("mishap %s (%s, %s/%s)", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Prints the version",
		Long:    "Prints the version of mishap and of the Go compiler that built it.",
		Example: "  mishap version",
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(p.out, versionLine())
			return err
		},
	}
}
