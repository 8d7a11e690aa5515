package grouping

import (
	"iter"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Frame is one function call of a stack, with the columns of a table. Unknown values are empty or
// 0.
type Frame struct {
	Number   int    // as in the stack: 0 is where it crashed; in tracebacks, 0 is the outermost
	Address  string // "0x000055d000009234"
	Function string // "??" if unknown to the debugger; "<signal handler called>" for a signal handler
	Args     string // "row=0x0, cols=7"; may contain private data
	Module   string // the library or program: "/usr/lib/x86_64-linux-gnu/libc.so.6"
	File     string // the source file: "../src/parse.c"
	Line     int    // in File
	Code     string // the source line, in tracebacks

	at int // in threads and tracebacks: offset of its line
}

// Named reports whether the name of the function is known.
func (f Frame) Named() bool { return f.Function != "" && f.Function != "??" }

// Thread is one thread of a process.
type Thread struct {
	Number  int    // as in the debugger
	ID      string // of the kernel: "4311"
	Name    string // "gmain"
	Crashed bool   // its frames are those of the crash
	Frames  []Frame
}

// The limits of stacks, for hostile reports. Longer stacks are truncated, and longer texts end in
// "…".
const (
	maxFrames  = 500 // per stack
	maxThreads = 200
	maxCell    = 2000 // code points of one text of a frame
)

// Frames returns the stack of a native crash, from the crash outwards, with at most 500 frames. It
// reads Stacktrace, or StacktraceTop if that has more function names. It returns nil if there is no
// stack.
func Frames(f crash.Fields) []Frame {
	full, top := parseFrames(pytext.Lines(f["Stacktrace"])), topFrames(f["StacktraceTop"])
	if named(top) > named(full) || len(full) == 0 {
		return top
	}
	return full
}

func named(frames []Frame) (n int) {
	for _, f := range frames {
		if f.Named() {
			n++
		}
	}
	return n
}

// parseFrames parses the lines that begin with "#". It skips other lines, which show the values of
// variables.
func parseFrames(stack iter.Seq[string]) []Frame {
	var frames []Frame
	for line := range stack {
		if len(frames) == maxFrames {
			break
		}
		if number, rest, ok := cutNumber(line); ok {
			frames = append(frames, parseFrame(number, rest))
		}
	}
	return frames
}

func topFrames(top string) []Frame {
	var frames []Frame
	for line := range pytext.Lines(top) {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, parseFrame(len(frames), strings.TrimFunc(line, pytext.IsSpace)))
	}
	return frames
}

func cutNumber(line string) (number int, rest string, ok bool) {
	digits, found := strings.CutPrefix(line, "#")
	digits = pytext.Run(digits, pytext.IsDigit)
	if !found || digits == "" {
		return 0, "", false
	}
	rest = line[1+len(digits):]
	number, err := strconv.Atoi(digits)
	trimmed := strings.TrimFunc(rest, pytext.IsSpace)
	return number, trimmed, err == nil && trimmed != "" && !strings.HasPrefix(rest, trimmed)
}

// Threads returns the threads of ThreadStacktrace with their frames, in the order of the report; at
// most 200. It returns nil if there are none, or only the one that [Frames] returns.
func Threads(f crash.Fields) []Thread {
	var threads []Thread
	for at, line := range linesAt(f["ThreadStacktrace"], 0) {
		if head, ok := parseThread(line); ok {
			if len(threads) == maxThreads {
				break
			}
			threads = append(threads, head)
			continue
		}
		if len(threads) == 0 {
			continue
		}
		current := &threads[len(threads)-1]
		if number, rest, ok := cutNumber(line); ok && len(current.Frames) < maxFrames {
			frame := parseFrame(number, rest)
			frame.at = at
			current.Frames = append(current.Frames, frame)
		}
	}
	crashed := parseFrames(pytext.Lines(f["Stacktrace"]))
	same := func(a, b Frame) bool { a.at = b.at; return a == b }
	isCrashed := func(t Thread) bool { return len(crashed) > 0 && slices.EqualFunc(t.Frames, crashed, same) }
	if i := slices.IndexFunc(threads, isCrashed); i >= 0 {
		threads[i].Crashed = true
	}
	return threads
}

// parseThread parses `Thread 2 (Thread 0x7f22 (LWP 4312) "gmain"):`.
func parseThread(line string) (Thread, bool) {
	rest, found := strings.CutPrefix(line, "Thread ")
	digits := pytext.Run(rest, pytext.IsDigit)
	if !found || digits == "" || !strings.HasPrefix(rest[len(digits):], " (") {
		return Thread{}, false
	}
	number, err := strconv.Atoi(digits)
	if err != nil {
		return Thread{}, false
	}
	t := Thread{Number: number}
	if _, id, ok := strings.Cut(rest, "(LWP "); ok {
		t.ID = crash.Shorten(pytext.Run(id, pytext.IsDigit), maxCell)
	}
	if _, name, ok := strings.Cut(rest, `"`); ok {
		name, _, _ = strings.Cut(name, `"`)
		t.Name = crash.Shorten(name, maxCell)
	}
	return t, true
}

