package grouping

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Longest texts of a [crash.Summary], in code points. They are indexed and shown in lists; what real machines send is far
// shorter.
const (
	maxWord       = 64  // problem type, architectures, release (a longer one is none)
	maxName       = 128 // packages and versions
	maxTitle      = 1000
	maxExecutable = 4096 // PATH_MAX
	maxWords      = 8192 // so much of a list of words is read
)

// SummaryOf takes from a report what lists show. Package is the first word of the field of that name and Version the
// second, unless that says "(not installed)"; the words behind them ([modified: …], [origin: …]) are not looked at. The
// package architecture "all" counts as the machine's and "unknown" as none. Title is apport's standard title, else the
// report's own, else one that our grouping rules make. Everything is cut to lengths that an index can hold.
func SummaryOf(f crash.Fields) crash.Summary {
	name, version := "", ""
	if w := words(f["Package"]); len(w) > 0 {
		name = w[0]
		if len(w) > 1 && !strings.HasPrefix(w[1], "(not") {
			version = w[1]
		}
	}
	machine := word(f["Architecture"])
	of := word(f["PackageArchitecture"])
	switch of {
	case "all":
		of = machine
	case "unknown":
		of = ""
	}
	title := StandardTitle(f)
	if _, oops := f["OopsText"]; oops && f["ProblemType"] == "KernelOops" {
		title = withoutStamp(title) // else no two oopses have the same title
	}
	if title == "" {
		title = f["Title"]
	}
	if title == "" {
		title = ownTitle(f)
	}
	return crash.Summary{
		ProblemType:         word(f["ProblemType"]),
		Title:               crash.Truncate(title, maxTitle),
		Executable:          crash.Truncate(f["ExecutablePath"], maxExecutable),
		Package:             crash.Truncate(name, maxName),
		Version:             crash.Truncate(version, maxName),
		SourcePackage:       crash.Truncate(pytext.FirstWord(f["SourcePackage"]), maxName),
		Release:             releaseIn(f["DistroRelease"]),
		Architecture:        machine,
		PackageArchitecture: of,
		AddressSignature:    crash.Truncate(AddressSignature(f), crash.MaxSignature),
		Proposed:            slices.Contains(words(f["Tags"]), "package-from-proposed"),
	}
}

// releaseIn returns the release that a field names. Text that is long or not printable names none.
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

func words(s string) []string { return strings.FieldsFunc(crash.Truncate(s, maxWords), pytext.IsSpace) }

// word trims a short text and cuts it.
func word(s string) string { return crash.Truncate(strings.TrimFunc(s, pytext.IsSpace), maxWord) }
