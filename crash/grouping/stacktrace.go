package grouping

import (
	"regexp"
	"strings"
	"unicode"

	"mishap/crash/pytext"
)

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
