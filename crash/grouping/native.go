package grouping

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// stackNamesSignature is the rule for native crashes whose frames all have names, some of them in a
// form that apport's rule rejects: in an anonymous namespace, as "<T as Trait>::f", "*__GI_raise",
// or with a leading blank; or whose first frame is at an address without code.
//
// The signature has apport's form: the program, the signal, and the first five functions that show
// the cause. The rule precedes the address signature, because symbolising would add nothing.
func stackNamesSignature(f crash.Fields, rec *recorder) string {
	if f["StacktraceTop"] == "" {
		return ""
	}
	return namedStackSignature(f, rec)
}

// namedStackSignature is stackNamesSignature for the stack that [causeOf] chooses.
func namedStackSignature(f crash.Fields, rec *recorder) string {
	s, program := causeOf(f), subject(f)
	if program == "" {
		return ""
	}
	rec.read(s.field)
	names := s.names(rec)
	if slices.ContainsFunc(names, isUnnamed) || len(names) == 0 || len(names) == 1 && !s.cut {
		return ""
	}
	return join(append([]string{program, ending(f)}, names...)...)
}

// assertionSignature is the rule for failed assertions whose message mishap has read from the core:
// apport's, without the line in the source file, which moves with every change.
func assertionSignature(f crash.Fields, rec *recorder) string {
	message, program := f["AssertionMessage"], subject(f)
	if message == "" || program == "" || f["Signal"] != "6" {
		return ""
	}
	rec.read("AssertionMessage")
	rec.markAll("AssertionMessage", message)
	masked := maskAddresses(message)
	if line := sourceLine.FindStringIndex(masked); line != nil {
		masked = masked[:line[0]] + masked[line[1]-1:]
	}
	return program + ":" + rec.change(message, masked)
}

// sourceLine matches the line in "app: app.cc:42: int load(): Assertion `row' failed." and in
// "ERROR:app.cc:42:load: assertion failed: (row)".
var sourceLine = regexp.MustCompile(`:[0-9]+:`)

// stackPartialSignature is the rule for native crashes with some unnamed frames and without an
// address signature. At least two frames must have names, one of them a name that not every program
// has. The signature represents an unnamed frame by its library, else by "??".
func stackPartialSignature(f crash.Fields, rec *recorder) string {
	s, program := causeOf(f), subject(f)
	if program == "" {
		return ""
	}
	rec.read(s.field)
	names := s.names(rec)
	named, telling := 0, 0
	for _, name := range names {
		if isUnnamed(name) {
			continue
		}
		named++
		if !isCommon(name) {
			telling++
		}
	}
	if named < 2 || telling < 1 {
		return ""
	}
	return join(append([]string{program, ending(f)}, names...)...)
}

func ending(f crash.Fields) string {
	if signal := shortText(f["Signal"]); signal != "" {
		return signal
	}
	return strings.ToLower(shortText(f["ProblemType"]))
}

// text returns a short form of a frame, for explanations. It omits the arguments, which may be
// private.
func (f Frame) text() string {
	switch {
	case f.File != "":
		return f.Function + " at " + f.File
	case f.Module != "":
		return f.Function + " from " + f.Module
	}
	return f.Function
}

// libraryName returns the file name of a library without its version: "libgobject-2.0.so" for
// "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0.8000.0".
func libraryName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.Index(name, ".so."); i > 0 {
		name = name[:i+len(".so")]
	}
	return name
}

func isRustPanicking(name string) bool {
	return hasAnyPrefix(name, "core::panicking::", "std::panicking::", "std::rt::begin_panic", "rust_begin_unwind",
		"rust_panic", "__rust_start_panic", "__rust_abort", "std::sys::backtrace::", "std::sys_common::backtrace::",
		"panic_abort::", "std::process::abort", "core::result::unwrap_failed", "core::option::unwrap_failed",
		"core::option::expect_failed")
}

// isCommon matches functions of every program, and of every program that aborts.
func isCommon(name string) bool {
	return name == signalHandler || common[strings.TrimPrefix(name, "__GI_")]
}

var common = wordSet(`
main _start start_thread clone clone3 __clone3 __libc_start_main __libc_start_main_impl __libc_start_call_main
raise abort __abort __pthread_kill __pthread_kill_implementation __pthread_kill_internal pthread_kill tgkill kill
__libc_message malloc_printerr _int_free _int_malloc free malloc calloc realloc poll __poll ppoll select read write
g_main_loop_run g_main_context_iterate g_main_context_dispatch g_logv g_log`)

