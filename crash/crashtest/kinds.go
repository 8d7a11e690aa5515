package crashtest

import (
	"fmt"
	"strings"
)

// The reports in this file are of kinds that apport cannot group, but mishap can.

// ModernOops returns a fault of the kernel in the present format.
func ModernOops(options ...Option) Report {
	return Oops(Set("OopsText", modernOops("brig_tx_done", "brig_irq"))).apply(options)
}

func modernOops(place, caller string) string {
	return `[  811.402113] BUG: kernel NULL pointer dereference, address: 00000000000000b8
[  811.402120] #PF: supervisor read access in kernel mode
[  811.402130] Oops: 0000 [#1] PREEMPT SMP NOPTI
[  811.402133] CPU: 3 PID: 811 Comm: brigd Tainted: P           OE      6.8.0-85-generic #85-Ubuntu
[  811.402140] RIP: 0010:` + place + `+0x62/0x110 [brigwifi]
[  811.402150] Call Trace:
[  811.402151]  <TASK>
[  811.402152]  ? show_regs+0x6d/0x80
[  811.402155]  ` + caller + `+0x41/0x80 [brigwifi]
[  811.402160]  __handle_irq_event_percpu+0x4c/0x190
[  811.402165]  handle_irq_event+0x3b/0x80
[  811.402170]  </TASK>
[  811.402171] Modules linked in: brigwifi(OE)
[  811.402180] ---[ end trace 0000000000000000 ]---
`
}

// BarePackage returns the failed installation of a package, without a signature.
func BarePackage(options ...Option) Report {
	return Package(Without("DuplicateSignature")).apply(options)
}

// Java returns a crash of a Java program with a chained exception.
func Java(options ...Option) Report {
	r := base("Crash", "chartroom", "chartroom", "2.4-1").program("/usr/bin/chartroom", 5011)
	r["PackageArchitecture"] = "all"
	r["StackTrace"] = javaTrace("open", "read")
	return r.apply(options)
}

func javaTrace(method, cause string) string {
	return "java.lang.IllegalStateException: cannot open /home/ines/charts\n" +
		"\tat chartroom.Store." + method + "(Store.java:88)\n" +
		"\tat chartroom.Main.lambda$run$0(Main.java:41)\n" +
		"\tat chartroom.Main$$Lambda$14/0x0000000800c03000.run(Unknown Source)\n" +
		"\tat chartroom.Main.main(Main.java:9)\n" +
		"Caused by: java.io.FileNotFoundException: /home/ines/charts/index (No such file or directory)\n" +
		"\tat java.base/java.io.FileInputStream.open0(Native Method)\n" +
		"\tat chartroom.Index." + cause + "(Index.java:12)\n" +
		"\t... 3 more\n"
}

// GoPanic returns a panic of a Go program.
func GoPanic(options ...Option) Report {
	r := base("Crash", "keeld", "keel", "2.2-1").program("/usr/bin/keeld", 6011)
	r["StdErr"] = goPanic("load", "run")
	return r.apply(options)
}

func goPanic(function, caller string) string {
	return "2026/05/18 09:14:02 listening\n" +
		"panic: runtime error: index out of range [5] with length 3\n\n" +
		"goroutine 1 [running]:\n" +
		"main." + function + "({0xc000012345, 0x5, 0x8}, 0x1)\n\t/build/keel-2.2/main.go:12 +0x1d\n" +
		"main." + caller + ".func1(...)\n\t/build/keel-2.2/main.go:30\n" +
		"main.main()\n\t/build/keel-2.2/main.go:41 +0x25\nexit status 2\n"
}

// RustPanic returns a panic of a Rust program that is configured to abort: its stack has no names.
func RustPanic(options ...Option) Report {
	r := base("Crash", "rustle", "rustle", "0.8.1-1").program("/usr/bin/rustle", 7011)
	r.stack(6, "SIGABRT", nameless([]uint64{0x900, 0xa10}))
	r["StdErr"] = rustPanic("index", "load")
	return r.apply(options)
}

