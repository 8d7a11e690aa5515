package crashtest

import (
	"fmt"
	"strings"
)

// frame is one line of a stack.
type frame struct {
	module   module
	offset   uint64 // from the start of the module's code
	function string // "??": unknown
	args     string
	at       string // source file and line
}

// module is a file that is mapped into a process.
type module int

const (
	itself module = iota
	libc
	libglib
)

var libraries = [...]string{libc: "/usr/lib/x86_64-linux-gnu/libc.so.6",
	libglib: "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.8000.0"}

// tail lists the outermost frames of most programs.
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

// procMaps returns /proc/PID/maps of a process with these modules.
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
