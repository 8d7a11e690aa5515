package grouping

import (
	"regexp"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// crashSignature is apport's crash_signature(): the text that says which fault this is, made of names. Its rules are
// tried in apport's order, and the first that applies decides, also when it gives nothing. Empty: none; also where
// apport itself stumbles over the report. DuplicateSignature is not looked at here; see [SignatureOf]. It also names the
// rule that applied, RuleNone when none did.
func crashSignature(f crash.Fields, to *recorder) (string, crash.Rule) {
	kind := f["ProblemType"]
	path, hasPath := f["ExecutablePath"]
	if !hasPath && kind != "KernelCrash" && kind != "KernelOops" {
		return "", crash.RuleNone
	}
	if stack, ok := f["Stacktrace"]; ok && kind == "KernelCrash" {
		return kernelCrashSignature(stack, to), crash.RuleKernelCrash
	}
	signal, hasSignal := f["Signal"]
	if message, ok := f["AssertionMessage"]; ok && signal == "6" {
		if !hasPath {
			return "", crash.RuleAssertion
		}
		to.read("AssertionMessage")
		to.markAll("AssertionMessage", message)
		to.change(message, maskAddresses(message))
		return maskAddresses(path + ":" + message), crash.RuleAssertion
	}
	if top, ok := f["StacktraceTop"]; ok && hasSignal {
		if !hasPath {
			return "", crash.RuleStacktrace
		}
		return stacktraceSignature(path+":"+signal, top, f, to), crash.RuleStacktrace
	}
	if traceback, ok := f["Traceback"]; ok {
		if !hasPath {
			return "", crash.RuleTraceback
		}
		return tracebackSignature(f, path, traceback, to), crash.RuleTraceback
	}
	if failure := f["Failure"]; kind == "KernelOops" && (strings.Contains(failure, "suspend") || strings.Contains(failure, "resume")) {
		to.read("Failure")
		to.markAll("Failure", failure)
		for _, field := range []string{"MachineType", "dmi.bios.version"} {
			if f[field] != "" {
				to.markAll(field, f[field])
				failure += ":" + f[field]
			}
		}
		return failure, crash.RuleSuspendResume
	}
	if oops, ok := f["OopsText"]; ok {
		return oopsSignature(oops, to), crash.RuleOops
	}
	return "", crash.RuleNone
}

// kernelFrame is "#1 [ffff88] name" with Python's idea of blanks, digits and word characters.
var kernelFrame = regexp.MustCompile(`^[\s\v\x1c-\x1f\x{85}\p{Z}]*#\p{Nd}+[\s\v\x1c-\x1f\x{85}\p{Z}]\[[\p{L}\p{N}_]+\][\s\v\x1c-\x1f\x{85}\p{Z}]([\p{L}\p{N}_]+)`)

// kernelCrashSignature joins the functions of a stack as the crash utility writes it.
func kernelCrashSignature(stack string, to *recorder) string {
	to.read("Stacktrace")
	var b strings.Builder
	b.WriteString("kernel")
	for at, line := range linesAt(stack, 0) {
		if m := kernelFrame.FindStringSubmatch(line); m != nil {
			to.use(line, m[1])
			to.mark("Stacktrace", at)
			b.WriteString(":" + m[1])
		}
	}
	return b.String()
}

// maskAddresses replaces every "0x" with six or more lower-case hex digits by "ADDR".
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

// stacktraceSignature joins the functions of a StacktraceTop. One line without a name, or fewer than two lines: none.
func stacktraceSignature(start, top string, f crash.Fields, to *recorder) string {
	to.read("StacktraceTop")
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
		to.use(line, name)
		to.mark("StacktraceTop", at)
		b.WriteString(":" + name)
		n++
	}
	if n < 2 {
		return ""
	}
	to.unwound(f["Stacktrace"], top)
	return b.String()
}

// tracebackSignature joins the exception's name and the functions of a Python traceback, outermost first. Outside of
// functions it takes file and line; links are not followed, since the file lies on another machine.
func tracebackSignature(f crash.Fields, path, traceback string, to *recorder) string {
	to.read("Traceback")
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
			to.use(line, name)
			to.mark("Traceback", at)
			frames.WriteString(":" + name)
		}
	}
	to.mark("Traceback", lastAt)
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

// oopsSignature takes the problem and the functions of a kernel oops whose frames look like "[<ffffffff>] name+0x1/0x2".
func oopsSignature(oops string, to *recorder) string {
	to.read("OopsText")
	var parts []string
	inTrace := false
	at, next := 0, 0
	for line := range strings.SplitSeq(oops, "\n") {
		at, next = next, next+len(line)+len("\n")
		if problem, ok := strings.CutPrefix(line, "BUG: unable to handle "); ok {
			switch i := strings.LastIndex(problem, " at "); {
			case i == 0:
				return "" // apport stumbles here
			case i > 0:
				to.change(line, problem[:i])
				to.mark("OopsText", at)
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
				to.skip(line, "the kernel is not sure of it")
				continue
			}
			to.use(line, name)
			to.mark("OopsText", at)
			parts = append(parts, name)
		default:
			inTrace = strings.HasPrefix(line, "Call Trace:")
		}
	}
	return strings.Join(parts, ":")
}