func rustPanic(file, function string) string {
	return "\nthread 'main' (7011) panicked at src/" + file + ".rs:88:31:\n" +
		"called `Option::unwrap()` on a `None` value\nstack backtrace:\n" +
		"   0: rust_begin_unwind\n" +
		"             at /rustc/38213856a8a3a6d49a234e0d95a722a4f28a2b18/library/std/src/panicking.rs:647:5\n" +
		"   1: core::panicking::panic_fmt::h0be520bdeb30de61\n" +
		"   2: rustle::" + file + "::" + function + "::hd504aa0dad344db7\n             at ./src/" + file + ".rs:88:31\n" +
		"   3: rustle::main::h1234567890abcdef\n"
}

// CompilerError returns an internal error of a compiler.
func CompilerError(options ...Option) Report {
	r := Ungroupable()
	r["PreprocessedSource"] = compilerError("gimplify_expr")
	return r.apply(options)
}

func compilerError(function string) string {
	return "// Target: x86_64-linux-gnu\n// gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2) \n// \n" +
		"// reef.cc: In function 'int main()':\n" +
		"// reef.cc:12:7: internal compiler error: in " + function + ", at gimplify.cc:17682\n" +
		"// 0x55d0a1b2c3d4 " + function + "(tree_node**, gimple**, gimple**, bool (*)(tree_node*), int)\n" +
		"// \t../../src/gcc/gimplify.cc:17682\n" +
		"// 0x55d0a1b2c3d5 gimplify_stmt(tree_node**, gimple**)\n// \t../../src/gcc/gimplify.cc:7234\n" +
		"// Please submit a full bug report, with preprocessed source.\nint x;\n"
}

// OddNames returns a SIGSEGV of a C++ program in functions whose names apport cannot parse.
func OddNames(options ...Option) Report {
	r := base("Crash", "isobar-map", "isobar-weather", "4.0-2").program("/usr/bin/isobar-map", 8011)
	r.stack(11, "SIGSEGV", append([]frame{
		{itself, 0x1234, "(anonymous namespace)::parse", "row=0x0", "../src/parse.cc:88"},
		{itself, 0x1a10, "Isobar::Grid<int, std::allocator<int> >::load", "this=0x55d0", "../src/grid.cc:41"},
	}, tail...))
	return r.apply(options)
}

// HalfNamed returns a SIGSEGV with some unnamed frames and without a memory map.
func HalfNamed(options ...Option) Report {
	r := base("Crash", "gull-mail", "gull-mail", "3.1-2").program("/usr/bin/gull-mail", 9011)
	frames := append([]frame{}, tideFrames...)
	frames[0].function, frames[1].function = "gull_parse_header", "gull_load_folder"
	frames[2] = frame{libglib, 0x4a10, "??", "", ""}
	r.stack(11, "SIGSEGV", frames)
	delete(r, "StacktraceAddressSignature")
	r["ProcMaps"] = "Error: [Errno 13] Permission denied: 'maps'"
	return r.apply(options)
}

// ThreadHang returns a hang of a program with a ThreadStacktrace only.
func ThreadHang(options ...Option) Report {
	r := base("Hang", "lumen-shell", "lumen-shell", "46.1-0ubuntu2").program("/usr/bin/lumen-shell", 1779)
	r["ThreadStacktrace"] = strings.Join([]string{
		"Thread 1 (Thread 0x7f2210 (LWP 4311)):",
		"#0  0x00007f2210090000 in __GI___poll (fds=0x1, nfds=1, timeout=-1) at ../sysdeps/unix/sysv/linux/poll.c:29",
		"#1  0x000055d000001234 in lumen_wait_reply (c=0x1) at ../src/reply.c:88",
		"#2  0x000055d000002000 in main (argc=1) at ../src/main.c:7",
	}, "\n")
	return r.apply(options)
}

