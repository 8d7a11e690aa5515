package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// rustPanicSignature is the rule for panics of Rust programs. They end with a signal only if
// configured to, and then the stack contains mostly functions of the runtime.
//
// The signature consists of the program, "panic", the source file, the message up to its first
// colon or quotation mark, where data begins, and the first five functions of the backtrace, if
// any, outside the standard library. It omits line and column, the thread, hash suffixes of
// functions, build directories, and versions of libraries.
//
// If there is no backtrace and the message is common ("called `Option::unwrap()`…"), the signature
// includes the line. The line changes between versions, but nothing else distinguishes the places
// in a file. The rule reads both formats: "panicked at src/main.rs:10:5:" followed by the message
// (since Rust 1.73), and "panicked at 'message', src/main.rs:10:5".
func rustPanicSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	field, text := panicText(f, "' panicked at ")
	if text == "" {
		field, text = panicText(f, ") panicked at ") // with the thread id
	}
	if text == "" || program == "" {
		return ""
	}
	first, rest, _ := strings.Cut(text, "\n")
	if i := strings.Index(first, "thread '"); i < 0 {
		return ""
	}
	_, said, _ := strings.Cut(first, " panicked at ")
	file, message, messageAt := rustPlace(said, rest)
	if file == "" {
		return ""
	}
	rec.read(field)
	rec.mark(field, offsetIn(f[field], text))
	if messageAt >= 0 {
		rec.mark(field, offsetIn(f[field], rest)+messageAt)
	}
	names := rustFrames(rest, field, offsetIn(f[field], rest), rec)
	place := rustFile(file)
	if len(names) == 0 && isRustCommon(message) {
		place += "@" + rustLine(file)
	}
	return join(append([]string{program, "panic", rec.change(said, place), rec.change(message, rustMessage(message))},
		names...)...)
}

// rustPlace splits a panic into file and message. moreAt is the offset in rest of a second line
// with one of them, or -1.
func rustPlace(said, rest string) (file, message string, moreAt int) {
	said = strings.TrimRight(said, " \r")
	if !strings.HasPrefix(said, "'") && strings.HasSuffix(said, ":") {
		message, _, _ = strings.Cut(rest, "\n")
		return strings.TrimSuffix(said, ":"), message, 0
	}
	if i := strings.LastIndex(said, "', "); i > 0 {
		return said[i+len("', "):], strings.TrimPrefix(said[:i], "'"), -1
	}
	if message, ok := strings.CutPrefix(said, "'"); ok { // a message of several lines, followed by the place
		at := 0
		for line := range strings.SplitSeq(headOf(rest), "\n") {
			if i := strings.LastIndex(line, "', "); i >= 0 {
				return strings.TrimSpace(line[i+len("', "):]), message, at
			}
			at += len(line) + len("\n")
		}
		return "", "", -1
	}
	return said, "", -1
}

// rustMessage returns the message up to the data. After "assertion failed: " there is no data, but
// source text of the program.
func rustMessage(message string) string {
	if condition, ok := strings.CutPrefix(message, assertionFailed); ok {
		return assertionFailed + panicMessage(condition)
	}
	return panicMessage(message)
}

const assertionFailed = "assertion failed: "

// rustCommon lists prefixes of messages that the language itself produces.
var rustCommon = [...]string{
	"called `Option::", "called `Result::", "index out of bounds", "attempt to ", "explicit panic",
	"internal error: entered unreachable code", "not yet implemented", "not implemented", "assertion `left ",
	"assertion failed: `(left ", "already borrowed", "already mutably borrowed", "RefCell already", "byte index",
	"start byte index", "end byte index", "slice index", "range start index", "range end index", "capacity overflow",
	"misaligned pointer", "null pointer dereference",
}

func isRustCommon(message string) bool {
	for _, start := range rustCommon {
		if strings.HasPrefix(message, start) {
			return true
		}
	}
	return strings.TrimSpace(message) == ""
}

