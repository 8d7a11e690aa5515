package grouping

import (
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
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

// ending returns how the program ended: the number of the signal, else the problem type in lower
// case.
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

// isRustPanicking matches functions that raise a panic.
func isRustPanicking(name string) bool {
	for _, start := range [...]string{"core::panicking::", "std::panicking::", "std::rt::begin_panic", "rust_begin_unwind",
		"rust_panic", "__rust_start_panic", "__rust_abort", "std::sys::backtrace::", "std::sys_common::backtrace::",
		"panic_abort::", "std::process::abort", "core::result::unwrap_failed", "core::option::unwrap_failed",
		"core::option::expect_failed"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// isCommon matches functions of every program, and of every program that aborts.
func isCommon(name string) bool {
	switch strings.TrimPrefix(name, "__GI_") {
	case "main", "_start", "start_thread", "clone", "clone3", "__clone3", "__libc_start_main", "__libc_start_main_impl",
		"__libc_start_call_main", "raise", "abort", "__abort", "__pthread_kill", "__pthread_kill_implementation",
		"__pthread_kill_internal", "pthread_kill", "tgkill", "kill", "__libc_message", "malloc_printerr", "_int_free",
		"_int_malloc", "free", "malloc", "calloc", "realloc", "poll", "__poll", "ppoll", "select", "read", "write",
		"g_main_loop_run", "g_main_context_iterate",
		"g_main_context_dispatch", "g_logv", "g_log", signalHandler:
		return true
	}
	return false
}
