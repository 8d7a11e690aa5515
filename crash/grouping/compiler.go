package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// compilerSignature is the rule for internal errors of GCC: the compiler reports itself with the preprocessed source, at the
// head of which, as comments, stands what it said. There is no signal and no stack of a debugger.
//
// The program, "internal compiler error", the message without lines and what the source file is called, and the first five functions
// of the compiler's own backtrace, without those that report. A message that only says how the compiler ended
// ("Segmentation fault") does without a backtrace tell nothing, and gives no signature.
func compilerSignature(f crash.Fields, to *recorder) string {
	program := subject(f)
	if program == "" {
		return ""
	}
	for _, field := range [...]string{"PreprocessedSource", "ErrorMessage", "StdErr", "Stderr"} {
		text := headOf(f[field])
		at := strings.Index(text, internalError)
		if at < 0 {
			continue
		}
		to.read(field)
		to.mark(field, at)
		message, rest, _ := strings.Cut(text[at+len(internalError):], "\n")
		names := compilerFrames(rest, field, offsetIn(text, rest), to)
		said := compilerMessage(message)
		if len(names) == 0 && !strings.Contains(said, " in ") && !strings.HasPrefix(said, "in ") && !strings.HasPrefix(said, "verify_") {
			return ""
		}
		return join(append([]string{program, "internal compiler error", to.change(message, said)}, names...)...)
	}
	return ""
}

const internalError = "internal compiler error: "

// compilerMessage is "in gimplify_expr, at gimplify.cc" of "in gimplify_expr, at gimplify.cc:17682".
func compilerMessage(message string) string {
	message = strings.TrimRight(strings.TrimSpace(message), ".")
	return withoutNumbers(normalise(withoutLine(message), nil))
}

// withoutLine cuts the line off a place at the end of a text.
func withoutLine(s string) string {
	trimmed := strings.TrimRight(s, "0123456789")
	if trimmed != s && strings.HasSuffix(trimmed, ":") {
		return strings.TrimSuffix(trimmed, ":")
	}
	return s
}

// compilerFrames reads lines "// 0x55d0a1b2c3 gimplify_expr(tree_node**, gimple**)", each with the file below. Functions of
// the C library that end or begin a program are none.
func compilerFrames(text, field string, base int, to *recorder) []string {
	var names []string
	n := 0
	for at, line := range linesAt(text, base) {
		line = strings.TrimSpace(strings.TrimLeft(line, "/"))
		if n++; n > 300 || strings.HasPrefix(line, "Please submit") || strings.HasPrefix(line, "Please include") {
			break
		}
		address, function, ok := strings.Cut(line, " ")
		hex, isHexadecimal := strings.CutPrefix(address, "0x")
		if !ok || !isHexadecimal || pytext.Run(hex, isHex) != hex {
			continue
		}
		name := cleanSymbol(function)
		why := ""
		switch {
		case name == "":
			why = "it has no name"
		case name == "crash_signal" || name == "internal_error" || name == "fancy_abort" || strings.HasPrefix(name, "diagnostic_") || strings.HasPrefix(name, "tree_check_failed"):
			why = "it only reports the fault"
		case isCommon(name) || strings.HasPrefix(name, "toplev::"):
			why = "every compiler has it"
		case len(names) == mostFrames:
			why = "enough frames"
		}
		if why != "" {
			to.skip(function, why)
			continue
		}
		to.use(function, name)
		to.mark(field, at)
		names = append(names, name)
	}
	return names
}