// Snap returns snapd's report of a failed refresh. It has no package.
func Snap(options ...Option) Report {
	r := base("Snap", "reef", "reef", "1")
	for _, name := range []string{"Package", "SourcePackage", "PackageArchitecture"} {
		delete(r, name)
	}
	r["Snap"] = "reef"
	r["SnapdVersion"] = "2.68"
	r["ErrorMessage"] = "cannot perform the following tasks:\n" +
		"- Mount snap \"reef\" (123) ([start snap-reef-123.mount] failed with exit status 1)"
	return r.apply(options)
}

// BareRecoverable returns a problem that a program reported itself, without a signature.
func BareRecoverable(options ...Option) Report {
	return Recoverable(Without("DuplicateSignature"), Set("DialogBody",
		"The index in /home/ines/.cache/reef was damaged (4711 entries) and has been rebuilt.")).apply(options)
}

// ExceptionGroup returns an exception group of a Python program without a path.
func ExceptionGroup(options ...Option) Report {
	r := base("Crash", "harbor-sync", "harbor", "2.1-1")
	r["PackageArchitecture"] = "all"
	r["Traceback"] = `  + Exception Group Traceback (most recent call last):
  |   File "/usr/bin/harbor-sync", line 20, in main
  |     gather()
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/usr/bin/harbor-sync", line 40, in fetch
    |     int(x)
    | ValueError: a
    +---------------- 2 ----------------
    | KeyError: 'b'
    +------------------------------------`
	return r.apply(options)
}

// Python returns an exception of a Python program.
func Python(options ...Option) Report {
	r := base("Crash", "harbor-sync", "harbor", "2.1-1").program("/usr/bin/harbor-sync", 611)
	r["PackageArchitecture"] = "all"
	r["InterpreterPath"] = "/usr/bin/python3.12"
	r["PythonArgs"] = "['/usr/bin/harbor-sync', '--all']"
	r["Traceback"] = `Traceback (most recent call last):
  File "/usr/bin/harbor-sync", line 20, in <module>
    main()
  File "/usr/bin/harbor-sync", line 14, in main
    sync(cfg)
  File "/usr/lib/python3/dist-packages/harbor/io.py", line 77, in load
    return int(s)
           ^^^^^^
ValueError: invalid literal for int() with base 10: 'host-77'`
	return r.apply(options)
}

// Recoverable returns a problem that a program detected and reported itself.
func Recoverable(options ...Option) Report {
	r := base("RecoverableProblem", "reefd", "reef", "5.5-1").program("/usr/libexec/reefd", 333)
	r["DuplicateSignature"] = "/usr/libexec/reefd:index-rebuild-needed"
	r["DialogBody"] = "The reef index was damaged and has been rebuilt."
	return r.apply(options)
}

// Package returns the failed installation of a package. Its signature contains line ends.
func Package(options ...Option) Report {
	const failure = "installed brigwifi-dkms package post-installation script subprocess returned error exit status 10"
	r := base("Package", "brigwifi-dkms", "brigwifi", "2.0-1ubuntu3")
	r["PackageArchitecture"] = "all"
	r["ErrorMessage"] = failure
	log := []string{
		"Preparing to unpack .../brigwifi-dkms_2.0-1ubuntu3_all.deb ...",
		"Unpacking brigwifi-dkms (2.0-1ubuntu3) over (1.9-2) ...", "Setting up brigwifi-dkms (2.0-1ubuntu3) ...",
		"Loading new brigwifi-2.0 DKMS files...",
		"Error! Bad return status for module build on kernel: 7.0.0-12-generic (x86_64)",
		"dpkg: error processing package brigwifi-dkms (--configure):",
		" " + failure, "",
	}
	r["DpkgTerminalLog"] = strings.Join(log, "\n")
	r["DuplicateSignature"] = "package:brigwifi-dkms:2.0-1ubuntu3\n" + strings.Join(log[2:], "\n")
	r["UpgradeStatus"] = "Upgraded to noble on 2026-04-29 (19 days ago)"
	return r.apply(options)
}

