package grouping

import (
	"strings"

	"mishap/crash/pytext"
)

// kernelProblems lists sentences by which the kernel announces problems, and their names in
// signatures. A name is the same in all kernel versions and on all architectures. If it is empty,
// the sentence without numbers is the name.
var kernelProblems = [...]struct{ sentence, name string }{
	{"NULL pointer dereference", "NULL pointer dereference"},
	{"paging request", "page fault"},
	{"page fault for address", "page fault"},
	{"access to user memory", "access to user memory"},
	{"execute from non-executable memory", "execute from non-executable memory"},
	{"write to read-only memory", "write to read-only memory"},
	{"soft lockup", "soft lockup"},
	{"hard LOCKUP", "hard lockup"},
	{"blocked for more than", "hung task"},
	{"self-detected stall", "rcu stall"},
	{"detected stall", "rcu stall"},
	{"detected expedited stall", "rcu stall"},
	{"general protection fault", "general protection fault"},
	{"scheduling while atomic", "scheduling while atomic"},
	{sleepingFunction, sleepingFunction},
	{"pointer dereference in virtual", "page fault"}, // s390
	{"synchronous external abort", "synchronous external abort"},
	{"stack guard page was hit", "kernel stack overflow"},
	{"kernel stack overflow", "kernel stack overflow"},
	{"workqueue lockup", "workqueue lockup"},
	{"Bad page state", "bad page state"},
	{"Bad page map", "bad page map"},
	{"Bad rss-counter state", "bad rss-counter state"},
	{"smp_processor_id() in preemptible", "smp_processor_id() in preemptible code"},
	{"double fault", "double fault"},
	{"divide error", "divide error"},
	{"stack segment", "stack segment"},
	{"invalid opcode", "invalid opcode"},
	{"undefined instruction", "invalid opcode"},
	{"illegal operation", "invalid opcode"},
}

const sleepingFunction = "sleeping function called from invalid context"

// takeProblem parses a line that says what is wrong. A more general line that follows ("Oops: 0000
// [#1]", "Kernel panic - not syncing: Fatal exception") does not replace an earlier one.
func (o *oopsReader) takeProblem(text string) {
	if o.problem == "" && o.detail == "" && (strings.HasPrefix(text, "refcount_t: ") ||
		strings.HasPrefix(text, "list_add ") || strings.HasPrefix(text, "list_del ")) {
		o.detailAt = o.at
		o.detail = kernelSentence(text) // belongs to the warning or BUG that follows
		return
	}
	if o.problem != "" {
		return
	}
	if place, ok := strings.CutPrefix(text, "rust_kernel: panicked at "); ok {
		o.problem, o.detail = "Rust panic", kernelFile(place)
		o.startProblem()
		return
	}
	defer o.startProblem()
	for _, quiet := range [...]string{"watchdog: ", "rcu: "} {
		text = strings.TrimPrefix(text, quiet)
	}
	switch {
	case strings.HasPrefix(text, "WARNING: "):
		o.warning(strings.TrimPrefix(text, "WARNING: "))
	case strings.HasPrefix(text, "UBSAN: "):
		kind, file, _ := strings.Cut(text, " in ")
		o.problem = kernelSentence(kind) + " in " + kernelFile(file)
	case strings.HasPrefix(text, "kernel BUG at "):
		o.problem = "kernel BUG at " + kernelFile(strings.TrimPrefix(text, "kernel BUG at "))
	case strings.HasPrefix(text, "BUG: KASAN: "), strings.HasPrefix(text, "BUG: KFENCE: "),
		strings.HasPrefix(text, "BUG: KCSAN: "), strings.HasPrefix(text, "BUG: KMSAN: "):
		kind, where, _ := strings.Cut(strings.TrimPrefix(text, "BUG: "), " in ")
		o.problem = kind
		if name := placeName(where); name != "" {
			o.place, o.placed, o.placedAt = name, text, o.at
		}
	case strings.HasPrefix(text, "Kernel panic - not syncing: "):
		o.problem, o.panics = "panic", true
		o.detail = kernelSentence(strings.TrimPrefix(text, "Kernel panic - not syncing: "))
	case startsProblem(text):
		o.problem = problemName(text)
		o.lockup = o.problem == "soft lockup" || o.problem == "hard lockup" || o.problem == "hung task" ||
			o.problem == "rcu stall"
		o.asleep = o.lockup || o.problem == sleepingFunction
	}
}

