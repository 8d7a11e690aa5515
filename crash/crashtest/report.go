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
	"slices"
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
	document := make([]byte, 4, 4096)
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if slices.Contains(notSent, name) {
			continue
		}
		document = append(document, 0x02) // a text
		document = append(append(document, name...), 0)
		document = binary.LittleEndian.AppendUint32(document, uint32(len(r[name])+1)) //nolint:gosec // reports are small
		document = append(append(document, r[name]...), 0)
	}
	document = append(document, 0)
	binary.LittleEndian.PutUint32(document, uint32(len(document))) //nolint:gosec // reports are small
	return document
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
