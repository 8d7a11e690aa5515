package sender

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
)

// kernelEntries returns the sample as entries of the journal, between other lines of the kernel.
func kernelEntries(t *testing.T, change func(string) string) (entries []map[string]any) {
	t.Helper()
	text := change(string(dbtest.Must(os.ReadFile("testdata/oops.txt"))(t)))
	all := append([]string{"usb 1-1: new device"}, strings.Split(strings.TrimSpace(text), "\n")...)
	all = append(all, "RIP: 0010:reef_read+0x12/0x80 [reef]", "Kernel panic - not syncing: Fatal exception",
		"---[ end Kernel panic - not syncing: Fatal exception ]---", "usb 1-2: new device")
	for i, line := range all {
		entries = append(entries, map[string]any{"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": line,
			"_BOOT_ID": "b00", "_SOURCE_MONOTONIC_TIMESTAMP": fmt.Sprint(12345678 + 10*i),
			"__CURSOR": fmt.Sprintf("s=1;i=%x", i)})
	}
	return entries
}

func unchanged(s string) string { return s }

// ownKernel lets a package own the kernel, and nothing else.
func (x *fixture) ownKernel(t *testing.T) {
	t.Helper()
	x.Machine.Packages = dbtest.Must(filepath.Abs("testdata/dpkg-query"))(t)
}

// TestKernel follows the journal: an oops between other lines is reported once, without its consequences.
func TestKernel(t *testing.T) {
	t.Parallel()
	url, bodies, done := server(t, stored)
	x := newFixture(t, url, kernelEntries(t, unchanged)...)
	x.ownKernel(t)
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
	got := decode(t, bodies()[0])
	want := crash.Fields{"ProblemType": "KernelOops", "Package": "linux-image-6.1.0-18-amd64 6.1.76-1",
		"SourcePackage": "linux", "PackageArchitecture": "amd64", "DistroRelease": "Debian 12", "Architecture": "amd64",
		"Uname":    "Linux 6.1.0-18-amd64",
		"Date":     got["Date"],
		"OopsText": strings.TrimSpace(string(dbtest.Must(os.ReadFile("testdata/oops.txt"))(t)))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	const signature = "kernel:NULL pointer dereference:reef_read [reef]:reef_poll [reef]:vfs_read:ksys_read"
	if s := grouping.SignatureOf(got).Signature; s != signature {
		t.Errorf("got signature %q, want %q", s, signature)
	}
	place := string(dbtest.Must(os.ReadFile(filepath.Join(x.State, cursorFile)))(t))
	if end := fmt.Sprintf("s=1;i=%x\n", strings.Count(want["OopsText"], "\n")+1); place != end {
		t.Errorf("got cursor %q, want that of the last line of the oops, %q", place, end)
	}
	// The same oops in the file that systemd-pstore saved, and in the journal again, is known.
	saveDmesg(t, x, "<4>[   12.345688] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"+
		"<4>[   12.345738] CPU: 3 PID: 811 Comm: tidewatch Not tainted 6.1.0-18-amd64 #1\n")
	s := dbtest.Must(New(x.Config))(t)
	before := x.spooled(t) // the answer may have come too late
	if err := s.followJournalOnce(t); err != nil || x.spooled(t) != before {
		t.Errorf("got %d more reports, %v; want none", x.spooled(t)-before, err)
	}
}

// followJournalOnce reads the journal up to its end.
func (s *Sender) followJournalOnce(t *testing.T) error {
	t.Helper()
	pipe := filepath.Join(filepath.Dir(s.config.Journalctl), "more")
	go func() {
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			_ = f.Close()
		}
	}()
	err := s.followJournal(t.Context())
	if err != nil && err.Error() == "journalctl ended" {
		return nil
	}
	return err
}