// startProblem discards a call trace before the problem, which belongs to another problem.
func (o *oopsReader) startProblem() {
	if o.problem != "" {
		o.traces, o.frames, o.problemAt = 0, nil, o.at
		if o.detailAt < 0 {
			o.detailAt = o.at
		}
	}
}

// startsProblem reports whether a sentence announces a problem, rather than mentioning one.
func startsProblem(text string) bool {
	for _, start := range [...]string{"BUG: ", "INFO: task ", "INFO: rcu", "Unable to handle kernel ", "Internal error: ",
		"Oops", "Unexpected kernel ", "traps: PANIC", "NMI watchdog: ", "Watchdog detected ", "Kernel BUG"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return strings.Contains(text, " [#") // "general protection fault: 0000 [#1] SMP"
}

func problemName(text string) string {
	for _, p := range kernelProblems {
		if strings.Contains(text, p.sentence) {
			return p.name
		}
	}
	for _, start := range [...]string{"BUG: ", "Internal error: ", "INFO: "} {
		text = strings.TrimPrefix(text, start)
	}
	text, _, _ = strings.Cut(text, " [#")
	return strings.TrimRight(kernelSentence(text), " :N")
}

// warning parses "CPU: 2 PID: 811 at drivers/net/brig.c:88 brig_poll+0x12/0x80 [brigwifi]", and the
// newer "drivers/net/brig.c:88 at brig_poll+0x12/0x80, CPU#2: brigd/811".
func (o *oopsReader) warning(text string) {
	o.problem = "WARNING"
	at := strings.Index(text, " at ")
	if at < 0 {
		o.detail, o.panics = kernelSentence(text), true
		return
	}
	where, file := text[at+len(" at "):], ""
	if strings.HasPrefix(text, "CPU: ") {
		file = pytext.FirstWord(where)
		where = strings.TrimPrefix(where, file)
	} else {
		file = text[:at]
	}
	if o.detail == "" {
		o.detail = kernelFile(file)
	}
	if name := placeName(where); name != "" {
		o.place, o.placed, o.placedAt = name, text, o.at
	}
}

// kernelFile returns a source file without its line, relative to the kernel's source directory if
// it was built elsewhere: "/build/linux-Ab3d/linux-6.8.0/mm/slub.c".
func kernelFile(text string) string {
	file := pytext.FirstWord(text)
	if i := strings.IndexByte(file, ':'); i >= 0 {
		file = file[:i]
	}
	if i := strings.LastIndex(file, "/linux-"); i >= 0 && file[0] == '/' {
		_, file, _ = strings.Cut(file[i+1:], "/")
	}
	return normalise(file, nil)
}

// kernelSentence removes what varies from a sentence, including short numbers.
func kernelSentence(text string) string {
	text = normalise(text, nil)
	var b strings.Builder
	for text != "" {
		if digits := pytext.Run(text, isHex); len(digits) >= 8 {
			b.WriteByte('N')
			text = text[len(digits):]
			continue
		}
		word := pytext.Run(text, pytext.IsWord)
		if word == "" {
			word = text[:1]
		}
		if isNumber(word) {
			b.WriteByte('N')
		} else {
			b.WriteString(word)
		}
		text = text[len(word):]
	}
	return b.String()
}

// withoutStamp removes the prefix that a log adds to a line of the kernel: "Feb 26 19:12:30 host
// kernel: ", "<4>", "[   12.345678]", "[    T1]".
func withoutStamp(line string) string {
	if i := strings.Index(line[:min(len(line), 120)], " kernel: "); i >= 0 {
		line = line[i+len(" kernel: "):]
	}
	if len(line) > 2 && line[0] == '<' && pytext.IsDigit(rune(line[1])) {
		if i := strings.IndexByte(line[:min(len(line), 5)], '>'); i > 0 {
			line = line[i+1:]
		}
	}
	for {
		rest := strings.TrimLeft(line, " ")
		if rest == "" || rest[0] != '[' {
			return line
		}
		end := strings.IndexByte(rest[:min(len(rest), 40)], ']')
		if end < 0 || !isStamp(rest[1:end]) {
			return line
		}
		line = strings.TrimPrefix(rest[end+1:], " ")
	}
}

// isStamp matches "   12.345678", "    T1", "  C3".
func isStamp(s string) bool {
	s = strings.TrimLeft(s, " ")
	if len(s) > 1 && (s[0] == 'T' || s[0] == 'C') {
		return isNumber(s[1:])
	}
	seconds, parts, ok := strings.Cut(s, ".")
	return ok && isNumber(seconds) && isNumber(parts)
}
