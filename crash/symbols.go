package crash

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"mishap/crash/version"
)

// ProblemSymbols says how far a problem is symbolised.
type ProblemSymbols struct {
	Job     SymbolJob // that tells most; State empty: nothing was tried, and no core was asked for
	Missing []string  // paths of programs and libraries whose symbols or builds are missing
	Wanted  WantedCore
}

// WantedCore says that a person has asked for a core of a problem.
type WantedCore struct {
	Person string // empty: nobody has
	Asked  time.Time
}

// LacksNames reports whether a problem is a native crash whose functions have no names, or not all
// of them.
func (b Bucket) LacksNames() bool {
	return b.ProblemType == "Crash" && (b.Provisional || b.Rule == RuleStackPartial)
}

// MissingPaths returns the paths of the modules in the stack that lack a file.
func (j SymbolJob) MissingPaths() []string {
	var paths []string
	for _, m := range j.Modules {
		for _, s := range []*SymbolSearch{m.Executable, m.Debuginfo, m.Shared} {
			if m.Frames > 0 && s != nil && !s.Found {
				paths = append(paths, m.Path)
				break
			}
		}
	}
	return paths
}

// SymbolTotals counts the jobs that symbolise reports.
type SymbolTotals struct {
	States map[SymbolState]int64
	Oldest time.Time // creation of the job that has been queued for the longest time; zero: none is queued
}

// Wanting returns the number of jobs that wait for symbols.
func (t SymbolTotals) Wanting() int64 { return t.States[SymbolsWaiting] + t.States[SymbolsPartial] }

// SymbolQueueRow is a job in the queue.
type SymbolQueueRow struct {
	Report       OopsID
	Problem      BucketID // zero: the report is in no problem
	Title        string   // of the problem
	State        SymbolState
	Reason       string
	Architecture string
	Reports      int64 // of the problem
	Core         bool  // false: only addresses
	PressedBy    string
	Created      time.Time
	Started      time.Time // zero: no try has begun
	Ended        time.Time // zero: no try has ended
	NotBefore    time.Time // zero: not tried again by itself
}

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

const maxCommandFiles = 500

// packageFiles returns the file names of the packages that provide it, which lack the epoch of the
// version. It returns "" if they are unknown, or not packages of dpkg, whose files mishap does not read.
func (m MissingSymbol) packageFiles() string {
	text := m.Version
	if _, rest, ok := strings.Cut(text, ":"); ok {
		text = rest
	}
	if m.Release.VersionOrder() != version.Dpkg || !packageName.MatchString(m.Package) ||
		!fileVersion.MatchString(text) || !architecture.MatchString(m.Architecture) {
		return ""
	}
	of := "_" + text + "_" + m.Architecture
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

func shellQuoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// SymbolisedBy is the field that marks a report whose stack mishap has worked out.
const SymbolisedBy = "SymbolisedBy"

// CoreRequest describes the core dump that a report could be symbolised with.
type CoreRequest struct {
	Report       OopsID
	System       SystemID
	Problem      BucketID // bucket that the report arrives in, or see intake.Receipt
	Version      string   // of the package
	Architecture string   // of the machine
	Executable   string
	Packages     []string // binary and source package; empty ones are unknown
	Fields       Fields   // of the report: its body is stored if the core is wanted
	Quality      int      // of the report
}

// ReceivedCore describes a core dump that has arrived.
type ReceivedCore struct {
	Report       OopsID
	Architecture string
	Store        string // identity of the store that holds it
	Bytes        int64
}

// SymbolState says how far a report is symbolised. The names are stored in the database.
type SymbolState string

// The states.
const (
	SymbolsAsked   SymbolState = "asked" // a machine was asked for its core; not in the database
	SymbolsQueued  SymbolState = "queued"
	SymbolsRunning SymbolState = "running"
	SymbolsDone    SymbolState = "done"    // the frames that the signature needs have names
	SymbolsPartial SymbolState = "partial" // some of them have none
	SymbolsWaiting SymbolState = "waiting" // none has, a server did not answer, or a build is unknown
	SymbolsFailed  SymbolState = "failed"
	SymbolsExpired SymbolState = "expired" // the core was removed first
)

// SymbolClaim is a job that this instance works on.
type SymbolClaim struct {
	Report       OopsID
	Architecture string
	Addresses    bool // there is no core, only an address signature
	Attempt      int  // number of the claim; a result counts only if it is the latest
	Tries        int  // earlier tries that ended as partial or waiting
}

// SymbolCursor is a position in the changes of problems. The zero value is the beginning.
type SymbolCursor struct {
	Round   int64
	Problem BucketID
}

// SymbolOutcome is the result of one try to symbolise a report.
type SymbolOutcome struct {
	State   SymbolState // never queued or running
	Reason  string      // what people should know about the state, as a sentence; may be empty
	Fields  Fields      // apport's fields of the stacks; empty: none were found
	Modules []SymbolModule
	Missing []string       // files that would help, as BUILD-ID/executable or BUILD-ID/debuginfo
	Unknown []UnknownBuild // builds that would help
	Again   time.Duration  // after which the next try begins; 0: none by itself
	Engine  string         // the debugger with its version; empty: it did not run
	Seconds float64
	CPU     time.Duration
	Memory  int64 // bytes
}

// UnknownBuild is a program or library of a report whose build is not known.
type UnknownBuild struct {
	Path         string // with /usr, as packages name it
	Package      string // the binary package that holds it; empty: unknown
	Version      string // of this package on the machine; empty: unknown
	Architecture string
}

// BuildPlace is a place in the code of a build. What a debugger says about it includes the functions that the code
// left by a jump, on the way to the place that it has called.
type BuildPlace struct {
	Build  string // build-id
	Offset int64  // from the start of the module
	Callee int64  // offset of the place in the same module that it has called; -1: none
}

// SymbolModule is a program or library of a process that crashed, with the search for its files.
type SymbolModule struct {
	Path       string        `json:"path"`
	BuildID    string        `json:"build_id,omitempty"` // empty: unknown
	Frames     int           `json:"frames"`             // of the thread that crashed
	Executable *SymbolSearch `json:"executable,omitempty"`
	Debuginfo  *SymbolSearch `json:"debuginfo,omitempty"` // nil: in the program, or not looked for
	Shared     *SymbolSearch `json:"shared_debuginfo,omitempty"`
	SharedID   string        `json:"shared_build_id,omitempty"` // of debug information shared with other files
}

// SymbolSearch is the search for one file.
type SymbolSearch struct {
	Found    bool            `json:"found"`
	Origin   string          `json:"origin,omitempty"`
	Size     int64           `json:"size,omitempty"`
	Retry    bool            `json:"retry,omitempty"` // a later try may find it
	Searched []SymbolAttempt `json:"searched"`
}

// SymbolAttempt is the answer of one source of files.
type SymbolAttempt struct {
	Source  string `json:"source"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
}

// SymbolJob is what pages show about symbolising a report.
type SymbolJob struct {
	Report    OopsID
	State     SymbolState
	Reason    string
	Created   time.Time
	Ended     time.Time // zero: no try has ended
	NotBefore time.Time // zero: not tried again by itself
	Addresses bool      // there is no core, only an address signature
	CoreGone  bool
	Engine    string
	Modules   []SymbolModule
}

// SymbolWorker is an instance that symbolises, or says why it cannot.
type SymbolWorker struct {
	Store         string
	Architectures []string
	Problem       string // why it has no architectures; empty: no cores are wanted either
	Seen          time.Time
}
