package grouping

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

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
	whyEnough      = "the signature has enough frames"
)

// stackLine is one frame of a stack in a field.
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

// causeIn returns the stack in a field.
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

// isUnnamed reports whether a part of a signature represents a frame without a name.
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
var endings = map[string]bool{
	"abort": true, "__abort": true, "raise": true, "gsignal": true, "kill": true, "tgkill": true, "pthread_kill": true,
	"__pthread_kill": true, "___pthread_kill": true, "__pthread_kill_internal": true,
	"__pthread_kill_implementation": true,
	"__assert_fail":                 true, "__assert_fail_base": true, "__assert_perror_fail": true,
	"__libc_message":      true,
	"__libc_message_impl": true, "__libc_fatal": true, "__fortify_fail": true, "__fortify_fail_abort": true,
	"__chk_fail": true, "__stack_chk_fail": true, "__stack_chk_fail_local": true, "malloc_printerr": true,
	"g_assertion_message": true, "g_assertion_message_expr": true, "g_assertion_message_error": true,
	"g_assertion_message_cmpnum": true, "g_assertion_message_cmpint": true, "g_assertion_message_cmpstr": true,
	"__verbose_terminate_handler": true, "__terminate": true, "std::terminate": true, "std::unexpected": true,
	"std::rethrow_exception": true, "__cxa_throw": true, "__cxa_rethrow": true, "__cxa_call_terminate": true,
	"__cxa_call_unexpected": true, "__cxa_pure_virtual": true, "__cxa_deleted_virtual": true, "__gxx_personality_v0": true,
	"std::__glibcxx_assert_fail": true, "std::__replacement_assert": true,
}

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
	for _, namespace := range [...]string{"__cxxabiv1::", "__gnu_cxx::"} {
		name = strings.TrimPrefix(name, namespace)
	}
	return endings[name] || strings.HasPrefix(strings.TrimPrefix(name, "std::"), "__throw_") ||
		strings.HasPrefix(name, "_Unwind_")
}
