package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// kernelSignature is the rule for oopses, warnings, panics, lock-ups and hung tasks of the kernel, for which apport's rule
// knows only the form of the year 2016 ("IP: [<ffffffffa04b1e22>] name+0x62/0x110"). Since then frames have no address,
// the place is called RIP, and other machines (arm64, riscv, s390, powerpc) name it in their own ways; logs add time stamps.
//
// "kernel:", what is wrong, the function where it happened, and its callers, five functions in all, with the modules they
// are in. Offsets within functions are left out, they change with each build; so are frames that the kernel itself marks as
// unreliable ("? name"), functions that only report the fault, and those by which each thread enters the kernel. A fault
// within an interrupt goes by the frames of the interrupt, not by those of whatever was interrupted; a lock-up, which an
// interrupt notices, by those of what was interrupted. A problem without any function gives no signature, except a panic,
// which says why.
func kernelSignature(f crash.Fields, to *recorder) string {
	field, text := kernelText(f)
	if text == "" {
		return ""
	}
	to.read(field)
	o := oopsReader{field: field, detailAt: -1}
	if field != "OopsText" { // the end of a log
		o.at = offsetIn(f[field], text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if o.line(withoutStamp(line)); o.done {
			break
		}
		o.at += len(line) + len("\n")
	}
	return o.signature(to)
}

// kernelText is what the kernel said: the oops itself, else the log that was saved with a dump of the memory.
func kernelText(f crash.Fields) (field, text string) {
	if oops := f["OopsText"]; oops != "" {
		return "OopsText", headOf(oops)
	}
	if kind := f["ProblemType"]; kind != "KernelCrash" && kind != "KernelOops" {
		return "", ""
	}
	for _, field := range [...]string{"VmCoreDmesg", "VmCoreLog"} {
		if log := f[field]; log != "" {
			return field, tailOf(log)
		}
	}
	return "", ""
}

// oopsReader reads the lines of one problem; the first in the text is the one that counts, what follows is its
// consequence.
type oopsReader struct {
	field     string
	at        int // offset of the line being read
	problemAt int // offsets of the lines with the problem, its detail and its place
	detailAt  int
	placedAt  int

	problem string // "NULL pointer dereference"
	detail  string // of a warning or panic: the sentence before it, or the file it is in
	place   string // where it happened, "brig_tx_done [brigwifi]"
	placed  string // the line that says so
	lockup  bool   // noticed by an interrupt
	asleep  bool   // functions that wait say nothing
	panics  bool   // the problem says by itself what is wrong
	traces  int    // call traces that were begun
	inTrace bool
	marker  string // "<IRQ>": what the frames belong to
	frames  []kernelCall
	done    bool
}

// kernelCall is a line of a call trace.
type kernelCall struct {
	text, name string
	at         int // offset of the line
	marker     string
	unreliable bool
}

const mostKernelLines = 100 // of one call trace

func (o *oopsReader) line(line string) {
	text := strings.TrimSpace(line)
	if text == "" {
		return
	}
	if o.inTrace {
		if o.frame(text) {
			return
		}
		o.inTrace = false
	}
	switch {
	case strings.HasPrefix(text, "---[ end "):
		o.done = o.problem != "" && (o.place != "" || len(o.frames) > 0)
	case isTraceStart(text):
		o.traces++
		o.inTrace, o.marker = o.traces == 1, ""
	case o.place == "" && o.takePlace(text):
	default:
		o.takeProblem(text)
	}
}

func isTraceStart(text string) bool {
	return strings.HasPrefix(text, "Call Trace:") || strings.HasPrefix(text, "Call trace:") || text == "Backtrace:"
}

// frame takes a line of a call trace; false when the trace is over.
func (o *oopsReader) frame(text string) bool {
	if strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "</") && strings.HasSuffix(text, ">") {
		o.marker = text
		return true
	}
	if strings.HasPrefix(text, "</") {
		o.marker = ""
		return true
	}
	call, ok := parseKernelCall(text)
	if !ok {
		return isRegisterLine(text)
	}
	call.marker, call.at = o.marker, o.at
	if len(o.frames) < mostKernelLines {
		o.frames = append(o.frames, call)
	}
	return true
}