func saveDmesg(t *testing.T, x *fixture, text string) {
	t.Helper()
	x.Pstore = filepath.Join(x.dir, "pstore")
	folder := filepath.Join(x.Pstore, "171234567", "000")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "dmesg.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPstore reads a panic whose parts are in the wrong order.
func TestPstore(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "http://unused.invalid")
	x.ownKernel(t)
	saveDmesg(t, x, "Panic#2 Part2\n<0>[  812.000030][    C1] Call Trace:\n"+
		"<0>[  812.000040][    C1]  reef_poll+0x41/0x90 [reef]\n"+
		"<0>[  812.000050][    C1] ---[ end Kernel panic - not syncing: Attempted to kill init! ]---\n"+
		"Panic#2 Part1\n<6>[  811.000000] usb 1-1: new device\n"+
		"<0>[  812.000010][    C1] Kernel panic - not syncing: Attempted to kill init!\n"+
		"<0>[  812.000020][    C1] CPU: 3 PID: 1 Comm: systemd Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1\n")
	s := dbtest.Must(New(x.Config))(t)
	for range 2 {
		if err := s.followJournalOnce(t); err != nil || x.spooled(t) != 1 {
			t.Fatalf("got %d reports, %v; want 1: %s", x.spooled(t), err, x.log)
		}
	}
	names, _, _ := s.spool.list()
	got := decode(t, dbtest.Must(s.spool.read(names[0]))(t))
	want := "Kernel panic - not syncing: Attempted to kill init!\n" +
		"CPU: 3 PID: 1 Comm: systemd Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1\nCall Trace:\n" +
		" reef_poll+0x41/0x90 [reef]\n---[ end Kernel panic - not syncing: Attempted to kill init! ]---"
	if diff := cmp.Diff(want, got["OopsText"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOopsLines checks which lines belong together.
func TestOopsLines(t *testing.T) {
	t.Parallel()
	line := func(second float64, boot, text string) kernelLine {
		return kernelLine{text: text, stamp: time.Duration(second * float64(time.Second)), boot: boot}
	}
	for name, c := range map[string]struct {
		lines []kernelLine
		want  []string
	}{
		"a warning": {[]kernelLine{line(1, "a", "WARNING: CPU: 2 PID: 1 at fs/x.c:1 x+0x1/0x2")}, nil},
		"a lock-up without end": {[]kernelLine{line(1, "a", "watchdog: BUG: soft lockup - CPU#1 stuck"),
			line(1, "a", "Call Trace:"), line(9, "a", "usb 1-1: new device")},
			[]string{"watchdog: BUG: soft lockup - CPU#1 stuck\nCall Trace:"}},
		"the machine restarts": {[]kernelLine{line(7, "a", "BUG: x"), line(1, "b", "Linux version 6.1"),
			line(7, "b", "BUG: y")}, []string{"BUG: x", "BUG: y"}},
		"a clock that goes back": {[]kernelLine{line(7, "a", "BUG: x"), line(3, "a", "y"), line(4, "a", "Oops: 1 [#1]")},
			[]string{"BUG: x"}},
		"two": {[]kernelLine{line(1, "a", "BUG: x"), line(1, "a", "---[ end trace 1 ]---"), line(2, "a", "BUG: z"),
			line(9, "a", "int3: 0000 [#2] SMP"), line(9, "a", "---[ end trace 2 ]---")},
			[]string{"BUG: x\n---[ end trace 1 ]---", "int3: 0000 [#2] SMP\n---[ end trace 2 ]---"}},
	} {
		var all oopses
		var got []string
		for _, l := range c.lines {
			if o := all.add(l); o != nil {
				got = append(got, strings.Join(o.lines, "\n"))
			}
		}
		if o := all.finish(); o != nil {
			got = append(got, strings.Join(o.lines, "\n"))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	var all oopses
	all.add(line(1, "a", "BUG: endless"))
	for i := range 10000 {
		if o := all.add(line(1, "a", fmt.Sprint(i))); o != nil && len(o.lines) != maxOopsLines {
			t.Fatalf("got %d lines, want %d", len(o.lines), maxOopsLines)
		}
	}
}

// TestTaint checks whose problems are reported.
func TestTaint(t *testing.T) {
	t.Parallel()
	for letters, want := range map[string]bool{
		"Not tainted": true, "Tainted: G        W         ": true, "Tainted: P           OE     ": false,
		"Tainted: G           O      ": false, "Tainted: G   M              ": false, "Tainted: G      D           ": false,
		"Tainted: [W]=WARN\nx Tainted: G        W         ": true, "Tainted: [O]=OOT_MODULE\nx Not tainted": false,
	} {
		x := newFixture(t, "http://unused.invalid", kernelEntries(t, func(s string) string {
			return strings.Replace(s, "Not tainted", letters, 1)
		})...)
		x.ownKernel(t)
		s := dbtest.Must(New(x.Config))(t)
		if err := s.followJournalOnce(t); err != nil || x.spooled(t) == 1 != want {
			t.Errorf("%s: got %d reports, %v; want one: %v\n%s", letters, x.spooled(t), err, want, x.log)
		}
	}
}
