package crashtest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// TestBomb checks that Go reads a bomb as the repeated block.
func TestBomb(t *testing.T) {
	t.Parallel()
	block := []byte("some text, some more text")
	r, err := gzip.NewReader(bytes.NewReader(crashtest.Bomb(block, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, bytes.Repeat(block, 1000)) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report    crashtest.Report
		rule      crash.Rule
		signature string // a prefix
		title     string
	}{
		"native": {crashtest.Native(), crash.RuleStacktrace,
			"/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start",
			"tidewatch crashed " +
				"with SIGSEGV in tide_parse_row()"},
		"unsymbolised": {crashtest.Unsymbolised(), crash.RuleAddress,
			"/usr/bin/lumen-shell:11:/usr/lib/x86_64-linux-gnu/libc.so.6+8111:/usr/bin/lumen-shell+5100:",
			"lumen-shell crashed with SIGSEGV"},
		"hang": {crashtest.Hang(), crash.RuleAddress, "/usr/bin/lumen-shell:6:", "lumen-shell crashed with SIGABRT"},
		"assertion": {crashtest.Assertion(), crash.RuleAssertion,
			"/usr/bin/quillpad:ERROR:../src/buffer.c:120:buffer_take: assertion failed (buf->ref > 0): (ADDR)",
			"quillpad assert failure: ERROR:../src/buffer.c:120:buffer_take: assertion failed (buf->ref > 0): " +
				"(0x0000aaab1c2d3e4f)"},
		"python": {crashtest.Python(), crash.RuleTraceback,
			"/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load", "harbor-sync crashed with ValueError in " +
				"load(): invalid literal for int() with base 10: 'host-77'"},
		"recoverable": {crashtest.Recoverable(), crash.RuleDuplicateSignature, "/usr/libexec/reefd:index-rebuild-needed",
			""},
		"package": {crashtest.Package(), crash.RuleDuplicateSignature, "package:brigwifi-dkms:2.0-1ubuntu3\nSetting up",
			"package brigwifi-dkms 2.0-1ubuntu3 failed to install/upgrade: installed brigwifi-dkms package post-installation " +
				"script subprocess returned error exit status 10"},
		"oops": {crashtest.Oops(), crash.RuleOops, "kernel NULL pointer dereference:brig_tx_done+0x62/0x110 " +
			"[brigwifi]:brig_irq+0x41/0x80 [brigwifi]:handle_irq_event_percpu+0x4c/0x190", "BUG: unable to handle kernel NULL " +
			"pointer dereference at 00000000000000b8"},
		"suspend": {crashtest.Suspend(), crash.RuleSuspendResume, "suspend/resume:Marlin Corp. SeaBook " +
			"14:M14ET29W (1.17 )", "[Marlin Corp. SeaBook 14] suspend/resume failure\n"},
		"ungroupable": {crashtest.Ungroupable(), crash.RuleNone, "", ""},
		"markup": {crashtest.Markup(), crash.RuleDuplicateSignature, "/usr/libexec/reefd:<script>",
			`<script>alert("1")</script><img src=x onerror=alert(1)>'"&amp;%3Cb%3E{{7*7}}`},
		"long": {crashtest.Long(), crash.RuleStacktrace, "/usr/libexec/reefd:11:reef_walk_directory_entry",
			"reefd crashed with SIGSEGV in reef_walk_directory_entry_and_visit_each_child()"},
		"unicode": {crashtest.Unicode(), crash.RuleTraceback, "/usr/bin/żeglarz:OSError(28):główna:zapisz",
			"żeglarz crashed with OSError in zapisz(): [Errno 28] Brak miejsca na urządzeniu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := c.report.Fields()
			g := grouping.SignatureOf(fields)
			if g.Rule != c.rule || !strings.HasPrefix(g.Signature, c.signature) || (g.Signature == "") != (c.signature == "") {
				t.Errorf("got rule %q and signature %q, want %q and %q", g.Rule, g.Signature, c.rule, c.signature)
			}
			s := grouping.SummaryOf(fields)
			if s.Title != c.title {
				t.Errorf("got title %q, want %q", s.Title, c.title)
			}
			if s.Package == "" || s.Version == "" || s.SourcePackage == "" || s.Release != "Ubuntu 24.04" ||
				s.Architecture != "amd64" {
				t.Errorf("got an incomplete summary: %+v", s)
			}
			if _, ok := crash.OccurredAt(fields["Date"]); !ok {
				t.Errorf("the date %q cannot be parsed", fields["Date"])
			}
			if own := fields["StacktraceAddressSignature"]; own != "" {
				delete(fields, "StacktraceAddressSignature")
				if got := grouping.AddressSignature(fields); got != own {
					t.Errorf("computed address signature: got %q, the report has %q", got, own)
				}
				if got := grouping.StacktraceTop(fields["Stacktrace"]); name == "native" && got != fields["StacktraceTop"] {
					t.Errorf("computed StacktraceTop: got %q, the report has %q", got, fields["StacktraceTop"])
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	r := crashtest.Native(crashtest.On("Ubuntu 26.04"), crashtest.Version("2.0-1"), crashtest.At(when),
		crashtest.Process(7),
		crashtest.Set("Tags", "x"), crashtest.Without("Stacktrace"))
	for name, want := range map[string]string{
		"DistroRelease": "Ubuntu 26.04", "Package": "tidewatch 2.0-1", "Date": "Tue Nov  3 04:05:06 2026", "Tags": "x",
		"Uname": "Linux 7.0.0-12-generic x86_64",
	} {
		if got := r[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, ok := r["Stacktrace"]; ok {
		t.Error("Stacktrace is still there")
	}
	one, _ := crash.DuplicateKey("m", crashtest.Native(crashtest.Process(7)).Fields())
	two, _ := crash.DuplicateKey("m", crashtest.Native(crashtest.Process(8)).Fields())
	if one == two {
		t.Error("two processes gave the same duplicate key")
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	r := crashtest.Native(crashtest.Set("bad key", "x"), crashtest.Set("Title", "not sent"))
	fields, _, err := apport.Read(bytes.NewReader(r.Crash()), apport.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := r.Fields()
	delete(want, "bad key")
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	fields, err = crashtest.Decode(r.BSON())
	if err != nil {
		t.Fatal(err)
	}
	want["bad key"] = "x"
	delete(want, "Title")
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
}