// isRegisterLine knows lines of registers between the frames of 32-bit ARM, "r7:00000015 r6:80d175cc".
func isRegisterLine(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && len(name) <= 3 && name[:min(1, len(name))] == "r" && isNumber(name[1:])
}

// parseKernelCall reads " ? name+0x1/0x2 [module]", "[<ffff>] name+0x1/0x2", "[c000] [c001] name+0x1 (unreliable)",
// "[<c01>] (name) from [<c02>] (caller+0x1/0x2)", "name from caller+0x1/0x2", "name (file.c:12) module", "name [module]".
func parseKernelCall(text string) (kernelCall, bool) {
	call := kernelCall{text: text}
	rest := strings.TrimPrefix(text, "(")
	for strings.HasPrefix(rest, "[") {
		address, after, ok := strings.Cut(rest[1:], "]")
		address = strings.Trim(address, "<>")
		if !ok || pytext.Run(address, isHex) != address {
			return call, false
		}
		rest = strings.TrimLeft(strings.TrimPrefix(after, ")"), " ")
	}
	if after, ok := strings.CutPrefix(rest, "? "); ok {
		rest, call.unreliable = after, true
	}
	if strings.Contains(rest, "(unreliable)") {
		call.unreliable = true
	}
	if from, _, ok := strings.Cut(rest, " from "); ok {
		call.name = kernelName(strings.Trim(from, "()"), "")
		return call, call.name != ""
	}
	name := pytext.Run(rest, isKernelName)
	after := rest[len(name):]
	switch {
	case strings.HasPrefix(after, "+0x"):
	case strings.HasPrefix(after, " (") && strings.Contains(after, ":"): // decoded: file and line
	case isBareCall(name, after):
	default:
		return call, false
	}
	call.name = kernelName(name, after)
	return call, call.name != ""
}

// isBareCall knows a function that stands without offset, as some collectors write them: alone in its line, or with its
// module behind it.
func isBareCall(name, after string) bool {
	after = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(after), "(unreliable)"))
	if after != "" && (after[0] != '[' || strings.IndexByte(after, ']') != len(after)-1) {
		return false
	}
	return len(name) > 2 && pytext.Run(name, isHex) != name && strings.ToUpper(name) != name
}

func isKernelName(r rune) bool { return pytext.IsWord(r) || r == '.' || r == '$' }

// kernelName is a function with its module; what compilers add to it ("brig_irq.cold", "brig_irq.constprop.0") goes.
func kernelName(name, after string) string {
	bare := strings.TrimLeft(name, ".") // powerpc had ".name" for functions
	bare, _, _ = strings.Cut(bare, ".")
	if bare == "" || pytext.Run(bare, pytext.IsWord) == "" || isNumber(bare) || strings.HasPrefix(bare, "0x") {
		return ""
	}
	if open := strings.LastIndex(after, "["); open >= 0 {
		module := pytext.FirstWord(strings.TrimRight(after[open+1:], "] \r"))
		if name := pytext.Run(module, func(r rune) bool { return pytext.IsWord(r) || r == '-' }); name != "" {
			return bare + " [" + name + "]"
		}
	}
	if _, module, ok := cutLast(after, ") "); ok { // decoded: "name (file.c:12) module"
		if module = strings.TrimSpace(module); module != "" && pytext.Run(module, pytext.IsWord) == module {
			return bare + " [" + module + "]"
		}
	}
	return bare
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// places are how the registers name the function where it happened, on each kind of machine.
var places = [...]string{"RIP: ", "EIP: ", "EIP is at ", "IP: ", "pc : ", "PC is at ", "epc : ", "epc   : ", "Krnl PSW : ", "NIP ", "era: ", "pc ", "TPC: "}

// takePlace reads a line with the place. Places of programs, outside the kernel, are none.
func (o *oopsReader) takePlace(text string) bool {
	for _, start := range places {
		rest, ok := strings.CutPrefix(text, start)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "0033:") || strings.HasPrefix(rest, "0023:") {
			return true
		}
		name := placeName(rest)
		if name == "" && (rest == "0x0" || strings.HasPrefix(rest, "0010:0x0")) {
			name = "0x0" // a call of a function that is none
		}
		if name != "" {
			o.place, o.placed, o.placedAt = name, text, o.at
		}
		return name != ""
	}
	return false
}

