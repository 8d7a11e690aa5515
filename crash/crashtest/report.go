// Package crashtest builds realistic, invented crash reports for tests and demonstrations. Nothing
// in it is random: the same call always gives the same report. It does not use testing.TB.
package crashtest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/apport"
)

// Report is a report that can be converted to each form in which reports arrive.
type Report crash.Fields

// Fields returns a copy of the report's fields.
func (r Report) Fields() crash.Fields { return crash.Fields(maps.Clone(r)) }

// Option changes a report that is being built.
type Option func(Report)

// Set sets a field.
func Set(name, value string) Option { return func(r Report) { r[name] = value } }

// Without removes fields.
func Without(names ...string) Option {
	return func(r Report) {
		for _, name := range names {
			delete(r, name)
		}
	}
}

// On sets the release and dependent fields: the kernel, apport's version, and the tag with the
// codename.
func On(release crash.Release) Option {
	return func(r Report) {
		r["DistroRelease"] = string(release)
		kernel, apport := kernels[release], apports[release]
		if kernel == "" {
			kernel, apport = "6.12.48-1-amd64", "2.33.0-1"
		}
		r["Uname"] = "Linux " + kernel + " x86_64"
		r["ApportVersion"] = apport
		r["Tags"] = release.Codename()
	}
}

var (
	kernels = map[crash.Release]string{
		"Ubuntu 22.04": "5.15.0-122-generic", "Ubuntu 24.04": "6.8.0-85-generic", "Ubuntu 25.10": "6.17.0-8-generic",
		"Ubuntu 26.04": "7.0.0-12-generic", "Debian 13": "6.12.48+deb13-amd64",
	}
	apports = map[crash.Release]string{
		"Ubuntu 22.04": "2.20.11-0ubuntu82.7", "Ubuntu 24.04": "2.28.1-0ubuntu3.8", "Ubuntu 25.10": "2.33.1-0ubuntu3",
		"Ubuntu 26.04": "2.35.0-0ubuntu1", "Debian 13": "2.33.0-1",
	}
)

// At sets the Date of the crash.
func At(t time.Time) Option { return Set("Date", t.Format(time.ANSIC)) }

// Version sets the version of the package that crashed.
func Version(version string) Option {
	return func(r Report) {
		name, _, _ := strings.Cut(r["Package"], " ")
		r["Package"] = name + " " + version
	}
}

// Process sets the process that crashed. A different process makes a different crash, not a
// duplicate.
func Process(pid int) Option {
	return func(r Report) { r["ProcStatus"] = procStatus(r["ExecutablePath"], pid) }
}

// base returns the fields that every report has. The crash is on Ubuntu 24.04, on a Monday in May
// 2026.
func base(kind, binary, source, version string) Report {
	r := Report{
		"ProblemType":         kind,
		"Package":             binary + " " + version,
		"SourcePackage":       source,
		"Architecture":        "amd64",
		"PackageArchitecture": "amd64",
		"_HooksRun":           "no",
	}
	On("Ubuntu 24.04")(r)
	At(time.Date(2026, 5, 18, 9, 14, 2, 0, time.UTC))(r)
	return r
}

func (r Report) program(file string, pid int) Report {
	r["ExecutablePath"] = file
	r["ExecutableTimestamp"] = "1745000000"
	r["ProcCmdline"] = file + " --open harbour.csv"
	r["ProcCwd"] = "/home/ines"
	r["ProcEnviron"] = "LANG=en_GB.UTF-8\nPATH=(custom, no user)\nSHELL=/bin/bash\nTERM=xterm-256color\n" +
		"XDG_RUNTIME_DIR=<set>"
	r["ProcStatus"] = procStatus(file, pid)
	r["UserGroups"] = "adm cdrom sudo"
	r["CurrentDesktop"] = "ubuntu:GNOME"
	return r
}

func (r Report) apply(options []Option) Report {
	for _, o := range options {
		o(r)
	}
	return r
}

func procStatus(file string, pid int) string {
	return fmt.Sprintf("Name:\t%.15s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t1\n"+
		"Uid:\t1000\t1000\t1000\t1000\nVmRSS:\t%8d kB\nThreads:\t4",
		path.Base(file), pid, pid, 3*pid+9000)
}

