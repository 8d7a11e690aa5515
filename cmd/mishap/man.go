package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand makes the command "man", with which packages are built.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR [local_config.default.toml]",
		Short: "Writes the manual pages into a folder",
		Long: `Writes a manual page (section 1) for each command into a folder and, from the commented configuration, the
page of the configuration file, mishap.toml(5). SOURCE_DATE_EPOCH is the date of the pages, in seconds
since 1970, so that two runs write the same bytes.`,
		Example: "  mishap man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			root.InitDefaultCompletionCmd()
			version, _, _ := strings.Cut(versionText(), "+")
			header := doc.GenManHeader{Section: "1", Source: "mishap " + version, Manual: "mishap"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return err
			}
			if err := completeManPages(root, args[0]); err != nil || len(args) == 1 {
				return err
			}
			// The title line has the date of all pages.
			first, err := os.ReadFile(filepath.Join(args[0], "mishap.1"))
			if err != nil {
				return err
			}
			title := manTitle.FindString(string(first))
			comments, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			title = strings.Replace(title, `.TH "MISHAP" "1"`, `.TH "MISHAP.TOML" "5"`, 1)
			return os.WriteFile(filepath.Join(args[0], "mishap.toml.5"), configPage(title, string(comments)), 0o644)
		},
	}
}

var manTitle = regexp.MustCompile(`(?m)^\.TH .*$`)

// Sections of the pages of commands.
const (
	manStatus = ".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nThe command failed, or found what it looks for; a message " +
		"says what.\n" +
		".TP\n2\nThe command line is wrong, and nothing was done.\n"
	manFiles = ".SH FILES\n.TP\n\\fIlocal_config.toml\\fP\nThe configuration, if it is in the present folder. See " +
		"mishap.toml(5).\n" +
		".TP\n\\fI/etc/mishap/config.toml\\fP\nThe configuration otherwise.\n" +
		".TP\n\\fIconfig.d/*.toml\\fP\nFiles beside the configuration that are read before it.\n" +
		".TP\n\\fI/var/lib/mishap\\fP\nThe data (data_dir) of Debian's package.\n"
	manEnvironment = ".SH ENVIRONMENT\n.TP\n\\fBMISHAP_\\fP\\fIKEY\\fP\nThe value of a key of mishap.toml(5), in " +
		"capitals " +
		"(MISHAP_LISTEN for listen). It overrides the files.\n" +
		".TP\n\\fBMISHAP_\\fP\\fIKEY\\fP\\fB_FILE\\fP\nThe name of a file that holds the value.\n" +
		".TP\n\\fBTMPDIR\\fP\nThe folder for temporary files; /tmp by default.\n" +
		".TP\n\\fBPATH\\fP\nWhere the programs of PostgreSQL and gdb are looked for first.\n"
)

// ownStatuses are the commands that describe statuses of their own.
var ownStatuses = []string{"mishap doctor", "mishap gate"}

// completeManPages adds the sections that all pages have to those of cmd and its subcommands.
func completeManPages(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := completeManPages(sub, dir); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	more := manStatus
	if slices.Contains(ownStatuses, cmd.CommandPath()) {
		more = ".SH EXIT STATUS\nSee DESCRIPTION.\n"
	}
	more += manFiles + manEnvironment
	at := len(page)
	for _, next := range []string{".SH SEE ALSO", ".SH EXAMPLE"} {
		if i := bytes.Index(page, []byte(next)); i >= 0 {
			at = i
		}
	}
	return os.WriteFile(path, slices.Concat(page[:at], []byte(more), page[at:]), 0o644)
}

var (
	configSection = regexp.MustCompile(`^# --- (.*?) -+$`)
	configKey     = regexp.MustCompile(`^([a-z_0-9]+) = (.*)$`)
)

// configPage returns the manual page of the configuration file, from local_config.default.toml: its comments
// explain the keys below them.
func configPage(title, commented string) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, "%s\n.SH NAME\nmishap.toml \\- configuration of mishap\n.SH SYNOPSIS\n"+
		"\\fIlocal_config.toml\\fP, \\fI/etc/mishap/config.toml\\fP, \\fIconfig.d/*.toml\\fP\n.SH DESCRIPTION\n", title)
	var words []string
	keys := false
	for line := range strings.Lines(commented) {
		line = strings.TrimRight(line, "\n")
		text, comment := strings.CutPrefix(line, "#")
		key := configKey.FindStringSubmatch(line)
		section := configSection.FindStringSubmatch(line)
		switch {
		case section != nil:
			if !keys {
				page.WriteString(".SH KEYS\n")
				keys = true
			}
			fmt.Fprintf(&page, ".SS %s\n", roff(section[1]))
		case comment && strings.TrimSpace(text) != "":
			words = append(words, roff(strings.TrimSpace(text)))
		case key != nil:
			fmt.Fprintf(&page, ".TP\n\\fB%s\\fP = %s\n%s\n", key[1], roff(key[2]), strings.Join(words, "\n"))
			words = nil
		case len(words) > 0: // a paragraph
			page.WriteString(strings.Join(words, "\n") + "\n.PP\n")
			words = nil
		}
	}
	page.WriteString(".SH FILES\n.TP\n\\fI/usr/share/doc/mishap/local_config.default.toml\\fP\nAll keys with these " +
		"texts, to copy " +
		"from.\n" + manEnvironment + ".SH SEE ALSO\nmishap(1), mishap\\-doctor(1)\n")
	return page.Bytes()
}

// roff escapes a line of text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
