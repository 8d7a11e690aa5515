package crash

import (
	"regexp"
	"strings"
	"unicode"
)

// MissingKind says what mishap lacks to name functions. The names are part of the API.
type MissingKind string

// The kinds.
const (
	MissingProgram   MissingKind = "executable" // a program or library
	MissingDebugFile MissingKind = "debuginfo"  // its debug file
	MissingBuild     MissingKind = "build"      // the build-id of a program or library
)

// MissingSymbol is something that reports without function names wait for.
type MissingSymbol struct {
	Kind         MissingKind
	Path         string // of the program or library; empty: unknown
	BuildID      string // empty for MissingBuild
	Package      string // binary package that provides it; empty: unknown
	Version      string // of the package; empty: unknown
	Architecture string
	Release      Release // of a report that waits for it; empty: unknown
	Reports      int64   // reports of the problems that wait for it
	Problems     int64
	Searched     []SymbolAttempt // where the file was searched; empty for MissingBuild
}

// Names of packages, versions and architectures in the file names of Debian packages.
var (
	packageName  = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	fileVersion  = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z+.~-]*$`)
	architecture = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	buildID      = regexp.MustCompile(`^[0-9a-f]{4,}$`)
)

// Command returns the command that adds what is missing, fit for a shell. It names packages if
// their names are known, and otherwise a file of a machine with the same build. It returns "" if
// neither is known, or if a name from a report is too long or not fit for a terminal.
func (m MissingSymbol) Command() string {
	files := m.packageFiles()
	switch {
	case files != "":
	case m.Kind == MissingProgram && strings.HasPrefix(m.Path, "/") && !strings.ContainsFunc(m.Path, unprintable):
		files = shellQuoted(m.Path)
	case m.Kind == MissingDebugFile && buildID.MatchString(m.BuildID):
		files = "/usr/lib/debug/.build-id/" + m.BuildID[:2] + "/" + m.BuildID[2:] + ".debug"
	}
	if files == "" || len(files) > maxCommandFiles {
		return ""
	}
	return "mishap symbols add " + files
}

// maxCommandFiles limits the names in a command, in bytes.
const maxCommandFiles = 500

// InPackage reports whether Command names a package.
func (m MissingSymbol) InPackage() bool { return m.packageFiles() != "" }

// packageFiles returns the file names of the packages that provide it, which lack the epoch of the
// version. It returns "" if they are unknown.
func (m MissingSymbol) packageFiles() string {
	version := m.Version
	if _, rest, ok := strings.Cut(version, ":"); ok {
		version = rest
	}
	if !packageName.MatchString(m.Package) || !fileVersion.MatchString(version) ||
		!architecture.MatchString(m.Architecture) {
		return ""
	}
	of := "_" + version + "_" + m.Architecture
	debug := m.Package + "-dbgsym" + of + ".ddeb"
	switch {
	case m.Package == "libc6":
		debug = "libc6-dbg" + of + ".deb"
	case strings.HasPrefix(string(m.Release), "Debian"):
		debug = m.Package + "-dbgsym" + of + ".deb"
	}
	switch m.Kind {
	case MissingProgram:
		return m.Package + of + ".deb"
	case MissingDebugFile:
		return debug
	case MissingBuild:
		return m.Package + of + ".deb " + debug
	}
	return ""
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

var plainWord = regexp.MustCompile(`^[0-9A-Za-z/_.,:+@%-]+$`)

// shellQuoted returns one word of a POSIX shell.
func shellQuoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