// Decode returns the fields of a report that whoopsie sent, decompressed. Its errors are those of
// [apport.OpenBSON].
func Decode(body []byte) (crash.Fields, error) {
	d, err := apport.OpenBSON(body)
	if err != nil {
		return nil, err
	}
	fields, _, _ := d.Fields(apport.MaxDecompressed)
	return fields, nil
}

// Crash returns the file that apport writes to /var/crash, without the core dump. It omits fields
// whose names the format does not allow.
func (r Report) Crash() []byte {
	fields := r.Fields()
	for name := range fields {
		if !apport.ValidKey(name) {
			delete(fields, name)
		}
	}
	var b bytes.Buffer
	_ = apport.Write(&b, fields) // neither a name nor a buffer can fail
	return b.Bytes()
}

// NobodyListens is the address of a service that refuses connections. Unlike the port of a test
// server that has closed, this port is never given to another server.
const NobodyListens = "http://127.0.0.1:1"

var notSent = []string{"CoreDump", "CrashCounter", "Title", "UnreportableReason", "_MarkForUpload"}

// BSON returns the document that whoopsie posts for the report: flat, with text values only.
func (r Report) BSON() []byte {
	fields := r.Fields()
	for _, name := range notSent {
		delete(fields, name)
	}
	return apport.BSON(fields)
}

// Compressed returns text in the form that whoopsie sends for compressed fields: base64 of gzip,
// with the header in a line of its own.
func Compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer cannot fail
	_ = w.Close()
	const header = 10 // bytes of a gzip header without a name
	return base64.StdEncoding.EncodeToString(b.Bytes()[:header]) + "\n" +
		base64.StdEncoding.EncodeToString(b.Bytes()[header:])
}

// Bomb returns n repetitions of block as one gzip stream. It compresses block only once, so that even
// gigabytes take moments.
func Bomb(block []byte, n int) []byte {
	var deflated bytes.Buffer
	w, _ := flate.NewWriter(&deflated, flate.DefaultCompression) // the level is valid
	_, _ = w.Write(block)                                        // a buffer cannot fail
	_ = w.Flush()                                                // ends the compressed block at a whole byte

	const header, last = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x01\x00\x00\xff\xff" // last: an empty block
	stream := append([]byte(header), bytes.Repeat(deflated.Bytes(), n)...)
	stream = append(stream, last...)
	var sum uint32
	for range n {
		sum = crc32.Update(sum, crc32.IEEETable, block)
	}
	stream = binary.LittleEndian.AppendUint32(stream, sum)
	return binary.LittleEndian.AppendUint32(stream, uint32(len(block)*n)) //nolint:gosec // modulo 2^32, as RFC 1952 says
}

// Secret is a text with private data, as a program may print it.
type Secret struct {
	Kind string
	Text string   // a part of a message, on one line unless the kind needs more
	Hide []string // parts of Text that must not become public
}

