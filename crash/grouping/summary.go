package grouping

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// ownTitle returns a title for a report that one of our own rules groups, made of the parts of its
// signature: "chartroom crashed with java.io.FileNotFoundException in chartroom.Store.open()". It
// returns "" for other reports.
func ownTitle(f crash.Fields, g crash.Grouping) string {
	program := subject(f)
	base := program[strings.LastIndexByte(program, '/')+1:]
	parts := signatureParts(strings.TrimPrefix(g.Signature, program+":"))
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	switch g.Rule {
	case crash.RulePython:
		switch {
		case len(parts) > 1 && strings.HasSuffix(parts[0], "ExceptionGroup"):
			return base + " crashed with " + parts[0] + inFunction(parts[1:])
		case len(parts) > 1:
			return base + " crashed with " + parts[0] + inFunction([]string{last})
		}
		return base + " crashed with " + parts[0]
	case crash.RuleCompiler:
		return base + ": " + strings.Join(parts[:min(2, len(parts))], ": ")
	case crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		if f["ProblemType"] == "Hang" {
			return base + " did not answer" + inFunction(parts[1:])
		}
		return base + " crashed" + inFunction(parts[1:])
	case crash.RuleKernel:
		return kernelTitle(parts)
	case crash.RuleSnap:
		return strings.Join(parts[:min(2, len(parts))], " ") + ": " + strings.Join(parts[min(2, len(parts)):], ":")
	case crash.RuleRecoverable:
		return base + ": " + strings.Join(parts[1:], ":")
	default: // apport's rules, which have their own titles, and rules without a title
		return ""
	}
}

// PanicTitle returns the title of a problem that an error of Go, Rust or Java caused, made of its signature:
// "reefd panicked: index out of range in main.load()". It contains nothing that the signature does not, so visitors may
// see it. For other rules it returns "".
func PanicTitle(rule crash.GroupingRule, signature string) string {
	program, rest, _ := strings.Cut(signature, ":")
	base := program[strings.LastIndexByte(program, '/')+1:]
	parts := signatureParts(rest)
	if len(parts) == 0 {
		return ""
	}
	switch rule {
	case crash.RuleJava:
		return base + " crashed with " + parts[0] + inFunction(parts[1:])
	case crash.RuleGoPanic:
		return base + " panicked" + goTitle(parts)
	case crash.RuleRustPanic:
		return base + " panicked" + rustTitle(parts)
	default:
		return ""
	}
}

// rustTitle returns the title of a panic: the message, if there is one, and the function, else the file.
func rustTitle(parts []string) string {
	const place, message, function = 1, 2, 3
	title := ""
	if len(parts) > message && parts[message] != "" {
		title = ": " + parts[message]
	}
	if len(parts) > function {
		return title + inFunction(parts[function:])
	}
	if len(parts) > place {
		title += " in " + parts[place]
	}
	return title
}

// inFunction returns " in f()" for the first of the functions, or " in f" for code outside
// functions, "f@3".
func inFunction(functions []string) string {
	if len(functions) == 0 {
		return ""
	}
	if file, _, ok := strings.Cut(functions[0], "@"); ok {
		return " in " + file
	}
	return " in " + functions[0] + "()"
}

// goTitle returns the title of a panic. Parts with blanks are the message; functions contain none.
func goTitle(parts []string) string {
	title := ""
	for i, part := range parts {
		switch {
		case i == 0 && part == "panic":
		case i == 0, strings.Contains(part, " "):
			title += ": " + part
		case part == "recursion":
			title += ", recursion"
		default:
			return title + inFunction([]string{part})
		}
	}
	return title
}

// kernelTitle returns a title such as "kernel: NULL pointer dereference in brig_tx_done
// [brigwifi]".
func kernelTitle(parts []string) string {
	title := parts[0]
	if title == "kernel" && len(parts) > 1 {
		title, parts = "kernel: "+parts[1], parts[1:]
	}
	for _, part := range parts[1:] {
		if pytext.Run(part, pytext.IsWord) == part || strings.HasSuffix(part, "]") {
			return title + " in " + part
		}
		title += ": " + part
	}
	return title
}

// signatureParts splits a signature at single colons, except at those that end a word of a message.
func signatureParts(s string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != ':':
		case i+1 < len(s) && s[i+1] == ':':
			i++
		case i+1 < len(s) && s[i+1] == ' ':
		default:
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}

// The largest lengths of the texts of a [crash.Summary], in code points. The database indexes these
// texts. Those of real machines are far shorter.
const (
	maxWord       = 64  // problem type, architectures, release (a longer one is ignored)
	maxName       = 128 // packages and versions
	maxTitle      = 1000
	maxExecutable = 4096 // PATH_MAX
	maxWords      = 8192 // of a field that is split into words
)