// rustLine returns the line number of "src/main.rs:10:5".
func rustLine(place string) string {
	_, rest, _ := strings.Cut(place, ":")
	return crash.Truncate(pytext.Run(rest, pytext.IsDigit), maxWord)
}

// rustFile returns a source file without line, column and build directory.
func rustFile(place string) string {
	file, _, _ := strings.Cut(place, ":")
	file = strings.TrimSpace(crash.Truncate(file, maxMessage))
	switch {
	case strings.Contains(file, "/registry/src/"): // …/index.crates.io-6f17d22bba15001f/tokio-1.35.1/src/x.rs
		_, file, _ = strings.Cut(file, "/registry/src/")
		_, file, _ = strings.Cut(file, "/")
	case strings.HasPrefix(file, "/rustc/"):
		_, file, _ = strings.Cut(strings.TrimPrefix(file, "/rustc/"), "/")
	case strings.Contains(file, "/library/") && strings.HasPrefix(file, "/"):
		file = file[strings.Index(file, "/library/")+1:]
	case strings.HasPrefix(file, "/"):
		if i := strings.LastIndex(file, "/src/"); i >= 0 { // "/build/reef-AbC1/reef-1.2/src/main.rs"
			file = file[strings.LastIndexByte(file[:i], '/')+1:]
		}
	}
	return normalise(file, nil)
}

// rustFrames parses lines "   3: reef::load::h0123456789abcdef" or "   3:     0x55f1 - reef::load",
// each followed by "at file".
func rustFrames(text, field string, base int, rec *recorder) []string {
	var names []string
	inTrace := false
	for at, line := range linesAt(headOf(text), base) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "stack backtrace:") {
			inTrace = true
			continue
		}
		if !inTrace || trimmed == "" || strings.HasPrefix(trimmed, "at ") {
			continue
		}
		number, function, ok := strings.Cut(trimmed, ":")
		if !ok || !isNumber(number) {
			if len(names) > 0 || !strings.HasPrefix(line, " ") {
				break // end of the backtrace
			}
			continue
		}
		function = strings.TrimSpace(function)
		if address, after, found := strings.Cut(function, " - "); found && strings.HasPrefix(address, "0x") {
			function = strings.TrimSpace(after)
		}
		name := cleanSymbol(function)
		why := ""
		switch {
		case name == "" || name == "<unknown>":
			why = "it has no name"
		case isRustRuntime(name):
			why = "it belongs to Rust's runtime"
		case isRustExecutor(name):
			why = "it only runs tasks"
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

// isRustRuntime matches functions of the standard library that raise a panic, and those around
// main.
func isRustRuntime(name string) bool {
	bare := strings.TrimLeft(name, "<&")
	for _, start := range [...]string{"std::", "core::", "alloc::", "rust_begin_unwind", "rust_panic", "__rust", "_rust_",
		"___rust", "__libc_start", "_start", "_Unwind", "__GI_", "start_thread", "clone", "__clone", "test::", "std[",
		"core["} {
		if strings.HasPrefix(bare, start) {
			return !strings.Contains(name, " as ") || isRustTrait(name)
		}
	}
	return name == "main" || name == "raise" || name == "abort"
}

// isRustExecutor matches functions by which asynchronous libraries run tasks. Their calls of each
// other change between versions of the library.
func isRustExecutor(name string) bool {
	bare := strings.TrimLeft(name, "<&")
	for _, start := range [...]string{"tokio::runtime::", "tokio::task::", "tokio::loom::", "futures_util::",
		"futures_executor::", "async_executor::", "async_task::", "async_std::task::", "smol::"} {
		if strings.HasPrefix(bare, start) {
			return true
		}
	}
	return false
}

// isRustTrait reports whether the trait in "<core::X as core::Y>::f" belongs to the standard
// library.
func isRustTrait(name string) bool {
	_, trait, _ := strings.Cut(name, " as ")
	return strings.HasPrefix(trait, "core::") || strings.HasPrefix(trait, "std::") || strings.HasPrefix(trait, "alloc::")
}