// Oops returns a fault of the kernel in the old format, which apport can group.
func Oops(options ...Option) Report {
	r := base("KernelOops", "linux-image-6.8.0-85-generic", "linux", "6.8.0-85.85")
	r["Failure"] = "oops"
	r["MachineType"] = "Marlin Corp. SeaBook 14"
	r["NonfreeKernelModules"] = "brigwifi"
	r["Tags"] += " kernel-oops"
	r["OopsText"] = `BUG: unable to handle kernel NULL pointer dereference at 00000000000000b8
IP: [<ffffffffa04b1e22>] brig_tx_done+0x62/0x110 [brigwifi]
Oops: 0000 [#1] SMP
Call Trace:
 [<ffffffffa04b0001>] brig_irq+0x41/0x80 [brigwifi]
 [<ffffffff810d5a2c>] handle_irq_event_percpu+0x4c/0x190
Code: 8b 47 08
`
	return r.apply(options)
}

// Suspend returns a failure to resume from suspend.
func Suspend(options ...Option) Report {
	r := base("KernelOops", "linux-image-6.8.0-85-generic", "linux", "6.8.0-85.85")
	r["Failure"] = "suspend/resume"
	r["ExecutablePath"] = "/usr/share/apport/apportcheckresume"
	r["ProcStatus"] = procStatus("apportcheckresume", 900)
	r["MachineType"] = "Marlin Corp. SeaBook 14"
	r["dmi.bios.version"] = "M14ET29W (1.17 )"
	r["Tags"] += " resume suspend"
	return r.apply(options)
}

// Ungroupable returns a report that no rule can group: a crashed compiler without a stack.
func Ungroupable(options ...Option) Report {
	r := base("Crash", "g++-13", "gcc-13", "13.3.0-6ubuntu2").program("/usr/libexec/gcc/x86_64-linux-gnu/13/cc1plus",
		70001)
	r["PreprocessedSource"] = "int x;"
	return r.apply(options)
}

// Markup returns a problem whose texts all contain HTML, links and entities.
func Markup(options ...Option) Report {
	const evil = `<script>alert("1")</script><img src=x onerror=alert(1)>'"&amp;%3Cb%3E{{7*7}}`
	r := Recoverable(Set("DuplicateSignature", "/usr/libexec/reefd:"+evil), Set("DialogBody", evil),
		Set("Title", evil), Set("ProcCmdline", "/usr/libexec/reefd "+evil))
	r["Package"] = "reefd 5.5-1"
	return r.apply(options)
}

// Long returns a problem with a signature of about 20,000 characters.
func Long(options ...Option) Report {
	var functions strings.Builder
	for functions.Len() < 26_000 {
		functions.WriteString("reef_walk_directory_entry_and_visit_each_child (dir=0x7f22)\n")
	}
	r := base("Crash", "reefd", "reef", "5.5-1").program("/usr/libexec/reefd", 334)
	r.stack(11, "SIGSEGV", tideFrames)
	r["StacktraceTop"] = strings.TrimSuffix(functions.String(), "\n")
	return r.apply(options)
}

// Unicode returns a Python problem with names, paths and texts in many scripts.
func Unicode(options ...Option) Report {
	r := base("Crash", "zeglarz", "zeglarz", "3.0-1 [modified: usr/share/żeglarz/słownik.txt]").program("/usr/bin/żeglarz",
		99)
	r["PackageArchitecture"] = "all"
	r["InterpreterPath"] = "/usr/bin/python3.12"
	r["ProcCmdline"] = "python3 /usr/bin/żeglarz ♥ 日本語 😀"
	r["Traceback"] = `Traceback (most recent call last):
  File "/usr/bin/żeglarz", line 4, in główna
    zapisz(dane)
  File "/usr/share/żeglarz/plik.py", line 31, in zapisz
    f.write("zażółć gęślą jaźń 🛶")
OSError: [Errno 28] Brak miejsca na urządzeniu`
	r["_PythonExceptionQualifier"] = "28"
	return r.apply(options)
}

