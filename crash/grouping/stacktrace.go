package grouping

import (
	"regexp"
	"strings"
	"unicode"

	"mishap/crash/pytext"
)

// unwindFunctions end a program on purpose: what lies above them in a stack is how it ended, not why.
var unwindFunctions = map[string]bool{
	"g_logv": true, "g_log": true, "IA__g_log": true, "IA__g_logv": true, "g_assert_warning": true,
	"IA__g_assert_warning": true, "__GI_abort": true, "_XError": true,
}

// StacktraceTop is what apport makes of gdb's "bt full" (its _gen_stacktrace_top): the first five frames without number
// and address, after everything up to the first "<signal handler called>" or up to a function that ends programs
// (g_logv and its kin, abort, X errors) is thrown away. Helpers of the C library for one kind of processor are left out.
// Empty: no frames; also where apport itself stumbles over the text.
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
					return "" // apport stumbles here
				}
				if strings.HasPrefix(function, "_X") || function == "handle_response" || function == "handle_error" || function == "XWindowEvent" {
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

// topFrame cuts "#1  0x55d0 in name (…) at file" to "name (…) at file". A marker of a signal handler is one only when
// nothing but the number stands before it.
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

// jitter is the form of names that differ from machine to machine for no good reason: __strlen_sse2,
// __memcpy_ssse3_back, __kernel_vsyscall.
var jitter = regexp.MustCompile(`^__(.*_s?sse\p{Nd}+(_[\p{L}\p{N}_]+)?|kernel_vsyscall)$`)

// isJitter reports whether a function is one of those. Names of the C library are short; longer ones are not tried.
func isJitter(function string) bool {
	return len(function) < 1024 && jitter.MatchString(function)
}
