package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// compilerSignature is the rule for internal errors of GCC. The compiler files the report itself,
// with the preprocessed source, whose first comments contain its messages. There is no signal and
// no stack from a debugger.
//
// The signature consists of the program, "internal compiler error", the message without line
// numbers and the name of the source file, and the first five functions of the compiler's own
// backtrace, without those that report errors. There is no signature for a message that only says
// how the compiler ended ("Segmentation fault"), unless there is a backtrace.
func compilerSignature(f crash.Fields, rec *recorder) string {
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
		rec.read(field)
		rec.mark(field, at)
		message, rest, _ := strings.Cut(text[at+len(internalError):], "\n")
		names := compilerFrames(rest, field, offsetIn(text, rest), rec)
		said := compilerMessage(message)
		if len(names) == 0 && !strings.Contains(said, " in ") && !strings.HasPrefix(said, "in ") &&
			!strings.HasPrefix(said, "verify_") {
			return ""
		}
		return join(append([]string{program, "internal compiler error", rec.change(message, said)}, names...)...)
	}
	return ""
}

const internalError = "internal compiler error: "

// compilerMessage removes what varies: "in gimplify_expr, at gimplify.cc:17682" becomes "in
// gimplify_expr, at gimplify.cc".
func compilerMessage(message string) string {
	message = strings.TrimRight(strings.TrimSpace(message), ".")
	return withoutNumbers(normalise(withoutLine(message), nil))
}

// withoutLine removes the line number from a position at the end of s.
func withoutLine(s string) string {
	trimmed := strings.TrimRight(s, "0123456789")
	if trimmed != s && strings.HasSuffix(trimmed, ":") {
		return strings.TrimSuffix(trimmed, ":")
	}
	return s
}

// compilerFrames returns the functions in lines of the form "// 0x55d0a1b2c3
// gimplify_expr(tree_node**, gimple**)". It skips functions of the C library that start or end a
// program.
func compilerFrames(text, field string, base int, rec *recorder) []string {
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
		case name == "crash_signal" || name == "internal_error" || name == "fancy_abort" ||
			strings.HasPrefix(name, "diagnostic_") || strings.HasPrefix(name, "tree_check_failed"):
			why = "it only reports the fault"
		case isCommon(name) || strings.HasPrefix(name, "toplev::"):
			why = "every compiler has it"
		case len(names) == maxSignatureFrames:
			why = "the signature has enough frames"
		}
		if rec.decide(function, name, why) {
			rec.mark(field, at)
			names = append(names, name)
		}
	}
	return names
}
