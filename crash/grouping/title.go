package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// StandardTitle is apport's standard_title(): one sentence for people, "tidewatch crashed with
// SIGSEGV in tide_parse_row()". The result is empty if apport gives no title or fails. It may
// contain line ends. If mishap has worked out the stack, the function is the first of the signature.
func StandardTitle(f crash.Fields) string {
	path, hasPath := f["ExecutablePath"]
	base := path[strings.LastIndexByte(path, '/')+1:]
	_, hasSignal := f["Signal"]
	if message, ok := f["AssertionMessage"]; ok && hasPath && f["Signal"] == "6" {
		return base + " assert failure: " + message
	}
	if _, ok := f["StacktraceTop"]; ok && hasPath && hasSignal {
		return signalTitle(f, base)
	}
	if traceback, ok := f["Traceback"]; ok && hasPath {
		return tracebackTitle(base, path, traceback)
	}
	if name, ok := f["Package"]; ok && f["ProblemType"] == "Package" {
		return packageTitle(name, f["ErrorMessage"])
	}
	if f["ProblemType"] == "KernelOops" {
		return oopsTitle(f)
	}
	return ""
}

// HasUsefulStacktrace is apport's has_useful_stacktrace(): at most half of the functions of
// StacktraceTop are unknown or, of one or two, none.
func HasUsefulStacktrace(f crash.Fields) bool {
	n, unknown := 0, 0
	for line := range pytext.Lines(f["StacktraceTop"]) {
		n++
		if strings.HasPrefix(line, "??") {
			unknown++
		}
	}
	if n < 3 {
		return n > 0 && unknown == 0
	}
	return 2*unknown <= n
}

// TopFunction is apport's stacktrace_top_function(). It returns the first named function of
// StacktraceTop, or "".
func TopFunction(f crash.Fields) string {
	for line := range pytext.Lines(f["StacktraceTop"]) {
		name, _, _ := strings.Cut(line, "(")
		if name = strings.TrimFunc(name, pytext.IsSpace); name != "??" {
			return name
		}
	}
	return ""
}

func signalTitle(f crash.Fields, base string) string {
	signal := f["SignalName"]
	if signal == "" {
		number, err := strconv.Atoi(strings.TrimFunc(f["Signal"], pytext.IsSpace))
		if err != nil {
			return ""
		}
		signal = signalName(number)
	}
	title := base + " crashed with " + signal
	function := TopFunction(f)
	if namedHere(f) { // apport's rule cuts "main.(*Reef).load" at the bracket
		stack := causeOf(f)
		if names := stack.names(nil); len(names) > 0 && !isUnnamed(names[0]) {
			function = names[0]
		}
	}
	if function != "" {
		title += " in " + function + "()"
	}
	machine, known := f["Architecture"]
	of := f["PackageArchitecture"]
	if _, ok := f["PackageArchitecture"]; ok && known && of != machine && of != "all" {
		title += " [non-native " + of + " package]"
	}
	return title
}

// signalNames lists Linux signals on x86 and ARM by number; see signal(7).
var signalNames = [...]string{
	1: "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
	"STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
	"PWR",
	"SYS", 34: "RTMIN", 64: "RTMAX",
}

// signalName returns the name of a signal, "SIGSEGV" for 11, or "signal 99" for a number without a
// name.
func signalName(number int) string {
	if number > 0 && number < len(signalNames) && signalNames[number] != "" {
		return "SIG" + signalNames[number]
	}
	return "signal " + strconv.Itoa(number)
}

func tracebackTitle(base, path, traceback string) string {
	var first, last string
	n := 0
	file, function := "", "unknown"
	for line := range pytext.Lines(traceback) {
		if n++; n == 1 {
			first = line
		}
		last = line
		if fl, fn, ok := titleLocation(line); ok {
			file, function = fl, fn
		}
	}
	switch n {
	case 0:
		return ""
	case 1, 2:
		return base + " crashed with " + first
	}
	where := function + "()"
	if function == "<module>" {
		if where = file; file == path {
			where = "__main__"
		}
	}
	exception, _, _ := strings.Cut(last, ":")
	title := base + " crashed with " + exception + " in " + where
	if message, ok := strings.CutPrefix(last[len(exception):], ": "); ok && message != "" {
		title += ": " + message
	}
	return title
}

// titleLocation parses a frame of a traceback like apport's pattern for titles,
// `^\s*File\s*"(\S+)".* in (.+)$`. It ignores files with blanks in their names.
func titleLocation(line string) (file, function string, ok bool) {
	rest, found := strings.CutPrefix(strings.TrimLeftFunc(line, pytext.IsSpace), "File")
	if !found {
		return "", "", false
	}
	if rest, found = strings.CutPrefix(strings.TrimLeftFunc(rest, pytext.IsSpace), `"`); !found {
		return "", "", false
	}
	quote := strings.LastIndexByte(pytext.Run(rest, pytext.IsNoSpace), '"')
	if quote < 1 {
		return "", "", false
	}
	tail := rest[quote+1:]
	in := strings.LastIndex(tail[:max(0, len(tail)-1)], " in ")
	if in < 0 {
		return "", "", false
	}
	return rest[:quote], tail[in+len(" in "):], true
}

func packageTitle(name, message string) string {
	title := "package " + name + " failed to install/upgrade"
	if message == "" {
		return title
	}
	var last string
	for line := range pytext.Lines(message) {
		last = line
	}
	return title + ": " + last
}

func oopsTitle(f crash.Fields) string {
	if oops, ok := f["OopsText"]; ok {
		first, rest, more := strings.Cut(oops, "\n")
		if !strings.HasPrefix(oops, "------------[ cut here ]------------") {
			return first
		}
		if !more {
			return ""
		}
		first, _, _ = strings.Cut(rest, "\n")
		return first
	}
	failure, ok := f["Failure"]
	if !ok {
		return ""
	}
	title := failure + " failure"
	if machine, ok := f["MachineType"]; ok {
		title = "[" + machine + "] " + title
	}
	if modules, ok := f["NonfreeKernelModules"]; ok {
		title += " [non-free: " + modules + "]"
	}
	return title + "\n"
}
