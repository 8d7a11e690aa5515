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
	"mishap/crash/whoopsie"
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

// program adds the fields of a crash of a running program.
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

// procStatus returns /proc/PID/status in apport's form.
func procStatus(file string, pid int) string {
	return fmt.Sprintf("Name:\t%.15s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t1\n"+
		"Uid:\t1000\t1000\t1000\t1000\nVmRSS:\t%8d kB\nThreads:\t4",
		path.Base(file), pid, pid, 3*pid+9000)
}

// Decode returns the fields of a report that whoopsie sent, decompressed. Its errors are those of
// [whoopsie.Open].
func Decode(body []byte) (crash.Fields, error) {
	d, err := whoopsie.Open(body)
	if err != nil {
		return nil, err
	}
	fields, _, _ := d.Fields(whoopsie.MaxDecompressed)
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

// notSent lists fields that whoopsie does not send.
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
