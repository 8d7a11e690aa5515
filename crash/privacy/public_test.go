package privacy

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
)

func TestPublicTexts(t *testing.T) {
	t.Parallel()
	const native = crash.RuleStacktrace
	for name, tt := range map[string]struct{ in, want Texts }{
		"nothing private": {
			Texts{"tidewatch crashed with SIGSEGV in tide_parse_row()", "/usr/bin/tidewatch:11:tide_parse_row:main",
				"/usr/bin/tidewatch", "Tide tables", native},
			Texts{"tidewatch crashed with SIGSEGV in tide_parse_row()", "/usr/bin/tidewatch:11:tide_parse_row:main",
				"/usr/bin/tidewatch", "Tide tables", native},
		},
		"program in a home": {
			Texts{"app crashed with SIGSEGV in main()", "/home/wendeline/bin/app:11:main", "/home/wendeline/bin/app",
				"wendeline's tool", native},
			Texts{"app crashed with SIGSEGV in main()", "[removed]:11:main", "[removed]", "[removed]'s tool", native},
		},
		"assertion": {
			Texts{"quillpad assert failure: /home/bob/src/buffer.c:120: n > 0",
				"/usr/bin/quillpad:/home/bob/src/buffer.c:120: n > 0", "/usr/bin/quillpad", "", crash.RuleAssertion},
			Texts{"", "/usr/bin/quillpad:[removed]/buffer.c:120: n > 0", "/usr/bin/quillpad", "", crash.RuleAssertion},
		},
		"mail": {
			Texts{"x", "/usr/bin/post:to ann@mail.example.org", "/usr/bin/post", "", native},
			Texts{"x", "/usr/bin/post:to [removed]", "/usr/bin/post", "", native},
		},
	} {
		if got := tt.in.Public(); got != tt.want {
			t.Errorf("%s: got %+v\nwant %+v", name, got, tt.want)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "2:1.0~git20260101.deadbeef-1": "2:1.0~git20260101.deadbeef-1", "Ubuntu 24.04": "Ubuntu 24.04",
		"libstdc++6":           "libstdc++6",
		"bob@mail.example.org": "[removed]", "/home/bob/x": "[removed]",
	} {
		if got := RedactLabel(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if got := RedactLabels([]crash.Release{"Ubuntu 24.04", "of bob@mail.example.org"}); len(got) != 1 ||
		got[0] != "Ubuntu 24.04" {
		t.Errorf("got %q, want the first only", got)
	}
}

// checkSuspicious checks that redacting does not change a text that is not suspicious.
func checkSuspicious(t *testing.T, s string) {
	t.Helper()
	var r Redactor
	if got := r.Text(s); got != s && !Suspicious(s) {
		t.Errorf("%q is not suspicious, but becomes %q", s, got)
	}
	if suspiciousSignature(s) {
		return
	}
	for _, got := range []string{r.Signature(s), r.Path(s), r.Name(s)} {
		if got != s {
			t.Errorf("%q is not suspicious as a signature, but becomes %q", s, got)
		}
	}
}

func FuzzSuspicious(f *testing.F) {
	for _, s := range []string{
		"cannot open /home/bob/letter", `C:\Users\bob`, "ann@mail.example.org", "password=hunter2", "token abc12345",
		"10.0.0.7:8080", "fe80::1c2a:3bff:fe4d:5e6f",
		"00:1a:2b:3c:4d:5e", "001a.2b3c.4d5e", "dev_00_1A_2B_3C_4D_5E", "123e4567-e89b-12d3-a456-426614174000",
		"0x7f12ab34cd56", "ip-10-1-2-3", "nas.local", "uid=1000(bob)",
		"Command 'mount -o x' returned non-zero", "connect to nas.bobs.org", "$HOME/x", "~bob/x",
		"https://u:p@h.example/x?k=v", "2001:db8:1:2:3:4:5:6", "/usr/bin/x:11:a::b:c",
		"key AbCxEf0123456789AbCdEf0123456789AbCdEf01==", "sudo -u bob", "user 'bob'",
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "--api-key XYZ", "Authorization: Basic x",
	} {
		f.Add(s)
	}
	f.Fuzz(checkSuspicious)
}

func TestSuspicious(t *testing.T) {
	t.Parallel()
	for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Python(), crashtest.GoPanic(),
		crashtest.RustPanic(), crashtest.Java(), crashtest.Oops(), crashtest.ModernOops(), crashtest.Package(),
		crashtest.OddNames(), crashtest.Unsymbolised()} {
		for _, value := range r {
			for line := range strings.Lines(value) {
				checkSuspicious(t, line)
			}
		}
	}
	for _, plain := range []string{"/usr/bin/tidewatch:11:tide_parse_row:tide_load:main",
		"/usr/bin/ocean:6:Ocean::Tide::draw:std::vector:main", "kernel:NULL pointer dereference:brig_tx_done [brigwifi]"} {
		if suspiciousSignature(plain) {
			t.Errorf("Suspicious(%s): got true, want false", plain)
		}
	}
}

// BenchmarkPublic measures a list of 100 rows.
func BenchmarkPublic(b *testing.B) {
	rows := map[string]Texts{
		"usual": {Title: "tidewatch crashed with SIGSEGV in tide_parse_row()",
			Signature:  "/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:g_closure_invoke:main",
			Executable: "/usr/bin/tidewatch"},
		"private": {Title: "app crashed with SIGSEGV in /home/bob/x",
			Signature:  "/home/bob/bin/app:11:tide_parse_row:tide_load:on_open_clicked:g_closure_invoke:main",
			Executable: "/home/bob/bin/app"},
	}
	for name, row := range rows {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for range 100 {
					row.Public()
				}
			}
		})
		b.Run(name+" without the quick look", func(b *testing.B) {
			var r Redactor
			for b.Loop() {
				for range 100 {
					_, _, _ = r.Text(row.Title), r.Signature(row.Signature), r.Path(row.Executable)
				}
			}
		})
	}
}
