package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// kernelSignature is the rule for oopses, warnings, panics, lock-ups and hung tasks of the kernel.
// Apport's rule knows only the format of 2016 ("IP: [<ffffffffa04b1e22>] name+0x62/0x110"). Newer
// frames have no address, the place is called RIP, other architectures (arm64, riscv, s390,
// powerpc) name it differently, and logs add time stamps.
//
// The signature consists of "kernel:", the problem, the function where it happened, and its
// callers: five functions at most, with their modules. It omits offsets, which change with each
// build, frames that the kernel marks as unreliable ("? name"), functions that only report a fault,
// and those by which threads enter the kernel.
//
// For a fault in an interrupt, it uses the frames of the interrupt. For a lock-up, which an
// interrupt detects, it uses the frames of the interrupted code. A problem without functions has no
// signature, except a panic, whose message is specific.
func kernelSignature(f crash.Fields, rec *recorder) string {
	field, text := kernelText(f)
	if text == "" {
		return ""
	}
	rec.read(field)
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
	return o.signature(rec)
}

// kernelText returns the oops, else the log that was saved with a memory dump.
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

// oopsReader parses the lines of one problem: the first one in the text, since later ones are its
// consequences.
type oopsReader struct {
	field     string
	at        int // offset of the line being read
	problemAt int // offsets of the lines with the problem, its detail and its place
	detailAt  int
	placedAt  int

	problem string // "NULL pointer dereference"
	detail  string // of a warning or panic: the sentence before it, or its source file
	place   string // where it happened: "brig_tx_done [brigwifi]"
	placed  string // the line that names the place
	lockup  bool   // an interrupt detected it
	asleep  bool   // omit functions that wait
	panics  bool   // the problem is specific by itself
	traces  int    // number of call traces that began
	inTrace bool
	marker  string // "<IRQ>": the context of the frames
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

const maxKernelLines = 100 // of one call trace

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

// frame parses a line of a call trace. It returns false at the end of the trace.
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
	if len(o.frames) < maxKernelLines {
		o.frames = append(o.frames, call)
	}
	return true
}

// isRegisterLine matches lines of registers among the frames of 32-bit ARM: "r7:00000015
// r6:80d175cc".
func isRegisterLine(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && len(name) <= 3 && name[:min(1, len(name))] == "r" && isNumber(name[1:])
}

// parseKernelCall parses " ? name+0x1/0x2 [module]", "[<ffff>] name+0x1/0x2", "[c000] [c001]
// name+0x1 (unreliable)", "[<c01>] (name) from [<c02>] (caller+0x1/0x2)", "name from
// caller+0x1/0x2", "name (file.c:12) module", "name [module]".
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
	case strings.HasPrefix(after, " (") && strings.Contains(after, ":"): // symbolised: file and line
	case isBareCall(name, after):
	default:
		return call, false
	}
	call.name = kernelName(name, after)
	return call, call.name != ""
}

// isBareCall matches a function without an offset, as some collectors write it: alone in its line,
// or followed by its module.
func isBareCall(name, after string) bool {
	after = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(after), "(unreliable)"))
	if after != "" && (after[0] != '[' || strings.IndexByte(after, ']') != len(after)-1) {
		return false
	}
	return len(name) > 2 && pytext.Run(name, isHex) != name && strings.ToUpper(name) != name
}

func isKernelName(r rune) bool { return pytext.IsWord(r) || r == '.' || r == '$' }

// kernelName returns a function with its module, without suffixes of compilers ("brig_irq.cold",
// "brig_irq.constprop.0").
func kernelName(name, after string) string {
	bare := strings.TrimLeft(name, ".") // powerpc prefixed functions with a dot
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
	if _, module, ok := cutLast(after, ") "); ok { // symbolised: "name (file.c:12) module"
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

// placePrefixes lists the prefixes of the line that names the function of the fault, on each
// architecture.
var placePrefixes = [...]string{"RIP: ", "EIP: ", "EIP is at ", "IP: ", "pc : ", "PC is at ", "epc : ", "epc   : ",
	"Krnl PSW : ", "NIP ", "era: ", "pc ", "TPC: "}

// takePlace parses a line with the place. It ignores places in programs, outside the kernel.
func (o *oopsReader) takePlace(text string) bool {
	for _, start := range placePrefixes {
		rest, ok := strings.CutPrefix(text, start)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "0033:") || strings.HasPrefix(rest, "0023:") {
			return true
		}
		name := placeName(rest)
		if name == "" && (rest == "0x0" || strings.HasPrefix(rest, "0010:0x0")) {
			name = "0x0" // a call through a null pointer
		}
		if name != "" {
			o.place, o.placed, o.placedAt = name, text, o.at
		}
		return name != ""
	}
	return false
}

// placeName returns the first word of the form name+0x1/0x2 in a line, with the module that
// follows.
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

// barePlace parses a place without offset: "0010:name [module]", "0010:[<ffffffffa04b1e22>] name",
// "name (file.c:12) module".
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

// signature returns the signature, made of the frames that locate the fault.
func (o *oopsReader) signature(rec *recorder) string {
	parts := []string{"kernel", o.problem, o.detail}
	named := 0
	if o.problem == "Rust panic" {
		o.place = "" // always the function that ends a panic
	}
	if o.problem != "" {
		rec.mark(o.field, o.problemAt)
	}
	if o.detail != "" {
		rec.mark(o.field, o.detailAt)
	}
	if o.place != "" {
		rec.mark(o.field, o.placedAt)
		parts = append(parts, o.place)
		named++
		rec.use(o.placed, o.place)
	}
	own := o.ownMarker()
	for _, call := range o.frames {
		why := ""
		switch {
		case call.unreliable:
			why = "the kernel marks it as unreliable"
		case call.marker != own && (own != "" || isInterrupt(call.marker)):
			why = "it belongs to the interrupted code"
			if isInterrupt(call.marker) {
				why = "it belongs to the interrupt that detected the fault"
			}
		case reporting.has(call.name), o.problem == "Rust panic" && isRustUnwinding(call.name):
			why = "it only reports the fault"
		case entering.has(call.name):
			why = "it only leads into the kernel"
		case o.asleep && waiting.has(call.name):
			why = "it only waits"
		case named == maxSignatureFrames:
			why = "the signature has enough frames"
		case named == 1 && call.name == o.place:
			why = "it repeats the place of the fault"
		}
		if rec.decide(call.text, call.name, why) {
			rec.mark(o.field, call.at)
			parts = append(parts, call.name)
			named++
		}
	}
	if known := o.problem != "" || o.place != ""; named < 2 && !known || named < 1 && !o.panics {
		return ""
	}
	return join(parts...)
}

// isRustUnwinding matches the mangled names of functions by which Rust code in the kernel panics.
func isRustUnwinding(name string) bool {
	return strings.Contains(name, "rust_begin_unwind") || strings.Contains(name, "4core9panicking") ||
		strings.Contains(name, "4core6option13") || strings.Contains(name, "4core6result13")
}

// ownMarker returns the context of the fault in the call trace: that of the first frames, unless it
// is an interrupt that only detected the fault.
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