// SummaryOf returns the summary of a report, without its title. Package is the first word of the field Package, and
// Version the second, unless that is "(not installed)"; further words ([modified: …], [origin: …])
// are ignored. The package architecture "all" becomes the machine's, and "unknown" becomes empty.
// All texts are truncated.
func SummaryOf(f crash.Fields) crash.Summary {
	name, version := "", ""
	if w := splitWords(f["Package"]); len(w) > 0 {
		name = w[0]
		if len(w) > 1 && !strings.HasPrefix(w[1], "(not") {
			version = w[1]
		}
	}
	machine := shortText(f["Architecture"])
	of := shortText(f["PackageArchitecture"])
	switch of {
	case "all":
		of = machine
	case "unknown":
		of = ""
	}
	return crash.Summary{
		ProblemType:         shortText(f["ProblemType"]),
		Executable:          crash.Truncate(f["ExecutablePath"], maxExecutable),
		Package:             crash.Truncate(name, maxName),
		Version:             crash.Truncate(version, maxName),
		SourcePackage:       crash.Truncate(pytext.FirstWord(f["SourcePackage"]), maxName),
		Release:             releaseIn(f["DistroRelease"]),
		Architecture:        machine,
		PackageArchitecture: of,
		AddressSignature:    crash.Truncate(AddressSignature(f), crash.MaxSignature),
		Proposed:            slices.Contains(splitWords(f["Tags"]), "package-from-proposed"),
	}
}

// TitleOf returns the title of a report that was grouped so: that of a panic ([PanicTitle]), else apport's standard
// title, else the report's own, else one made by our grouping rules. It is truncated.
func TitleOf(f crash.Fields, g crash.Grouping) string {
	title := PanicTitle(g.Rule, g.Signature) // apport's would name the function that ends the program
	if title == "" {
		title = StandardTitle(f)
	}
	if _, oops := f["OopsText"]; oops && f["ProblemType"] == "KernelOops" {
		title = withoutStamp(title) // time stamps would make each title unique
	}
	if title == "" {
		title = f["Title"]
	}
	if title == "" {
		title = ownTitle(f, g)
	}
	return crash.Truncate(title, maxTitle)
}

// releaseIn returns the release that a field names, or "" if the text is too long or not printable.
func releaseIn(text string) crash.Release {
	text = strings.TrimFunc(text, pytext.IsSpace)
	if len(text) > maxWord*utf8.UTFMax || utf8.RuneCountInString(text) > maxWord {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return ""
	}
	return crash.Release(text)
}

func splitWords(s string) []string {
	return strings.FieldsFunc(crash.Truncate(s, maxWords), pytext.IsSpace)
}

func shortText(s string) string { return crash.Truncate(strings.TrimFunc(s, pytext.IsSpace), maxWord) }

// corruptionTexts lists messages of the C library and of sanitizers about overwritten or doubly
// freed memory.
var corruptionTexts = []string{
	"double free", "invalid pointer", "corrupted size", "corrupted double-linked list", "corrupted unsorted chunks",
	"corrupted top size", "invalid next size", "invalid size (unsorted)", "malloc(): memory corruption",
	"malloc_consolidate():", "munmap_chunk(): invalid", "realloc(): invalid", "free(): invalid", "free(): corrupted",
	"heap corruption", "stack smashing detected", "buffer overflow detected", "heap-use-after-free",
	"heap-buffer-overflow", "stack-buffer-overflow", "stack-use-after", "attempting double-free",
}

// corruptionFunctions maps functions that end a program for such reasons to the reason.
var corruptionFunctions = map[string]string{
	"malloc_printerr": "the heap was found corrupted", "__stack_chk_fail": "a buffer on the stack was overrun",
	"__fortify_fail": "a buffer was overrun", "__chk_fail": "a buffer was overrun",
}

// SuspectedCorruption says why a crash may be due to corrupted memory, which attackers might
// exploit. It returns part of a sentence ("it wrote to memory that is not its own"), or "" if
// nothing suggests corruption. It is a hint, not proof: it knows messages of the C library and of
// sanitizers, and the functions by which they end programs. In apport's SegvReason, it looks for
// writes and jumps to addresses other than NULL. It ignores reads, which are mostly due to
// uninitialised pointers.
func SuspectedCorruption(f crash.Fields) string {
	for _, field := range []string{"AssertionMessage", "Title"} {
		text := strings.ToLower(crash.Truncate(f[field], maxWords))
		for _, words := range corruptionTexts {
			if strings.Contains(text, words) {
				return "the program was ended with the words “" + words + "”"
			}
		}
	}
	reason := strings.ToLower(strings.TrimFunc(crash.Truncate(f["SegvReason"], maxWords), pytext.IsSpace))
	if !strings.Contains(reason, "null") {
		switch {
		case strings.HasPrefix(reason, "writing"):
			return "it wrote to memory that is not its own"
		case strings.HasPrefix(reason, "executing"):
			return "it ran on at an address where there is no program"
		}
	}
	for i, frame := range Frames(f) {
		if i == 12 { // lower frames often belong to the normal path of the program
			break
		}
		if why := corruptionFunctions[frame.Function]; why != "" {
			return why
		}
	}
	return ""
}