// placeName is the first word of the form name+0x1/0x2 in a line, with the module behind it.
func placeName(text string) string {
	plus := strings.Index(text, "+0x")
	if plus < 0 {
		return barePlace(text)
	}
	start := strings.LastIndexFunc(text[:plus], func(r rune) bool { return !isKernelName(r) }) + 1
	after := text[plus:]
	if i := strings.IndexByte(after, ')'); i >= 0 && !strings.Contains(after[:i], "(") {
		after = after[:i]
	}
	if i := strings.Index(after, " ra :"); i >= 0 {
		after = after[:i]
	}
	return kernelName(text[start:plus], after)
}

// barePlace is a place without offset: "0010:name [module]", "0010:[<ffffffffa04b1e22>] name", "name (file.c:12) module".
func barePlace(text string) string {
	rest := strings.TrimPrefix(strings.TrimSpace(text), "0010:")
	if strings.HasPrefix(rest, "[<") {
		_, rest, _ = strings.Cut(rest, "] ")
	}
	name := pytext.Run(rest, isKernelName)
	after := rest[len(name):]
	if isBareCall(name, after) || name != "" && strings.HasPrefix(after, " (") && strings.Contains(after, ":") {
		return kernelName(name, after)
	}
	return ""
}

// signature chooses the frames that say where the fault is.
func (o *oopsReader) signature(to *recorder) string {
	parts := []string{"kernel", o.problem, o.detail}
	named := 0
	if o.problem == "Rust panic" {
		o.place = "" // always the function that ends a panic
	}
	if o.problem != "" {
		to.mark(o.field, o.problemAt)
	}
	if o.detail != "" {
		to.mark(o.field, o.detailAt)
	}
	if o.place != "" {
		to.mark(o.field, o.placedAt)
		parts = append(parts, o.place)
		named++
		to.use(o.placed, o.place)
	}
	own := o.ownMarker()
	for _, call := range o.frames {
		why := ""
		switch {
		case call.unreliable:
			why = "the kernel is not sure of it"
		case call.marker != own && (own != "" || isInterrupt(call.marker)):
			why = "it belongs to what was interrupted"
			if isInterrupt(call.marker) {
				why = "it belongs to the interrupt that noticed"
			}
		case reporting.has(call.name), o.problem == "Rust panic" && isRustUnwinding(call.name):
			why = "it only reports the fault"
		case entering.has(call.name):
			why = "it only leads into the kernel"
		case o.asleep && waiting.has(call.name):
			why = "it only waits"
		case named == mostFrames:
			why = "enough frames"
		case named == 1 && call.name == o.place:
			why = "the same as the place"
		}
		if why != "" {
			to.skip(call.text, why)
			continue
		}
		to.use(call.text, call.name)
		to.mark(o.field, call.at)
		parts = append(parts, call.name)
		named++
	}
	if known := o.problem != "" || o.place != ""; named < 2 && !known || named < 1 && !o.panics {
		return ""
	}
	return join(parts...)
}

// isRustUnwinding knows, in their mangled form, the functions by which a part of the kernel in Rust panics.
func isRustUnwinding(name string) bool {
	return strings.Contains(name, "rust_begin_unwind") || strings.Contains(name, "4core9panicking") || strings.Contains(name, "4core6option13") || strings.Contains(name, "4core6result13")
}

// ownMarker is the part of the call trace in which the fault is: that of the first frames, but not an interrupt that only
// noticed.
func (o *oopsReader) ownMarker() string {
	for _, call := range o.frames {
		if call.marker == "<NMI>" || o.lockup && isInterrupt(call.marker) {
			continue
		}
		if isInterrupt(call.marker) {
			return call.marker
		}
		return ""
	}
	return ""
}

func isInterrupt(marker string) bool {
	return marker == "<IRQ>" || marker == "<NMI>" || marker == "<SOFTIRQ>"
}
