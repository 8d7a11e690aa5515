package grouping

import (
	"strings"

	"mishap/crash"
)

// stackNamesSignature is the rule for native crashes whose frames all have names, some of them in a
// form that apport's rule rejects: in an anonymous namespace, as "<T as Trait>::f", "*__GI_raise",
// or with a leading blank.
//
// The signature has apport's form: the program, the signal, and the functions of StacktraceTop,
// without functions by which Rust panics. The rule precedes the address signature, because
// symbolising would add nothing.
func stackNamesSignature(f crash.Fields, rec *recorder) string {
	top := headOf(f["StacktraceTop"])
	program := subject(f)
	if top == "" || program == "" || strings.HasPrefix(top, "??") || strings.Contains(top, "\n??") {
		return ""
	}
	rec.read("StacktraceTop")
	frames := topFrames(top)
	for _, frame := range frames {
		if frame.Function != signalHandler && cleanSymbol(frame.Function) == "" {
			return ""
		}
	}
	names := nativeNames(frames, frameOffsets("StacktraceTop", f, top), rec)
	if len(names) < 2 {
		return ""
	}
	return join(append([]string{program, ending(f)}, names...)...)
}

// stackPartialSignature is the rule for native crashes with some unnamed frames and without an
// address signature. At least two frames must have names, one of them a name that not every program
// has. The signature represents an unnamed frame by its library, else by "??".
func stackPartialSignature(f crash.Fields, rec *recorder) string {
	field, top := "StacktraceTop", headOf(f["StacktraceTop"])
	if top == "" {
		field, top = "Stacktrace", StacktraceTop(headOf(f["Stacktrace"]))
	}
	program := subject(f)
	if top == "" || program == "" {
		return ""
	}
	rec.read(field)
	names := nativeNames(topFrames(top), frameOffsets(field, f, top), rec)
	named, telling := 0, 0
	for _, name := range names {
		if name == "??" || strings.HasPrefix(name, "[") {
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

// nativeNames returns the names of frames. Consecutive unnamed frames of one library count as one.
func nativeNames(frames []Frame, places frameMarks, rec *recorder) []string {
	rust := 0 // number of frames without those of Rust's panics
	for _, frame := range frames {
		if name := cleanSymbol(frame.Function); name != "" && !isRustPanicking(name) {
			rust++
		}
	}
	var names []string
	for i, frame := range frames {
		name := cleanSymbol(frame.Function)
		why := ""
		switch {
		case frame.Function == signalHandler:
			name = signalHandler
		case name == "" && frame.Module != "":
			name = "[" + libraryName(frame.Module) + "]"
		case name == "":
			name = "??"
		case rust >= 2 && isRustPanicking(name):
			why = "by it, Rust panics"
		}
		switch {
		case why != "":
		case len(names) == maxSignatureFrames:
			why = "the signature has enough frames"
		case len(names) > 0 && name == names[len(names)-1] && (name == "??" || name[0] == '['):
			why = "the same library again"
		}
		if rec.decide(frame.text(), name, why) {
			places.mark(i, rec)
			names = append(names, name)
		}
	}
	return names
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