// Apport's rule reads the first five frames below the function that ended the program. These can all
// belong to the runtime of a language, and then different faults have one signature. Where mishap
// works out the signature, it reads only the frames that show the cause.

// The reasons for which a frame does not show the cause.
const (
	whyNoCode      = "no code is at this address: the program called a wrong one"
	whyEnding      = "it only ends the program"
	whyRuntime     = "it belongs to Go's runtime"
	whyRust        = "by it, Rust panics"
	whyInterrupted = "a signal interrupted it, and the fault is in the signal handler"
	whyMachine     = "it differs from machine to machine"
)

type stackLine struct {
	Frame
	text string // without number and address
	at   int    // offset in the field
}

// causeStack is a stack with the reason for each frame that does not show the cause.
type causeStack struct {
	field string
	lines []stackLine
	why   []string
	cut   bool // the frames above or below are known not to be the cause: one function tells the place
	isGo  bool
}

// causeOf returns the stack that mishap groups by: Stacktrace if mishap has worked it out, else
// apport's StacktraceTop, else Stacktrace. Where the program called a wrong pointer, one of the five
// frames of StacktraceTop does not show the cause, and Stacktrace has more.
func causeOf(f crash.Fields) causeStack {
	stacktrace := f["Stacktrace"] != ""
	if stacktrace && (f[crash.SymbolisedBy] != "" || f["StacktraceTop"] == "") {
		return causeIn("Stacktrace", f)
	}
	s := causeIn("StacktraceTop", f)
	if stacktrace && len(s.lines) == maxSignatureFrames && s.why[0] == whyNoCode {
		return causeIn("Stacktrace", f)
	}
	return s
}

func causeIn(field string, f crash.Fields) causeStack {
	s := causeStack{field: field}
	text := headOf(f[s.field])
	for at, line := range linesAt(text, 0) {
		if len(s.lines) == maxFrames {
			break
		}
		l := stackLine{text: strings.TrimFunc(line, pytext.IsSpace), at: at}
		if s.field == "StacktraceTop" {
			l.Frame = parseFrame(len(s.lines), l.text)
		} else if number, rest, ok := cutNumber(line); ok {
			l.Frame = parseFrame(number, rest)
			l.text, _, _ = topFrame(line)
		} else {
			continue // the values of variables
		}
		s.lines = append(s.lines, l)
	}
	s.why = make([]string, len(s.lines))
	s.judge(f)
	return s
}

// Cause returns the first five frames that show the cause, of a stack that mishap has worked out, and
// the same frames as StacktraceTop: without number and address.
func Cause(f crash.Fields) (frames []Frame, top string) {
	s := causeOf(f)
	var lines []string
	for i, line := range s.lines {
		if s.why[i] == "" && len(frames) < maxSignatureFrames {
			frames, lines = append(frames, line.Frame), append(lines, line.text)
		}
	}
	return frames, strings.Join(lines, "\n")
}

// judge fills why, cut and isGo.
func (s *causeStack) judge(f crash.Fields) {
	s.isGo = slices.ContainsFunc(s.lines, func(l stackLine) bool { return strings.HasPrefix(l.Function, "runtime.") })
	start := 0
	if len(s.lines) > 1 && s.callsNowhere(f) {
		s.why[0], s.cut, start = whyNoCode, true, 1
	}
	for start < len(s.lines) {
		end := start
		for end < len(s.lines) && s.lines[end].Function != signalHandler {
			end++
		}
		ended := s.skipEnding(start, end)
		if end == len(s.lines) {
			break
		}
		handler := slices.Contains(s.why[start:end], "")
		if handler && !ended {
			// A signal can arrive anywhere.
			for i := end; i < len(s.lines); i++ {
				s.why[i] = whyInterrupted
			}
			s.cut = true
			break
		}
		if !handler {
			s.why[end] = whyEnding
		}
		start = end + 1
	}
	s.keepTwo()
}

// callsNowhere reports whether the first frame is at an address without code, such as 0. Then the
// program called a function by a wrong pointer.
func (s *causeStack) callsNowhere(f crash.Fields) bool {
	first := s.lines[0].Frame
	if first.Named() || first.Module != "" || first.File != "" {
		return false
	}
	for line := range pytext.Lines(f["Stacktrace"]) { // StacktraceTop has no addresses
		if number, rest, ok := cutNumber(line); ok && number == 0 {
			if innermost := parseFrame(0, rest); !innermost.Named() {
				return !hasCode(f["ProcMaps"], innermost.Address)
			}
			break
		}
	}
	return false
}

