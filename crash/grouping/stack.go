package grouping

import (
	"strings"

	"mishap/crash"
)

// stackNamesSignature is the rule for native crashes all of whose frames have names, but names in a form that apport's rule
// refuses: in an anonymous namespace, as "<T as Trait>::f", "*__GI_raise", with a blank before them.
//
// As apport's: the program, the signal, the functions of StacktraceTop. Functions by which Rust panics are left out. It
// stands before the address signature, since there is nothing to wait for: the names are known.
func stackNamesSignature(f crash.Fields, to *recorder) string {
	top := headOf(f["StacktraceTop"])
	program := subject(f)
	if top == "" || program == "" || strings.HasPrefix(top, "??") || strings.Contains(top, "\n??") {
		return ""
	}
	to.read("StacktraceTop")
	frames := topFrames(top)
	for _, frame := range frames {
		if frame.Function != signalHandler && cleanSymbol(frame.Function) == "" {
			return ""
		}
	}
	names := nativeNames(frames, frameOffsets("StacktraceTop", f, top), to)
	if len(names) < 2 {
		return ""
	}
	return join(append([]string{program, ending(f)}, names...)...)
}

// stackPartialSignature is the rule for native crashes some of whose frames have no name, and which have no address
// signature by which they could wait for one. At least two frames need names, one of them a name that not every program
// has. A frame without a name stands as the library it is in, else as "??".
func stackPartialSignature(f crash.Fields, to *recorder) string {
	field, top := "StacktraceTop", headOf(f["StacktraceTop"])
	if top == "" {
		field, top = "Stacktrace", StacktraceTop(headOf(f["Stacktrace"]))
	}
	program := subject(f)
	if top == "" || program == "" {
		return ""
	}
	to.read(field)
	names := nativeNames(topFrames(top), frameOffsets(field, f, top), to)
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

// ending is how the program ended: the number of the signal, else the type of the problem in small letters.
func ending(f crash.Fields) string {
	if signal := word(f["Signal"]); signal != "" {
		return signal
	}
	return strings.ToLower(word(f["ProblemType"]))
}

// nativeNames are the names that stand for frames. Several frames of one library without names stand as one.
func nativeNames(frames []Frame, places frameMarks, to *recorder) []string {
	rust := 0 // frames that are left when Rust's own are left out
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
		case len(names) == mostFrames:
			why = "enough frames"
		case len(names) > 0 && name == names[len(names)-1] && (name == "??" || name[0] == '['):
			why = "the same library again"
		}
		if why != "" {
			to.skip(frame.text(), why)
			continue
		}
		to.use(frame.text(), name)
		places.mark(i, to)
		names = append(names, name)
	}
	return names
}

// text is a frame in short, for explanations: without arguments, which may be private.
func (f Frame) text() string {
	switch {
	case f.File != "":
		return f.Function + " at " + f.File
	case f.Module != "":
		return f.Function + " from " + f.Module
	}
	return f.Function
}

// libraryName is the file of a library without directory and version: "libgobject-2.0.so" of
// "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0.8000.0".
func libraryName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.Index(name, ".so."); i > 0 {
		name = name[:i+len(".so")]
	}
	return name
}

// isRustPanicking knows the functions by which a panic comes about.
func isRustPanicking(name string) bool {
	for _, start := range [...]string{"core::panicking::", "std::panicking::", "std::rt::begin_panic", "rust_begin_unwind", "rust_panic", "__rust_start_panic", "__rust_abort", "std::sys::backtrace::", "std::sys_common::backtrace::", "panic_abort::", "std::process::abort", "core::result::unwrap_failed", "core::option::unwrap_failed", "core::option::expect_failed"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// isCommon knows functions that every program has, or every program that ends itself.
func isCommon(name string) bool {
	switch strings.TrimPrefix(name, "__GI_") {
	case "main", "_start", "start_thread", "clone", "clone3", "__clone3", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "raise", "abort", "__abort", "__pthread_kill",
		"__pthread_kill_implementation", "__pthread_kill_internal", "pthread_kill", "tgkill", "kill", "__libc_message", "malloc_printerr", "_int_free", "_int_malloc", "free", "malloc", "calloc", "realloc",
		"poll", "__poll", "ppoll", "select", "read", "write", "g_main_loop_run", "g_main_context_iterate", "g_main_context_dispatch", "g_logv", "g_log", signalHandler:
		return true
	}
	return false
}
