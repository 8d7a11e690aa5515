package grouping

import (
	"regexp"
	"strings"
	"unicode"

	"mishap/crash"
	"mishap/crash/pytext"
)

// crashSignature is apport's crash_signature(). It returns a signature made of function names, and
// the rule that applied, or RuleNone. Rules are tried in apport's order; the first one that applies
// decides, even if its signature is empty. The signature is empty, too, where apport raises an
// exception. crashSignature ignores DuplicateSignature; see [SignatureOf].
func crashSignature(f crash.Fields, rec *recorder) (string, crash.Rule) {
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

// kernelCrashSignature joins the functions of a stack that the crash utility wrote.
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

// maskAddresses replaces each "0x" with at least six lower-case hex digits by "ADDR".
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
var unwindFunctions = map[string]bool{
	"g_logv": true, "g_log": true, "IA__g_log": true, "IA__g_logv": true, "g_assert_warning": true,
	"IA__g_assert_warning": true, "__GI_abort": true, "_XError": true,
}

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