// hasCode reports whether code can be at an address, by /proc/PID/maps if that is known.
func hasCode(maps, address string) bool {
	at, err := strconv.ParseUint(strings.TrimPrefix(address, "0x"), 16, 64)
	if err != nil {
		return address != "" // too large, or not known
	}
	if at < lowestAddress {
		return false
	}
	known := false
	for line := range pytext.Lines(maps) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		from, to, _ := strings.Cut(words[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			return true
		}
		if known = true; start <= at && at < end {
			return strings.Contains(words[1], "x")
		}
	}
	return !known
}

// skipEnding judges the frames of one part of a stack: those up to the last function that ends the
// program, and those of runtimes. It reports whether the part ends the program.
func (s *causeStack) skipEnding(start, end int) (ended bool) {
	last := start - 1
	for i := start; i < end; i++ {
		if endsProgram(s.lines[i].Function, s.isGo) || i > start && s.lines[i].Function == "terminate" &&
			s.lines[i-1].Function == "__terminate" {
			last = i
		}
	}
	ended = last >= start
	if ended {
		x := strings.HasPrefix(s.lines[last].Function, "_XError")
		for last+1 < end && (s.sameLibrary(last, last+1) || x && isXReply(s.lines[last+1].Function)) {
			last++
		}
	}
	for i := start; i < end; i++ {
		switch name := s.lines[i].Function; {
		case i <= last:
			s.why[i] = whyEnding
		case s.isGo && isGoRuntime(name):
			s.why[i] = whyRuntime
		case name == "__kernel_vsyscall":
			s.why[i] = whyMachine
		case isRustPanicking(cleanSymbol(name)):
			s.why[i] = whyRust
		}
	}
	return ended
}

// sameLibrary reports whether the frame next has no name and is in the library of the frame last: an
// internal function of it.
func (s *causeStack) sameLibrary(last, next int) bool {
	return !s.lines[next].Named() && s.lines[next].Module != "" && s.lines[next].Module == s.lines[last].Module
}

// keepTwo keeps the nearest function that ends the program or belongs to a runtime, if only one
// other remains: the name "main" alone does not tell one fault from another.
func (s *causeStack) keepTwo() {
	first := slices.Index(s.why, "")
	if s.cut || first < 0 || slices.Index(s.why[first+1:], "") >= 0 {
		return
	}
	for i := first - 1; i >= 0; i-- {
		if s.lines[i].Named() && s.lines[i].Function != signalHandler {
			s.why[i] = ""
			return
		}
	}
}

// names returns the functions of the signature, at most five; "[library]" or "??" represents one
// without a name. Consecutive unnamed frames of one library count as one.
func (s *causeStack) names(rec *recorder) []string {
	var names []string
	for i, line := range s.lines {
		name, why := s.functionName(line.Function), s.why[i]
		switch {
		case line.Function == signalHandler:
			name = signalHandler
		case name == "" && line.Module != "":
			name = "[" + libraryName(line.Module) + "]"
		case name == "":
			name = "??"
		}
		switch {
		case why != "":
		case len(names) == maxSignatureFrames:
			why = whyEnough
		case len(names) > 0 && name == names[len(names)-1] && isUnnamed(name):
			why = "the same library again"
		}
		if rec.decide(line.Frame.text(), name, why) {
			rec.mark(s.field, line.at)
			names = append(names, name)
		}
	}
	return names
}

func isUnnamed(name string) bool { return name == "??" || strings.HasPrefix(name, "[") }

// functionName returns the name of a function without what differs from build to build, and from
// processor to processor.
func (s *causeStack) functionName(symbol string) string {
	if s.isGo && isGoFunction(symbol) {
		return goName(symbol)
	}
	name := cleanSymbol(symbol)
	if m := variant.FindStringSubmatch(name); m != nil {
		if name = m[1]; name == "memcpy" || name == "mempcpy" {
			name = "memmove" // one function, under several names
		}
	}
	return name
}

// isGoFunction matches "main.load", "main.(*Reef).load" and "example.com/reef.load", but not
// C's "load.constprop.0".
func isGoFunction(symbol string) bool {
	pkg, name, ok := strings.Cut(symbol[strings.LastIndexByte(symbol, '/')+1:], ".")
	return ok && pkg != "" && name != "" && !strings.Contains(symbol, "::") && !strings.Contains(symbol, " ") &&
		withoutClone(symbol) == symbol && pytext.Run(pkg, pytext.IsWord) == pkg
}