type frame struct {
	module   module
	offset   uint64 // from the start of the module's code
	function string // "??": unknown
	args     string
	at       string // source file and line
}

type module int

const (
	itself module = iota
	libc
	libglib
)

var libraries = [...]string{libc: "/usr/lib/x86_64-linux-gnu/libc.so.6",
	libglib: "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.8000.0"}

var tail = []frame{
	{libc, 0x1d90, "__libc_start_call_main", "main=0x55d000000000, argc=2", "../sysdeps/nptl/libc_start_call_main.h:58"},
	{itself, 0x105, "_start", "", ""},
}

var tideFrames = append([]frame{
	{itself, 0x1234, "tide_parse_row", "row=0x0, cols=7", "../src/parse.c:88"},
	{itself, 0x1a10, "tide_load", `path=0x55 "/var/lib/tide/harbour.csv"`, "../src/load.c:41"},
	{itself, 0x2000, "on_open_clicked", "b=0x1", "../src/win.c:207"},
}, tail...)

// Native returns a SIGSEGV of a program with debug symbols: its stack and its threads have names,
// files and lines.
func Native(options ...Option) Report {
	r := base("Crash", "tidewatch", "tidewatch", "1.4.9-2").program("/usr/bin/tidewatch", 4311)
	r.stack(11, "SIGSEGV", tideFrames)
	return r.apply(options)
}

// Unsymbolised returns a SIGSEGV of a program without symbols: it has only an address signature.
func Unsymbolised(options ...Option) Report {
	r := base("Crash", "lumen-shell", "lumen-shell", "46.1-0ubuntu2").program("/usr/bin/lumen-shell", 1500)
	r.stack(11, "SIGSEGV", nameless(lumenOffsets))
	return r.apply(options)
}

// Hang returns a program without symbols that its user stopped because it did not respond.
func Hang(options ...Option) Report {
	r := base("Hang", "lumen-shell", "lumen-shell", "46.1-0ubuntu2").program("/usr/bin/lumen-shell", 1777)
	r.stack(6, "SIGABRT", nameless([]uint64{0x100, 0x280, 0x3c0}))
	return r.apply(options)
}

// Assertion returns a program that aborted because of a failed assertion.
func Assertion(options ...Option) Report {
	r := base("Crash", "quillpad", "quillpad", "0.9.1-1").program("/usr/bin/quillpad", 2201)
	r["AssertionMessage"] = "ERROR:../src/buffer.c:120:buffer_take: assertion failed (buf->ref > 0): (0x0000aaab1c2d3e4f)"
	r.stack(6, "SIGABRT", append([]frame{
		{libc, 0x6eb2c, "__pthread_kill_implementation", "threadid=281473, signo=6", "./nptl/pthread_kill.c:44"},
		{libc, 0x1d27e, "__GI_raise", "sig=6", "../sysdeps/posix/raise.c:26"},
		{libc, 0x78ff, "__GI_abort", "", "./stdlib/abort.c:79"},
		{libglib, 0x4a10, "g_assertion_message_cmpint", "", ""},
		{itself, 0x8a20, "buffer_take", "buf=0xaaab", "../src/buffer.c:120"},
	}, tail...))
	return r.apply(options)
}

var lumenOffsets = []uint64{0x5100, 0x5244, 0x6010, 0x6600}

// nameless returns frames of a program without symbols, between frames of the C library.
func nameless(offsets []uint64) []frame {
	frames := []frame{{libc, 0x8111, "??", "", ""}}
	for _, offset := range offsets {
		frames = append(frames, frame{itself, offset, "??", "", ""})
	}
	return append(frames, frame{libc, 0x1d90, "??", "", ""})
}

