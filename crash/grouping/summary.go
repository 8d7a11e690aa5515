package grouping

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/pytext"
)

// The largest lengths of the texts of a [crash.Summary], in code points. The database indexes these
// texts. Those of real machines are far shorter.
const (
	maxWord       = 64  // problem type, architectures, release (a longer one is ignored)
	maxName       = 128 // packages and versions
	maxTitle      = 1000
	maxExecutable = 4096 // PATH_MAX
	maxWords      = 8192 // of a field that is split into words
)

// SummaryOf returns the summary of a report. Package is the first word of the field Package, and
// Version the second, unless that is "(not installed)"; further words ([modified: …], [origin: …])
// are ignored. The package architecture "all" becomes the machine's, and "unknown" becomes empty.
// Title is apport's standard title, else the report's own, else one made by our grouping rules. All
// texts are truncated.
func SummaryOf(f crash.Fields) crash.Summary {
	name, version := "", ""
	if w := splitWords(f["Package"]); len(w) > 0 {
		name = w[0]
		if len(w) > 1 && !strings.HasPrefix(w[1], "(not") {
			version = w[1]
		}
	}
	machine := shortText(f["Architecture"])
	of := shortText(f["PackageArchitecture"])
	switch of {
	case "all":
		of = machine
	case "unknown":
		of = ""
	}
	title := StandardTitle(f)
	if _, oops := f["OopsText"]; oops && f["ProblemType"] == "KernelOops" {
		title = withoutStamp(title) // time stamps would make each title unique
	}
	if title == "" {
		title = f["Title"]
	}
	if title == "" {
		title = ownTitle(f)
	}
	return crash.Summary{
		ProblemType:         shortText(f["ProblemType"]),
		Title:               crash.Truncate(title, maxTitle),
		Executable:          crash.Truncate(f["ExecutablePath"], maxExecutable),
		Package:             crash.Truncate(name, maxName),
		Version:             crash.Truncate(version, maxName),
		SourcePackage:       crash.Truncate(pytext.FirstWord(f["SourcePackage"]), maxName),
		Release:             releaseIn(f["DistroRelease"]),
		Architecture:        machine,
		PackageArchitecture: of,
		AddressSignature:    crash.Truncate(AddressSignature(f), crash.MaxSignature),
		Proposed:            slices.Contains(splitWords(f["Tags"]), "package-from-proposed"),
	}
}

// releaseIn returns the release that a field names, or "" if the text is too long or not printable.
func releaseIn(text string) crash.Release {
	text = strings.TrimFunc(text, pytext.IsSpace)
	if len(text) > maxWord*utf8.UTFMax || utf8.RuneCountInString(text) > maxWord {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return ""
	}
	return crash.Release(text)
}

func splitWords(s string) []string {
	return strings.FieldsFunc(crash.Truncate(s, maxWords), pytext.IsSpace)
}

// shortText trims and truncates a short text.
func shortText(s string) string { return crash.Truncate(strings.TrimFunc(s, pytext.IsSpace), maxWord) }