// variant matches the functions of the C library that exist for several processors:
// "__memcpy_avx512_unaligned_erms", "__strlen_evex", "__memcpy_sve".
var variant = regexp.MustCompile(`^__([a-z0-9_]+?)_(?:sse|ssse|avx|evex|erms|fma|ia32|i586|i686|sve|asimd|mte|` +
	`mops|neon|vfp|generic|thunderx|falkor|kunpeng|a64fx|emag|oryon|zva|power[0-9]|ppc|z[0-9]|vx|rvv|lsx|lasx)[a-z0-9_]*$`)

// endings are functions by which C and C++ programs end, without namespaces and "__GI_".
var endings = wordSet(`
abort __abort raise gsignal kill tgkill pthread_kill __pthread_kill ___pthread_kill __pthread_kill_internal
__pthread_kill_implementation __assert_fail __assert_fail_base __assert_perror_fail __libc_message
__libc_message_impl __libc_fatal __fortify_fail __fortify_fail_abort __chk_fail __stack_chk_fail
__stack_chk_fail_local malloc_printerr g_assertion_message g_assertion_message_expr g_assertion_message_error
g_assertion_message_cmpnum g_assertion_message_cmpint g_assertion_message_cmpstr __verbose_terminate_handler
__terminate std::terminate std::unexpected std::rethrow_exception __cxa_throw __cxa_rethrow __cxa_call_terminate
__cxa_call_unexpected __cxa_pure_virtual __cxa_deleted_virtual __gxx_personality_v0 std::__glibcxx_assert_fail
std::__replacement_assert`)

// endsProgram reports whether a function ends the program on purpose, or raises the exception that
// does.
func endsProgram(symbol string, isGo bool) bool {
	if isGo && (symbol == "runtime.gopanic" || strings.HasPrefix(symbol, "runtime.sigpanic")) {
		return true
	}
	if unwindFunctions[symbol] {
		return true
	}
	name := strings.TrimPrefix(cleanSymbol(symbol), "__GI_")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "__cxxabiv1::"), "__gnu_cxx::")
	return endings[name] || strings.HasPrefix(strings.TrimPrefix(name, "std::"), "__throw_") ||
		strings.HasPrefix(name, "_Unwind_")
}

// cleanSymbol normalises a C++, Rust or D function as a debugger prints it, so that it is the same
// in every build. It removes arguments, template arguments, return type, hash suffixes and suffixes
// that compilers add.
//
//	void Ocean::Tide<int>::load(int) const   Ocean::Tide::load
//	(anonymous namespace)::Row::~Row         {anonymous}::Row::~Row
//	f(int)::{lambda(auto:1)#2}::operator()   f::{lambda}::operator()
//	<T as core::convert::Into<U>>::into      <T as core::convert::Into>::into
//	reef::load::h0123456789abcdef            reef::load
//	tide_load.constprop.0                    tide_load
//
// It returns "" if there is no name.
func cleanSymbol(symbol string) string {
	s := strings.TrimSpace(crash.Truncate(symbol, maxSymbol))
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		s = strings.TrimPrefix(rest, "__GI_") // "*__GI_raise", an internal name of the C library
	}
	s, _, _ = strings.Cut(s, " [clone ")
	s, _, _ = strings.Cut(s, "@")
	s = strings.ReplaceAll(s, "[abi:cxx11]", "")
	s = withoutHash(s)
	s = withoutBrackets(strings.ReplaceAll(s, "(anonymous namespace)", "{anonymous}"))
	s = strings.TrimSpace(lastName(s))
	s = withoutClone(s)
	if s == "??" || strings.Trim(s, ":{}<>()?, ") == "" {
		return ""
	}
	return s
}

// withoutHash removes Rust's "::h0123456789abcdef", and "[0123456789abcdef]" after the names of
// crates.
func withoutHash(s string) string {
	if i := strings.LastIndex(s, "::h"); i > 0 && len(s)-i == len("::h")+16 &&
		pytext.Run(s[i+len("::h"):], isHex) == s[i+len("::h"):] {
		s = s[:i]
	}
	for {
		open := strings.IndexByte(s, '[')
		if open < 0 {
			return s
		}
		hash := pytext.Run(s[open+1:], isHex)
		if len(hash) < 8 || !strings.HasPrefix(s[open+1+len(hash):], "]") {
			return s
		}
		s = s[:open] + s[open+len(hash)+2:]
	}
}

