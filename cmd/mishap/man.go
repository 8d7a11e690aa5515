package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand makes the command "man", with which packages are built.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Writes the manual pages into a folder",
		Long: `Writes a manual page (section 1) for each command into a folder. SOURCE_DATE_EPOCH is the date of the
pages, in seconds since 1970, so that two runs write the same bytes.`,
		Example: "  mishap man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			root.InitDefaultCompletionCmd()
			version, _, _ := strings.Cut(versionText(), "+")
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "mishap " + version, Manual: "mishap"}, args[0])
		},
	}
}
