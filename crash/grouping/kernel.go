package grouping

import (
	"regexp"
	"slices"
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

type kernelCall struct {
	call
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
	case hasAnyPrefix(text, "Call Trace:", "Call trace:") || text == "Backtrace:":
		o.traces++
		o.inTrace, o.marker = o.traces == 1, ""
	case o.place == "" && o.takePlace(text):
	default:
		o.takeProblem(text)
	}
}

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
	call := kernelCall{call: call{text: text}}
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
	if i := strings.LastIndex(after, ") "); i >= 0 { // symbolised: "name (file.c:12) module"
		if module := strings.TrimSpace(after[i:][len(") "):]); module != "" && pytext.Run(module, pytext.IsWord) == module {
			return bare + " [" + module + "]"
		}
	}
	return bare
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
		if hasAnyPrefix(rest, "0033:", "0023:") {
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
	if o.problem == "Rust panic" {
		o.place = "" // always the function that ends a panic
	}
	if o.problem != "" {
		rec.mark(o.field, o.problemAt)
	}
	if o.detail != "" {
		rec.mark(o.field, o.detailAt)
	}
	most := maxSignatureFrames
	if o.place != "" {
		rec.mark(o.field, o.placedAt)
		parts = append(parts, o.place)
		most--
		rec.use(o.placed, o.place)
	}
	names := callNames(o.calls(), most, o.field, rec)
	named := maxSignatureFrames - most + len(names)
	if known := o.problem != "" || o.place != ""; named < 2 && !known || named < 1 && !o.panics {
		return ""
	}
	return join(append(parts, names...)...)
}

func (o *oopsReader) calls() []call {
	own, repeats := o.ownMarker(), true
	calls := make([]call, len(o.frames))
	for i, f := range o.frames {
		switch {
		case f.unreliable:
			f.why = "the kernel marks it as unreliable"
		case f.marker != own && isInterrupt(f.marker):
			f.why = "it belongs to the interrupt that detected the fault"
		case f.marker != own && own != "":
			f.why = "it belongs to the interrupted code"
		case isListed(reporting, f.name), o.problem == "Rust panic" && isRustUnwinding(f.name):
			f.why = "it only reports the fault"
		case isListed(entering, f.name):
			f.why = "it only leads into the kernel"
		case o.asleep && isListed(waiting, f.name):
			f.why = "it only waits"
		case repeats && f.name == o.place:
			f.why = "it repeats the place of the fault"
		default:
			repeats = false
		}
		calls[i] = f.call
	}
	return calls
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
	if o.problem == "" && o.detail == "" && hasAnyPrefix(text, "refcount_t: ", "list_add ", "list_del ") {
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
	text = strings.TrimPrefix(strings.TrimPrefix(text, "watchdog: "), "rcu: ")
	switch {
	case strings.HasPrefix(text, "WARNING: "):
		o.warning(strings.TrimPrefix(text, "WARNING: "))
	case strings.HasPrefix(text, "UBSAN: "):
		kind, file, _ := strings.Cut(text, " in ")
		o.problem = kernelSentence(kind) + " in " + kernelFile(file)
	case strings.HasPrefix(text, "kernel BUG at "):
		o.problem = "kernel BUG at " + kernelFile(strings.TrimPrefix(text, "kernel BUG at "))
	case hasAnyPrefix(text, "BUG: KASAN: ", "BUG: KFENCE: ", "BUG: KCSAN: ", "BUG: KMSAN: "):
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
	return hasAnyPrefix(text, "BUG: ", "INFO: task ", "INFO: rcu", "Unable to handle kernel ", "Internal error: ", "Oops",
		"Unexpected kernel ", "traps: PANIC", "NMI watchdog: ", "Watchdog detected ", "Kernel BUG") ||
		strings.Contains(text, " [#") // "general protection fault: 0000 [#1] SMP"
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

func kernelSentence(text string) string {
	return words.ReplaceAllStringFunc(normalise(text, nil), func(word string) string {
		if hex := pytext.Run(word, isHex); len(hex) >= 8 {
			return "N" + word[len(hex):]
		}
		return withoutNumbers(word)
	})
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
		if end < 0 || !stamp.MatchString(rest[1:end]) {
			return line
		}
		line = strings.TrimPrefix(rest[end+1:], " ")
	}
}

// stamp matches "   12.345678", "    T1", "  C3".
var stamp = regexp.MustCompile(`^ *([TC][0-9]+|[0-9]+\.[0-9]+)$`)

// isListed reports whether a list has a function. Entries that end in an asterisk stand for all functions
// that begin so. No list has functions of modules.
func isListed(list []string, name string) bool {
	return !strings.HasSuffix(name, "]") && slices.ContainsFunc(list, func(entry string) bool {
		begin, open := strings.CutSuffix(entry, "*")
		return name == entry || open && strings.HasPrefix(name, begin)
	})
}

var reporting = strings.Fields(`
dump_stack* show_stack show_regs show_trace* dump_backtrace* unwind_backtrace print_report
print_address_description* kasan_report* __kasan_report* __asan_* kasan_check* __kasan_check*
check_memory_region* kfence_* report_bug* handle_bug exc_* asm_exc_* __die* die die_addr oops_end
page_fault_oops no_context __bad_area* bad_area* do_user_addr_fault __do_page_fault do_page_fault
do_kern_addr_fault spurious_kernel_fault* panic vpanic __warn* warn_slowpath* do_trap* do_error_trap
do_invalid_op invalid_op async_page_fault page_fault general_protection do_general_protection divide_error
__ubsan_handle* ubsan_epilogue handle_overflow refcount_warn_saturate refcount_error_report __list_add_valid*
__list_del_entry_valid* el1_* el1h_64_* die_kernel_fault __do_kernel_fault do_mem_abort do_translation_fault
do_bad_area bug_handler call_break_hook brk_handler do_debug_exception do_undefinstr handle_exception
ret_from_exception do_report_trap pgm_check_handler __do_pgm_check default_trap_handler do_dat_exception
__might_sleep __might_resched ___might_sleep __schedule_bug bad_page* machine_kexec __crash_kexec crash_kexec
sysrq_handle_crash* nmi_panic nmi_cpu_backtrace* rust_helper_BUG`)

// entering lists functions at the outer end of the traces of many threads.
var entering = strings.Fields(`
do_syscall_* x64_sys_call entry_SYSCALL_* entry_SYSENTER* entry_INT80* __do_fast_syscall_32 do_fast_syscall_32
do_SYSENTER_32 do_int80* ret_from_fork* kthread worker_thread secondary_startup_64* start_secondary
cpu_startup_entry do_idle arch_cpu_idle default_idle* cpuidle_* cpu_idle* el0_* el0t_* invoke_syscall
do_el0_svc* ret_to_user system_call* rest_init start_kernel x86_64_start_* asm_sysvec_* sysvec_*
asm_common_interrupt common_interrupt ret_fast_syscall __ret_from_fork kernel_thread_starter
ret_from_kernel_thread* __do_syscall tracesys*`)

// waiting lists functions at the inner end of the traces of waiting threads.
var waiting = strings.Fields(`
__schedule schedule schedule_timeout schedule_preempt_disabled io_schedule* schedule_hrtimeout* rwsem_down_*
__down* down down_read down_write __mutex_lock* mutex_lock* wait_for_completion* __wait_for_common
wait_on_bit* out_of_line_wait_on_bit* bit_wait* __wait_on_bit* preempt_schedule* __cond_resched _cond_resched
native_queued_spin_lock_slowpath _raw_spin_lock* __switch_to`)