// withoutBrackets removes arguments in <…> and (…), and all but the first word in {…}. It keeps
// operators that look like brackets, and a leading "<T as Trait>" of Rust.
func withoutBrackets(s string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case depth == 0 && strings.HasSuffix(b.String(), "operator") && strings.IndexByte("<>-(", c) >= 0:
			n := operatorLength(s[i:])
			b.WriteString(s[i : i+n])
			i += n - 1
		case depth == 0 && c == '{':
			word, n := braced(s[i:])
			b.WriteString(word)
			i += n - 1
		case depth == 0 && c == '<' && i == 0 && strings.Contains(s, " as "):
			b.WriteByte(c)
		case depth == 0 && c == '>' && strings.HasPrefix(b.String(), "<"):
			b.WriteByte(c)
		case depth == 0 && c == '<' && strings.HasPrefix(s[i:], "<lambda"):
			b.WriteString("{lambda}")
			depth++
		case c == '<' || c == '(':
			depth++
		case depth > 0 && (c == ')' || c == '>' && (i == 0 || s[i-1] != '-')):
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// operatorLength returns the length of the operator at the start of s: "<<=", "->", "()".
func operatorLength(s string) int {
	for _, sign := range [...]string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "--", "-="} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 1
}

// braced parses "{lambda(auto:1)#2}", "{{closure}}", "{closure#0}", "{impl#3}". It returns the
// first word in one pair of braces.
func braced(s string) (word string, length int) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return "{" + pytext.Run(strings.TrimLeft(s, "{"), pytext.IsWord) + "}", i + 1
			}
		}
	}
	return s, len(s)
}

// lastName removes the return type: the text before the last blank, unless the blank belongs to an
// operator or to Rust's "<T as Trait>".
func lastName(s string) string {
	for _, end := range [...]string{" const", " volatile", " &", " &&", " noexcept"} {
		s = strings.TrimSuffix(strings.TrimSpace(s), end)
	}
	if strings.HasPrefix(s, "<") {
		return s
	}
	name := s
	if i := strings.Index(s, "operator "); i >= 0 && (i == 0 || !pytext.IsWord(rune(s[i-1]))) {
		name = s[:i]
		if j := strings.LastIndexByte(name, ' '); j >= 0 {
			return s[j+1:]
		}
		return s
	}
	return name[strings.LastIndexByte(name, ' ')+1:]
}

// withoutClone removes ".constprop.0", ".isra.3", ".part.1", ".cold", ".lto_priv.2" from a C name.
func withoutClone(s string) string {
	for _, suffix := range [...]string{".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."} {
		if i := strings.Index(s, suffix); i > 0 {
			s = s[:i]
		}
	}
	return s
}

// hangSignature is the rule for programs that stopped responding, if the report has only a
// ThreadStacktrace. The signature consists of the program, "hang", and the first five named
// functions of its first thread, which should respond. It omits functions in which a thread waits.
// Hangs with a Stacktrace are grouped like crashes.
func hangSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	if f["ProblemType"] != "Hang" || f["ThreadStacktrace"] == "" || program == "" {
		return ""
	}
	rec.read("ThreadStacktrace")
	var calls []call
	waits := true
	threads := Threads(crash.Fields{"ThreadStacktrace": headOf(f["ThreadStacktrace"])})
	first := slices.IndexFunc(threads, func(t Thread) bool { return t.Number == 1 })
	if first < 0 {
		return ""
	}
	for _, frame := range threads[first].Frames {
		c := call{text: frame.text(), name: cleanSymbol(frame.Function), at: frame.at}
		switch {
		case c.name == "":
			c.why = "it has no name"
		case waits && isWaiting(c.name):
			c.why = "it only waits"
		default:
			waits = false
		}
		calls = append(calls, c)
	}
	names := callNames(calls, maxSignatureFrames, "ThreadStacktrace", rec)
	if !slices.ContainsFunc(names, func(name string) bool { return !isCommon(name) }) {
		return ""
	}
	return join(append([]string{program, "hang"}, names...)...)
}

// isWaiting matches functions of the C library in which a thread waits.
func isWaiting(name string) bool {
	switch strings.TrimLeft(strings.TrimPrefix(name, "__GI_"), "_") {
	case "poll", "ppoll", "select", "epoll_wait", "syscall", "syscall_cancel", "internal_syscall_cancel",
		"syscall_cancel_arch", "read", "libc_read", "recv", "libc_recv", "recvmsg", "clock_nanosleep",
		"clock_nanosleep_time64", "nanosleep", "wait4", "waitpid", "lll_lock_wait", "lll_lock_wait_private":
		return true
	}
	return hasAnyPrefix(name, "__futex_", "futex_", "__pthread_cond_", "___pthread_cond_", "pthread_cond_",
		"__pthread_mutex_", "___pthread_mutex_", "pthread_mutex_", "__new_sem_wait")
}