// parseFrame parses a frame as gdb prints it, without its number: "0x000055d000009234 in
// tide_parse_row (row=0x0) at ../src/parse.c:88", or "… () from /usr/lib/libc.so.6". Text that it
// cannot parse becomes the function.
func parseFrame(number int, text string) Frame {
	f := Frame{Number: number}
	if strings.HasPrefix(text, "0x") {
		if address, rest, ok := strings.Cut(text, " in "); ok && pytext.Run(address[2:], isHex) == address[2:] {
			f.Address, text = crash.Shorten(address, maxCell), strings.TrimFunc(rest, pytext.IsSpace)
		}
	}
	open := argumentsStart(text)
	if open < 0 {
		f.Function = crash.Shorten(text, maxCell)
		return f
	}
	end := argumentsEnd(text, open)
	f.Function = crash.Shorten(strings.TrimFunc(text[:open], pytext.IsSpace), maxCell)
	f.Args = crash.Shorten(text[open+1:end], maxCell)
	place := strings.TrimFunc(strings.TrimPrefix(text[end:], ")"), pytext.IsSpace)
	if module, ok := strings.CutPrefix(place, "from "); ok {
		f.Module = crash.Shorten(module, maxCell)
	}
	if file, ok := strings.CutPrefix(place, "at "); ok {
		f.File = file
		if i := strings.LastIndexByte(file, ':'); i >= 0 {
			if line, err := strconv.Atoi(file[i+1:]); err == nil && line >= 0 {
				f.File, f.Line = file[:i], line
			}
		}
		f.File = crash.Shorten(f.File, maxCell)
	}
	return f
}

// argumentsStart returns the index of the parenthesis that opens the arguments, or -1. It is the
// first one after a blank outside all brackets of the name, as in "std::function<void
// (int)>::operator() (this=0x0)". If brackets do not match, as in "operator< (a=1)", it is the
// first one after any blank.
func argumentsStart(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && i > 0 && s[i-1] == ' ' {
				return i
			}
			depth++
		case ')':
			depth--
		}
	}
	if i := strings.Index(s, " ("); i >= 0 {
		return i + 1
	}
	return -1
}

// argumentsEnd returns the index of the parenthesis that closes the arguments, ignoring those in
// quotation marks. If there is none, it returns the length of s.
func argumentsEnd(s string, open int) int {
	depth, quoted := 0, false
	for i := open; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	if i := strings.LastIndexByte(s, ')'); i > open {
		return i
	}
	return len(s)
}

// FrameDifference says how two stacks differ in one line of their comparison.
type FrameDifference int

// The differences.
const (
	SameFrame   FrameDifference = iota
	OtherPlace                  // the same function, at another place: line, file or module
	OnlyInFirst                 // a frame of the first stack only
	OnlyInSecond
)

// FramePair is one line of the comparison of two stacks. A frame of one stack only has no
// counterpart, which is nil.
type FramePair struct {
	First, Second *Frame
	Difference    FrameDifference
}

// maxCompared is the number of frames of each stack that CompareFrames aligns. The time that it
// takes grows with the square.
const maxCompared = 400