// Secrets returns a text for each kind of private data that redaction recognises by its form.
func Secrets() []Secret {
	return []Secret{
		{"e-mail", "no answer from jane.doe@corp.example", []string{"jane.doe", "corp.example"}},
		{"e-mail with a tag", "no answer from jane+tag@sub.corp.example", []string{"jane", "tag@", "sub.corp"}},
		{"e-mail in other letters", "no answer from jörg.meyer@müller.example", []string{"jörg", "meyer", "müller"}},
		{"escaped e-mail", "GET /box/jane%40corp.example", []string{"jane%40", "corp.example"}},
		{"user and machine", "jane+work@cedar: permission denied", []string{"jane", "@cedar"}},
		{"user in quotes", "no such user 'jdoe4711'", []string{"jdoe4711"}},
		{"machine", "cannot resolve nas.doe-family.org", []string{"doe-family"}},
		{"machine at home", "lost janes-nas.fritz.box", []string{"janes-nas"}},
		{"IPv4", "connect to 192.168.77.12 failed", []string{"192.168.77.12"}},
		{"public IPv4", "connect to 93.184.216.34:443 failed", []string{"93.184.216.34"}},
		{"IPv6", "connect to [2001:db8:7::1c2a]:443 failed", []string{"2001:db8"}},
		{"hardware address", "wlan0: deauthenticated from 3c:22:fb:9a:01:d7", []string{"3c:22:fb"}},
		{"Bluetooth device", "no /org/bluez/hci0/dev_3C_22_FB_9A_01_D7", []string{"3C_22_FB"}},
		{"SSID", `ESSID:"Doe family wifi"`, []string{"Doe family", "family wifi"}},
		{"home path", "cannot open /home/janedoe/tax.ods", []string{"janedoe", "tax.ods"}},
		{"home path with a blank", "cannot open /home/jane doe/My Letters/to Ann.odt",
			[]string{"jane", "doe/My", "Letters", "Ann.odt"}},
		{"quoted home path", "cannot open '/home/jane doe/My Letters/to Ann.odt'",
			[]string{"jane", "doe/My", "Letters", "Ann.odt"}},
		{"path on a stick", "cannot open /media/janedoe/BACKUP/plan.txt", []string{"janedoe", "plan.txt"}},
		{"Windows path", `cannot open C:\Users\janedoe\plan.txt`, []string{"janedoe", "plan.txt"}},
		{"password", "login failed: password=hunter2", []string{"hunter2"}},
		{"password in quotes", "login failed with passwd 'correct horse'", []string{"correct horse"}},
		{"pwd=", "login failed: uid=x;pwd=hunter2", []string{"hunter2"}},
		{"pass:", "login failed, pass: hunter2", []string{"hunter2"}},
		{"variable with pass", "DB_PASS=hunter2 not accepted", []string{"hunter2"}},
		{"password as option", "unknown option: --password hunter2", []string{"hunter2"}},
		{"PIN", "wrong PIN: 47119362", []string{"47119362"}},
		{"bearer token", "sent Authorization: Bearer q7Zk93hdPzx02", []string{"q7Zk93"}},
		{"GitHub token", "bad ghp_Zk93hdPzx02aBcDeFgHiJkLmNoPqRsTuVw", []string{"ghp_"}},
		{"AWS key", "bad AKIAIOSFODNN7EXAMPLE", []string{"AKIAIOS"}},
		{"JWT", "bad eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", []string{"eyJhbGci", "c2lnbmF0"}},
		{"address with a login", "GET https://jane:hunter2@cloud.doe.example/dav", []string{"jane", "hunter2", "cloud.doe"}},
		{"address with a key", "GET https://launchpad.net/x?sig=Zk93hdPz", []string{"Zk93"}},
		{"private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
			[]string{"b3Blbn"}},
		{"PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBGV\n-----END PGP PRIVATE KEY BLOCK-----",
			[]string{"lQOYBGV"}},
		{"cookie", "Set-Cookie: sid=Zk93hdPz; Path=/", []string{"Zk93"}},
		{"session", "PHPSESSID=zk93hdpz has expired", []string{"zk93"}},
		{"UUID", "disk 7d444840-9dc0-41d1-b245-5ffdce74fad2 is full", []string{"7d444840", "5ffdce74fad2"}},
		{"machine id", "no /var/log/journal/0f1e2d3c4b5a69788796a5b4c3d2e1f0", []string{"0f1e2d3c"}},
		{"telephone", "cannot call +49 170 1234567", []string{"170 1234567"}},
		{"telephone without blanks", "cannot call +491701234567", []string{"491701234567"}},
		{"telephone after a word", "phone: 0170 1234567", []string{"0170 1234567"}},
		{"North American telephone", "cannot call (555) 123-4567 or 555-123-4568", []string{"123-4567", "123-4568"}},
		{"payment card", "declined: 4111 1111 1111 1111", []string{"4111 1111"}},
		{"payment card without blanks", "declined: 5555555555554444", []string{"55555555"}},
		{"account", "no money on DE89 3704 0044 0532 0130 00", []string{"DE89 3704", "3704 0044"}},
		{"serial number", "Serial Number: PF3XK2L9", []string{"PF3XK2L9"}},
		{"serial number without a colon", "disk with serial number WD-WX21A7 failed", []string{"WX21A7"}},
		{"serial number of udev", "ID_SERIAL_SHORT=S3Z8NB0K", []string{"S3Z8NB0K"}},
		{"secret of the environment", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI is wrong", []string{"wJalr"}},
		{"secret in JSON", `{"client_secret": "wJalrXUtnFEMI"}`, []string{"wJalr"}},
		{"API key", "api_key: zk93hdpz", []string{"zk93"}},
		{"secret with hidden characters", "pass\u200bword=hunter2 of ja\u00adne@cor\u2060p.example",
			[]string{"hunter2", "ja\u00adne", "cor\u2060p"}},
	}
}

// Harmless returns technical texts that redaction must not change, though parts of them resemble
// private data.
func Harmless() []string {
	return []string{
		"tidewatch crashed with SIGSEGV in tide_parse_row()",
		"std::vector<int, std::allocator<int> >::_M_realloc_insert(__gnu_cxx::__normal_iterator<int*>)",
		"boost::asio::detail::socket_ops::connect(int, sockaddr const*)",
		"std::__cxx11::basic_string<char, std::char_traits<char> >::~basic_string()",
		"core::ops::function::FnOnce::call_once{{vtable.shim}}", "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
		"github.com/snapcore/snapd/overlord.(*StateEngine).Ensure", "main.(*Server).ServeHTTP.func1",
		"reef_walk_directory_entry_and_visit_each_child_2", "_ZN5boost4asio6detail14io_object_implINS1_19resolver_serviceEE",
		"memcpy@GLIBC_2.14 malloc@plt png_read_row@@PNG16_0", "__memcpy_avx512_unaligned_erms", "g_log:main:start_thread",
		"libc6 2.39-0ubuntu8.3, systemd 255.4-1ubuntu8.6, 1:7.0.0~beta2+dfsg-3build1", "python3.12 3.12.3-1ubuntu0.5",
		"firefox 131.0.2+build1-0ubuntu0.24.04.1", "linux 6.8.0-85.85", "libfoo 1.2.3.4-5ubuntu1 and 10.0.2.4+git20240101",
		"5.15.0-1053.61~20.04.1-azure", "Ubuntu 24.04.1 LTS (noble), amd64", "2026-05-18 09:14:02 +0000",
		"at 12:34:56.789012",
		"[12345.678901] BUG: unable to handle page fault", "RIP: 0010:brig_tx_done+0x62/0x110 [brigwifi]",
		"Oops: 0000 [#1] PREEMPT SMP NOPTI", "CPU: 3 PID: 4711 Comm: kworker/u16:2 Tainted: G        W  OE",
		"CR2: 00000000000000b8 CR3: 0000000104c0a006", "Code: 48 89 e5 41 57 41 56 <8b> 41 20 c3",
		"RAX: 0000000000000000 RBX: ffff88810a2b4c00", "00400000-0040b000 r-xp 00000000 08:01 1835123",
		"pci 0000:00:1f.3: BAR 0", "usb 1-4.2: new high-speed USB device number 7 using xhci_hcd",
		"ata1.00: status: { DRDY ERR }",
		"serial8250: ttyS0 at I/O 0x3f8 (irq = 4)", "buffer.c:120:buffer_take: assertion failed (buf->ref > 0)",
		"invalid literal for int() with base 10: 'host-77'", "KeyError: 'user-data'",
		"'NoneType' object has no attribute 'get'",
		"unexpected token '}' in JSON at position 4711", "subprocess returned error exit status 10", "exit status 139",
		"wrote 4294967296 of 18446744073709551615 bytes", "size 140737488347136, inode 41287345, offset 1234567890123456",
		"timestamp 1716023642000, 1716023642123456789", "drivers/media/usb/uvc.c:1234",
		"/usr/lib/python3/dist-packages/apt/cache.py",
		"signal: 11, signature: ok, passed: 3, pinned: 2, bypass: 1", "mode 0644 1234567 root:staff",
		"127.0.0.1:8080 and [::1]:631",
		"threading.localize server main.py", "operator<< <int>(std::ostream&)",
		"dbus-:1.2-org.gnome.Shell@0.service", "getty@tty1.service, user@1000.service, run-user.mount",
		"gtk_widget_size_allocate(): attempt to allocate widget with width -5 and height 24",
	}
}

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