// bases contains the addresses of the modules in the process. Each module begins with read-only
// data, followed by code.
var bases = [...]uint64{itself: 0x55d000000000, libc: 0x7f2210000000, libglib: 0x7f2211000000}

const dataSize, codeSize = 0x8000, 0x80000

func (f frame) address() uint64 { return bases[f.module] + dataSize + f.offset }

// file returns the file of the module. gdb shows that of a library if it knows nothing else.
func (f frame) file(program string) string {
	if f.module == itself {
		return program
	}
	return libraries[f.module]
}

// String returns the frame as gdb prints it, without number and address.
func (f frame) String() string {
	s := f.function + " (" + f.args + ")"
	if f.at != "" {
		return s + " at " + f.at
	}
	if f.module != itself {
		return s + " from " + libraries[f.module]
	}
	return s
}

// stack adds the fields that apport collects about a process killed by a signal.
func (r Report) stack(signal int, signalName string, frames []frame) {
	program := r["ExecutablePath"]
	var full, plain, top, places strings.Builder
	for i, f := range frames {
		line := fmt.Sprintf("#%-2d 0x%016x in %s\n", i, f.address(), f)
		plain.WriteString(line)
		full.WriteString(line)
		if f.at == "" {
			full.WriteString("No symbol table info available.\n")
		} else {
			fmt.Fprintf(&full, "        i = %d\n        buf = 0x%x\n", 7*i, f.offset*16)
		}
		if i < 5 {
			fmt.Fprintf(&top, "%s\n", f)
		}
		fmt.Fprintf(&places, ":%s+%x", f.file(program), f.offset)
	}
	r["Signal"] = fmt.Sprint(signal)
	r["SignalName"] = signalName
	r["Stacktrace"] = strings.TrimSuffix(full.String(), "\n")
	r["StacktraceTop"] = strings.TrimSuffix(top.String(), "\n")
	r["StacktraceAddressSignature"] = program + ":" + r["Signal"] + places.String()
	r["ThreadStacktrace"] = fmt.Sprintf(".\nThread 2 (Thread 0x7f22%04x (LWP 4312)):\n%s\n"+
		"Thread 1 (Thread 0x7f2210 (LWP 4311)):\n%s", 0xbeef,
		"#0  0x00007f22100913ea in __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57\n"+
			"        sc_ret = -512\n"+
			"#1  0x00007f2210093de1 in __pthread_cond_wait_common (cond=0x55d0) at ./nptl/pthread_cond_wait.c:503\n"+
			"        spin = 0\n"+
			"#2  0x000055d00000b002 in worker_main (data=0x0) at ../src/worker.c:31\n        job = 0x0\n", r["Stacktrace"])
	r["ProcMaps"] = procMaps(program)
	pc := frames[0].address()
	r["Registers"] = fmt.Sprintf("rax            0x0                 0\nrip            0x%x      0x%x <%s+36>", pc, pc,
		frames[0].function)
	r["Disassembly"] = fmt.Sprintf("=> 0x%x <%s+36>:\tmov    (%%rax),%%edx", pc, frames[0].function)
}

func procMaps(program string) string {
	var b strings.Builder
	for m, start := range bases {
		file := frame{module: module(m)}.file(program)
		fmt.Fprintf(&b, "%x-%x r--p 00000000 fd:01 %-26d %s\n", start, start+dataSize, 1311+m, file)
		fmt.Fprintf(&b, "%x-%x r-xp 00008000 fd:01 %-26d %s\n", start+dataSize, start+dataSize+codeSize, 1311+m, file)
		if module(m) == itself {
			fmt.Fprintf(&b, "%x-%x rw-p 00000000 00:00 0                          [heap]\n", start+0x100000, start+0x140000)
		}
	}
	b.WriteString("7ffd3a000000-7ffd3a021000 rw-p 00000000 00:00 0                          [stack]")
	return b.String()
}