// CompareFrames aligns two stacks by the longest common subsequence of their functions. Frames
// without a name count as the same function if they are in the same module.
func CompareFrames(first, second []Frame) []FramePair {
	first, second = first[:min(len(first), maxCompared)], second[:min(len(second), maxCompared)]
	// common[i][j] is the length of the longest common subsequence of first[i:] and second[j:].
	common := make([][]int, len(first)+1)
	for i := range common {
		common[i] = make([]int, len(second)+1)
	}
	for i := len(first) - 1; i >= 0; i-- {
		for j := len(second) - 1; j >= 0; j-- {
			if sameFunction(first[i], second[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var pairs []FramePair
	i, j := 0, 0
	for i < len(first) || j < len(second) {
		switch {
		case i < len(first) && j < len(second) && sameFunction(first[i], second[j]):
			pair := FramePair{First: &first[i], Second: &second[j]}
			if !samePlace(first[i], second[j]) {
				pair.Difference = OtherPlace
			}
			pairs = append(pairs, pair)
			i, j = i+1, j+1
		case j == len(second) || i < len(first) && common[i+1][j] >= common[i][j+1]:
			pairs = append(pairs, FramePair{First: &first[i], Difference: OnlyInFirst})
			i++
		default:
			pairs = append(pairs, FramePair{Second: &second[j], Difference: OnlyInSecond})
			j++
		}
	}
	return pairs
}

func sameFunction(a, b Frame) bool {
	if a.Named() != b.Named() {
		return false
	}
	if !a.Named() {
		return path.Base(a.Module) == path.Base(b.Module)
	}
	return a.Function == b.Function
}

// samePlace reports whether two frames of one function are at the same place. A place that one of
// them lacks is no difference.
func samePlace(a, b Frame) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && path.Base(a) != path.Base(b) }
	return !differ(a.Module, b.Module) && !differ(a.File, b.File) && (a.Line == b.Line || a.Line == 0 || b.Line == 0)
}

// AnyFrames returns the frames of the crashed thread with their modules, or those of all parts of
// the traceback if there is no stack.
func AnyFrames(f crash.Fields) []Frame {
	if frames := Frames(f); len(frames) > 0 {
		return WithModules(frames, f["ProcMaps"])
	}
	return tracebackFrames(f)
}

func tracebackFrames(f crash.Fields) []Frame {
	var frames []Frame
	for _, part := range Tracebacks(f) {
		frames = slices.Concat(frames, part.Frames)
	}
	return frames
}

// LinkTemplates are addresses of pages about source packages, by distribution or release. They are
// sorted by length of name, longest first; the first one whose name is a prefix of the release
// applies.
type LinkTemplates []LinkTemplate

// LinkTemplate is an address that contains {source}, {version}, {tag}, {codename}, {file} or
// {line}. {tag} is the version in git tags of source packages: "%" for ":" and "_" for "~".
type LinkTemplate struct{ Release, Address string }

// DefaultSourceLinks are the built-in links to a line of a file of a source package.
const DefaultSourceLinks = "Debian https://sources.debian.org/src/{source}/{version}/{file}#L{line} " +
	"Ubuntu https://git.launchpad.net/ubuntu/+source/{source}/tree/{file}?h=applied/{tag}#n{line}"

// DefaultVersionLinks are the built-in links to a version of a source package.
const DefaultVersionLinks = "Debian https://snapshot.debian.org/package/{source}/{version}/ " +
	"Ubuntu https://launchpad.net/ubuntu/+source/{source}/{version}"

// ParseLinkTemplates parses pairs of a distribution or release and an address, separated by blanks:
// "Debian https://… Ubuntu 24.04 https://…". Its errors have the kind Invalid and are sentences for
// people.
func ParseLinkTemplates(text string) (LinkTemplates, error) {
	var all LinkTemplates
	var name []string
	for _, word := range strings.Fields(text) {
		if !strings.HasPrefix(word, "https://") && !strings.HasPrefix(word, "http://") {
			name = append(name, word)
			continue
		}
		plain := strings.NewReplacer("{source}", "x", "{version}", "x", "{tag}", "x", "{codename}", "x", "{file}", "x",
			"{line}", "1").Replace(word)
		if u, err := url.Parse(plain); err != nil || u.Host == "" || strings.ContainsAny(plain, "{}") {
			return nil, crash.Errorf(crash.Invalid, "bad_link",
				"%q is not an address with {source}, {version}, {tag}, {codename}, {file} and {line}", word)
		}
		if len(name) == 0 {
			return nil, crash.Errorf(crash.Invalid, "bad_link", "no distribution or release stands before %q", word)
		}
		all = append(all, LinkTemplate{strings.Join(name, " "), word})
		name = nil
	}
	if len(name) > 0 {
		return nil, crash.Errorf(crash.Invalid, "bad_link", "no address follows %q", strings.Join(name, " "))
	}
	slices.SortStableFunc(all, func(a, b LinkTemplate) int { return len(b.Release) - len(a.Release) })
	return all, nil
}

// For returns the template of a release, or an empty one.
func (l LinkTemplates) For(r crash.Release) LinkTemplate {
	for _, t := range l {
		if rest, ok := strings.CutPrefix(string(r), t.Release); ok && (rest == "" || rest[0] == ' ') {
			return t
		}
	}
	return LinkTemplate{}
}

// Version returns the address of a version of a source package, or "" if a value is missing.
func (l LinkTemplates) Version(r crash.Release, source, version string) string {
	return l.For(r).fill(r, source, version, "", 0)
}

// Source returns the address of a source line, or "" if a value is missing.
func (l LinkTemplates) Source(r crash.Release, at SourcePlace) string {
	if at.File == "" {
		return ""
	}
	return l.For(r).fill(r, at.Package, at.Version, at.File, at.Line)
}

func (t LinkTemplate) fill(r crash.Release, source, version, file string, line int) string {
	if t.Address == "" || source == "" || version == "" {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(file, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	tag := strings.NewReplacer(":", "%", "~", "_").Replace(version)
	return strings.NewReplacer(
		"{source}", url.PathEscape(source), "{version}", url.PathEscape(version), "{tag}", url.QueryEscape(tag), "{codename}",
		url.PathEscape(r.Codename()),
		"{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(line, 1)),
	).Replace(t.Address)
}

// SourcePlace is a line of a file of a source package.
type SourcePlace struct {
	Package, Version string
	File             string // relative to the package: "src/parse.c"; empty: unknown
	Line             int
}

// builtFrom matches build directories of Debian and Ubuntu in debug information.
var builtFrom = regexp.MustCompile(`^/(?:usr/src|build)/([a-z0-9][a-z0-9+.-]+?)-` +
	`((?:[0-9]+%3[aA])?[0-9][A-Za-z0-9.+~-]*)/(.+)$`)

// randomFolder matches temporary build directories:
// "/build/tidewatch-Ab3dE9/tidewatch-1.4.9/src/parse.c".
var randomFolder = regexp.MustCompile(`^/build/(?:reproducible-path/)?` +
	`(?:[a-z0-9][a-z0-9+.-]*-[A-Za-z0-9]{6}/)?([a-z0-9][a-z0-9+.-]+?)-[^/]+/(.+)$`)

// PlaceOf returns the source line of a frame; of is the report's source package and version. It
// returns an empty place for frames of other packages, and for files that are generated during the
// build, as far as it can recognise them.
func PlaceOf(f Frame, of SourcePlace, executable string) SourcePlace {
	file := f.File
	place := SourcePlace{Line: f.Line}
	if m := randomFolder.FindStringSubmatch(file); m != nil && m[1] == of.Package {
		place.Package, place.Version, file = of.Package, of.Version, m[2]
	} else if m := builtFrom.FindStringSubmatch(file); m != nil {
		place.Package, place.Version, file = m[1], strings.NewReplacer("%3a", ":", "%3A", ":").Replace(m[2]), m[3]
	} else if _, rest, ok := strings.Cut(file, "/dist-packages/"); ok && strings.HasPrefix(file, "/usr/lib/python3") {
		// A module of the package usually has the same path in the source as when installed.
		if first, _, _ := strings.Cut(rest, "/"); strings.ReplaceAll(first, "_", "-") != strings.ReplaceAll(of.Package, "_",
			"-") {
			return SourcePlace{}
		}
		place.Package, place.Version, file = of.Package, of.Version, rest
	} else {
		if strings.HasPrefix(file, "/") || !ownModule(f, of, executable) || isThreadStart(f) {
			return SourcePlace{}
		}
		place.Package, place.Version = of.Package, of.Version
	}
	// A build directory is inside or beside the source, so "../" leads into the source.
	file = strings.TrimLeft(path.Clean("/"+strings.TrimPrefix(file, "./")), "/")
	for {
		first, rest, ok := strings.Cut(file, "/")
		if !ok || !strings.HasPrefix(first, "obj-") {
			break
		}
		file = rest
	}
	if file == "" || strings.ContainsAny(file, "<>\x00") {
		return SourcePlace{}
	}
	place.File = file
	return place
}

// ownModule reports whether a frame belongs to the package of the program: to the program, to a
// library in its own directory, or to a library with its name. It returns true if the module is
// unknown.
func ownModule(f Frame, of SourcePlace, executable string) bool {
	if f.Module == "" || f.Module == executable {
		return true
	}
	name := strings.TrimPrefix(path.Base(f.Module), "lib")
	return of.Package != "" && (strings.Contains(f.Module, "/"+of.Package+"/") || strings.HasPrefix(name, of.Package))
}

// isThreadStart reports whether a frame is C library code that starts or ends a program or thread.
func isThreadStart(f Frame) bool {
	name := f.Function
	if name == "start_thread" || name == "clone" || name == "raise" || name == "abort" ||
		hasAnyPrefix(name, "__libc_", "__GI_", "__pthread_", "_start", "__clone", "__assert_fail") {
		return true
	}
	return slices.ContainsFunc([]string{"sysdeps/", "nptl/", "csu/", "stdlib/", "posix/"}, func(folder string) bool {
		return strings.Contains(f.File, "../"+folder) || strings.HasPrefix(f.File, "./"+folder)
	})
}

// WithModules fills in the module of each frame, from its address and the memory map of the
// process.
func WithModules(frames []Frame, procMaps string) []Frame {
	if procMaps == "" || len(frames) == 0 {
		return frames
	}
	maps, ok := parseMaps(procMaps)
	if !ok {
		return frames
	}
	frames = slices.Clone(frames)
	for i, f := range frames {
		if f.Module != "" || f.Address == "" {
			continue
		}
		if _, place, ok := findPlace(maps, strings.TrimPrefix(f.Address, "0x")); ok && place != "" {
			frames[i].Module = crash.Shorten(place[:strings.LastIndexByte(place, '+')], maxCell)
		}
	}
	return frames
}
