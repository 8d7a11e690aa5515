package grouping

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"mishap/crash"
	"mishap/crash/pytext"
)

// crashSignature is apport's crash_signature(). It returns a signature made of function names, and
// the rule that applied, or RuleNone. Rules are tried in apport's order; the first one that applies
// decides, even if its signature is empty. The signature is empty, too, where apport raises an
// exception. crashSignature ignores DuplicateSignature; see [SignatureOf].
func crashSignature(f crash.Fields, rec *recorder) (string, crash.GroupingRule) {
	kind := f["ProblemType"]
	path, hasPath := f["ExecutablePath"]
	if !hasPath && kind != "KernelCrash" && kind != "KernelOops" {
		return "", crash.RuleNone
	}
	if stack, ok := f["Stacktrace"]; ok && kind == "KernelCrash" {
		return kernelCrashSignature(stack, rec), crash.RuleKernelCrash
	}
	signal, hasSignal := f["Signal"]
	if message, ok := f["AssertionMessage"]; ok && signal == "6" {
		if !hasPath {
			return "", crash.RuleAssertion
		}
		rec.read("AssertionMessage")
		rec.markAll("AssertionMessage", message)
		rec.change(message, maskAddresses(message))
		return maskAddresses(path + ":" + message), crash.RuleAssertion
	}
	if top, ok := f["StacktraceTop"]; ok && hasSignal {
		if !hasPath {
			return "", crash.RuleStacktrace
		}
		return stacktraceSignature(path+":"+signal, top, f, rec), crash.RuleStacktrace
	}
	if traceback, ok := f["Traceback"]; ok {
		if !hasPath {
			return "", crash.RuleTraceback
		}
		return tracebackSignature(f, path, traceback, rec), crash.RuleTraceback
	}
	if failure := f["Failure"]; kind == "KernelOops" && (strings.Contains(failure, "suspend") ||
		strings.Contains(failure, "resume")) {
		rec.read("Failure")
		rec.markAll("Failure", failure)
		for _, field := range []string{"MachineType", "dmi.bios.version"} {
			if f[field] != "" {
				rec.markAll(field, f[field])
				failure += ":" + f[field]
			}
		}
		return failure, crash.RuleSuspendResume
	}
	if oops, ok := f["OopsText"]; ok {
		return oopsSignature(oops, rec), crash.RuleOops
	}
	return "", crash.RuleNone
}

// kernelFrame matches "#1 [ffff88] name" with Python's definitions of blanks, digits and word
// characters.
var kernelFrame = regexp.MustCompile(`^[\s\v\x1c-\x1f\x{85}\p{Z}]*#\p{Nd}+[\s\v\x1c-\x1f\x{85}\p{Z}]` +
	`\[[\p{L}\p{N}_]+\][\s\v\x1c-\x1f\x{85}\p{Z}]([\p{L}\p{N}_]+)`)

func kernelCrashSignature(stack string, rec *recorder) string {
	rec.read("Stacktrace")
	var b strings.Builder
	b.WriteString("kernel")
	for at, line := range linesAt(stack, 0) {
		if m := kernelFrame.FindStringSubmatch(line); m != nil {
			rec.use(line, m[1])
			rec.mark("Stacktrace", at)
			b.WriteString(":" + m[1])
		}
	}
	return b.String()
}

func maskAddresses(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for {
		i := strings.Index(s, "0x")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + 2
		for end < len(s) && strings.IndexByte(hex, s[end]) >= 0 {
			end++
		}
		if end-i-2 >= 6 {
			b.WriteString(s[:i] + "ADDR")
		} else {
			b.WriteString(s[:end])
		}
		s = s[end:]
	}
}

const signalHandler = "<signal handler called>"

