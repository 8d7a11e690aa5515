package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

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