// stacktraceSignature joins the functions of a StacktraceTop. It returns "" if a line has no name,
// or with fewer than two lines.
func stacktraceSignature(start, top string, f crash.Fields, rec *recorder) string {
	rec.read("StacktraceTop")
	var b strings.Builder
	b.WriteString(start)
	n := 0
	for at, line := range linesAt(top, 0) {
		name := pytext.Run(line, func(r rune) bool { return r == ':' || r == '~' || pytext.IsWord(r) })
		if name == "" {
			if strings.TrimRightFunc(line, pytext.IsSpace) != signalHandler {
				return ""
			}
			name = signalHandler
		}
		rec.use(line, name)
		rec.mark("StacktraceTop", at)
		b.WriteString(":" + name)
		n++
	}
	if n < 2 {
		return ""
	}
	rec.unwound(f["Stacktrace"], top)
	return b.String()
}

// tracebackSignature joins the exception's name and the functions of a Python traceback, outermost
// first. For code outside functions it uses file and line. It does not resolve symbolic links,
// since the file is on another machine.
func tracebackSignature(f crash.Fields, path, traceback string, rec *recorder) string {
	rec.read("Traceback")
	var frames strings.Builder
	var last string
	n, lastAt := 0, 0
	for at, line := range linesAt(traceback, 0) {
		last, lastAt = line, at
		n++
		if frame, ok := parseTracebackLine(line); ok {
			name := frame.function
			if name == "<module>" {
				name = frame.file + "@" + frame.line
			}
			rec.use(line, name)
			rec.mark("Traceback", at)
			frames.WriteString(":" + name)
		}
	}
	rec.mark("Traceback", lastAt)
	switch n {
	case 0, 2:
		return ""
	case 1:
		name := pytext.Run(last, pytext.IsWord)
		if name == "" || !strings.HasPrefix(last[len(name):], ": ") {
			return ""
		}
		return path + ":" + name
	}
	exception, _, _ := strings.Cut(last, ":")
	if qualifier, ok := f["_PythonExceptionQualifier"]; ok {
		exception += "(" + qualifier + ")"
	}
	return path + ":" + exception + frames.String()
}

// oopsSignature joins the problem and the functions of a kernel oops with frames of the form
// "[<ffffffff>] name+0x1/0x2".
func oopsSignature(oops string, rec *recorder) string {
	rec.read("OopsText")
	var parts []string
	inTrace := false
	at, next := 0, 0
	for line := range strings.SplitSeq(oops, "\n") {
		at, next = next, next+len(line)+len("\n")
		if problem, ok := strings.CutPrefix(line, "BUG: unable to handle "); ok {
			switch i := strings.LastIndex(problem, " at "); {
			case i == 0:
				return "" // apport raises an exception here
			case i > 0:
				rec.change(line, problem[:i])
				rec.mark("OopsText", at)
				parts = append(parts, problem[:i])
			}
		}
		switch {
		case strings.HasPrefix(line, "IP: "), inTrace && strings.HasPrefix(line, " "):
			open, end := strings.Index(line, "["), strings.LastIndex(line, "] ")
			if open < 0 || end < open {
				continue
			}
			name := line[end+len("] "):]
			if name == "" {
				return "" // and here
			}
			if name[0] == '?' {
				rec.skip(line, "the kernel marks it as unreliable")
				continue
			}
			rec.use(line, name)
			rec.mark("OopsText", at)
			parts = append(parts, name)
		default:
			inTrace = strings.HasPrefix(line, "Call Trace:")
		}
	}
	return strings.Join(parts, ":")
}

// unwindFunctions lists functions that end a program deliberately; the frames above them do not
// show the cause.
var unwindFunctions = wordSet(
	"g_logv g_log IA__g_log IA__g_logv g_assert_warning IA__g_assert_warning __GI_abort _XError")

// StacktraceTop is apport's _gen_stacktrace_top(): the first five frames of gdb's "bt full",
// without number and address. It drops everything up to the first "<signal handler called>", or up
// to a function that ends programs (g_logv and similar, abort, X errors). It skips
// processor-specific helpers of the C library. The result is empty if there are no frames, or if
// apport's function fails on the text.
func StacktraceTop(stacktrace string) string {
	const depth = 5
	var top []string
	unwound, unwinding, xError := false, false, false
	for line := range pytext.Lines(stacktrace) {
		frame, handler, ok := topFrame(line)
		if !ok {
			continue
		}
		if !unwound || unwinding {
			function := pytext.FirstWord(frame)
			if handler {
				function = ""
			}
			function, _, _ = strings.Cut(function, "(")
			if xError {
				if frame == "" || handler {
					return "" // apport raises an exception here
				}
				if isXReply(function) {
					continue
				}
				xError = false
			}
			if handler || unwindFunctions[function] {
				unwinding, top = true, nil
				unwound = unwound || handler
				xError = function == "_XError"
				continue
			}
			unwinding = false
		}
		word := pytext.FirstWord(frame)
		if word == "" {
			return "" // and here
		}
		if len(top) < depth && !isJitter(word) {
			top = append(top, frame)
		}
	}
	return strings.TrimFunc(strings.Join(top, "\n"), pytext.IsSpace)
}

// topFrame converts "#1  0x55d0 in name (…) at file" to "name (…) at file". It recognises the
// marker of a signal handler only directly after the number.
func topFrame(line string) (frame string, handler, ok bool) {
	rest, found := strings.CutPrefix(line, "#")
	digits := pytext.Run(rest, unicode.IsDigit)
	rest = rest[len(digits):]
	frame = strings.TrimLeftFunc(rest, pytext.IsSpace)
	if !found || digits == "" || len(frame) == len(rest) {
		return "", false, false
	}
	if strings.TrimRightFunc(frame, pytext.IsSpace) == signalHandler {
		return signalHandler, true, true
	}
	address, found := strings.CutPrefix(frame, "0x")
	if word := pytext.Run(address, pytext.IsWord); found && word != "" {
		after := address[len(word):]
		in := strings.TrimLeftFunc(after, pytext.IsSpace)
		name, found := strings.CutPrefix(in, "in")
		if trimmed := strings.TrimLeftFunc(name, pytext.IsSpace); found && len(in) < len(after) && len(trimmed) < len(name) {
			return strings.TrimPrefix(trimmed, "*"), false, true
		}
	}
	return frame, false, true
}

// jitter matches functions whose names depend on the processor: __strlen_sse2, __memcpy_ssse3_back,
// __kernel_vsyscall.
var jitter = regexp.MustCompile(`^__(.*_s?sse\p{Nd}+(_[\p{L}\p{N}_]+)?|kernel_vsyscall)$`)

// isJitter reports whether jitter matches a function. It does not try long names; those of the C
// library are short.
func isJitter(function string) bool {
	return len(function) < 1024 && jitter.MatchString(function)
}

// isXReply matches functions of Xlib that receive an error, below _XError.
func isXReply(function string) bool {
	return strings.HasPrefix(function, "_X") || function == "handle_response" || function == "handle_error" ||
		function == "XWindowEvent"
}

// AddressSignature returns the address signature of a native crash, made of offsets in files
// instead of function names. It is the report's own StacktraceAddressSignature, else the result of
// apport's crash_signature_addresses() for Stacktrace and ProcMaps:
// "path:signal:elf+offset:elf+offset…", with at most 15 offsets. An offset counts from the start of
// the mapping that contains the address.
//
// The result is empty if apport's function returns none or fails, and for hexadecimal numbers that
// only Python accepts, with underscores or digits of other scripts.
func AddressSignature(f crash.Fields) string {
	if own := f["StacktraceAddressSignature"]; own != "" {
		return own
	}
	return computeAddressSignature(f)
}

// Limits of apport's crash_signature_addresses(). It uses 15 frames. If some frames cannot be
// placed in a file, it needs at least 3 placed ones, and four placed ones for each other. The
// remaining limits follow from these.
const (
	maxPlaced           = 15
	minPlaced           = 3
	leastPlacedOnFail   = 6
	leastPlacedForFail  = 4
	lowestAddress       = 0x1000 // lower addresses are artefacts of gdb
	pointlessAtFailures = maxPlaced/leastPlacedForFail + 1
)

// KindOf tells native crashes apart that have no signature: program, signal, and what is known of the
// stack, as names and as offsets in files.
func KindOf(f crash.Fields) string {
	maps, _ := parseMaps(f["ProcMaps"])
	kind := []string{f["ExecutablePath"], f["Signal"]}
	frames := Frames(f)
	for _, frame := range frames[:min(len(frames), maxPlaced)] {
		name := cleanSymbol(frame.Function)
		if name == "" {
			_, name, _ = findPlace(maps, strings.TrimPrefix(frame.Address, "0x"))
		}
		if name != "" {
			kind = append(kind, name)
		}
	}
	return strings.Join(kind, ":")
}

func computeAddressSignature(f crash.Fields) string {
	path, hasPath := f["ExecutablePath"]
	signal, hasSignal := f["Signal"]
	stack, hasStack := f["Stacktrace"]
	if !hasPath || !hasSignal || !hasStack || f["ProcMaps"] == "" || strings.HasPrefix(f["ProcMaps"], "Error: ") {
		return ""
	}
	maps, ok := parseMaps(f["ProcMaps"])
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(path + ":" + signal)
	placed, failed := 0, 0
	for line := range pytext.Lines(stack) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		word := pytext.FirstWord(line[len(pytext.FirstWord(line)):])
		if word == "" {
			return "" // apport raises an exception here
		}
		hex, found := strings.CutPrefix(word, "0x")
		if !found {
			continue
		}
		address, place, ok := findPlace(maps, hex)
		switch {
		case !ok:
			return "" // and here
		case place != "":
			b.WriteString(":" + strings.ReplaceAll(place, ":", ".."))
			placed++
		case address >= lowestAddress:
			failed++
		}
		if placed == maxPlaced || failed == pointlessAtFailures {
			break
		}
	}
	if failed == 0 && placed < minPlaced || failed > 0 && (placed < leastPlacedOnFail ||
		placed < leastPlacedForFail*failed) {
		return ""
	}
	return b.String()
}

// findPlace converts an address to "elf+offset", or to "" if it is too low or in no file. It
// returns false if hex is not a hexadecimal number.
func findPlace(maps []mapping, hex string) (address uint64, place string, ok bool) {
	digits := strings.TrimLeft(hex, "0")
	if pytext.Run(hex, isHex) != hex || hex == "" {
		return 0, "", false
	}
	if len(digits) > 16 {
		return lowestAddress, "", true // beyond any mapping
	}
	address, _ = strconv.ParseUint("0"+digits, 16, 64)
	if address < lowestAddress {
		return address, "", true
	}
	for _, m := range maps {
		if m.start <= address && address <= m.end {
			return address, m.name + "+" + strconv.FormatUint(address-m.start, 16), true
		}
	}
	return address, "", true
}

func isHex(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F'
}

// mapping is a named line of /proc/PID/maps. As in apport, it includes its end address.
type mapping struct {
	start, end uint64
	name       string
}

// parseMaps parses ProcMaps, without unnamed mappings. It returns false if any line is malformed.
func parseMaps(text string) ([]mapping, bool) {
	var maps []mapping
	for line := range pytext.Lines(text) {
		if strings.TrimFunc(line, pytext.IsSpace) == "" {
			continue
		}
		from := pytext.Run(line, isHex)
		rest, found := strings.CutPrefix(line[len(from):], "-")
		to := pytext.Run(rest, isHex)
		rest = rest[len(to):]
		if from == "" || to == "" || !found {
			return nil, false
		}
		name := mappedName(rest)
		if name == "" {
			if pytext.Run(rest, pytext.IsNoSpace) != "" || rest == "" {
				return nil, false // no blank after the addresses
			}
			continue
		}
		start, _ := strconv.ParseUint(from, 16, 64) // a number that is too large becomes the largest one
		end, _ := strconv.ParseUint(to, 16, 64)
		maps = append(maps, mapping{start, end, name})
	}
	return maps, true
}

// mappedName returns the text after the last run of two or more blanks. Names may contain single
// blanks, and single blanks separate the columns before the name.
func mappedName(s string) string {
	name, blanks := -1, 0
	for i, r := range s {
		if pytext.IsSpace(r) {
			blanks++
			continue
		}
		if blanks >= 2 {
			name = i
		}
		blanks = 0
	}
	if name < 0 {
		return ""
	}
	return s[name:]
}
