package layout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/views/layout"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 41300: "41,300", 123456: "123,456", 1234567: "1,234,567", -1234: "−1,234",
	} {
		checktest.Equal(t, fmt.Sprintf("crash.Count(%d)", n), crash.Count(n), want)
	}
	checktest.Equal(t, "crash.Counted(1)", crash.Counted(1, "report", "reports"), "1 report")
	checktest.Equal(t, "crash.Counted(2000)", crash.Counted(2000, "report", "reports"), "2,000 reports")
}

func TestMachines(t *testing.T) {
	t.Parallel()
	checktest.Equal(t, "none", layout.Machines(0, 0), "0")
	checktest.Equal(t, "not named", layout.Machines(0, 7), "unknown")
	checktest.Equal(t, "named", layout.Machines(1200, 4000), "1,200")
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 4249: "4.2 kB", 1_300_000: "1.3 MB"} {
		checktest.Equal(t, fmt.Sprintf("Size(%d)", n), layout.Size(n), want)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		t    time.Time
		want string
	}{
		{time.Time{}, "never"},
		{now, "just now"},
		{now.Add(-59 * time.Second), "just now"},
		{now.Add(-3 * time.Minute), "3 min ago"},
		{now.Add(-5*time.Hour - 59*time.Minute), "5 h ago"},
		{now.Add(-24 * time.Hour), "1 d ago"},
		{now.Add(-13 * 24 * time.Hour), "13 d ago"},
		{time.Date(2026, 9, 2, 1, 0, 0, 0, time.UTC), "2 Sep"},
		{time.Date(2025, 9, 2, 1, 0, 0, 0, time.UTC), "2 Sep 2025"},
		{now.Add(20 * time.Second), "just now"},
		{now.Add(26 * time.Hour), "22 Nov"},
		{time.Date(2026, 11, 21, 13, 57, 0, 0, time.FixedZone("", 2*3600)), "3 min ago"},
	}
	for _, test := range tests {
		checktest.Equal(t, fmt.Sprintf("Ago(%s)", test.t), layout.Ago(test.t, now), test.want)
	}
	checktest.Equal(t, "Exact", layout.Exact(time.Date(2026, 9, 2, 16, 3, 7, 0, time.FixedZone("", 2*3600))),
		"2026-09-02 14:03:07 UTC")
}

func TestShortRelease(t *testing.T) {
	t.Parallel()
	for r, want := range map[crash.Release]string{
		"Ubuntu 24.04": "24.04", "Debian 13": "Debian 13", "Ubuntu Kylin 14.10": "Kylin 14.10", "": "",
	} {
		checktest.Equal(t, fmt.Sprintf("ShortRelease(%q)", r), layout.ShortRelease(r), want)
	}
}

func TestReadSignature(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		bucket crash.Bucket
		want   string
	}{
		{"native", crash.Bucket{
			Signature: "/usr/bin/tidewatch:11:tide_parse_row:tide_load:main", Rule: crash.RuleStacktrace,
			Executable: "/usr/bin/tidewatch",
		}, "tidewatch (SIGSEGV) tide_parse_row → tide_load → main"},
		{"C++ names keep their colons", crash.Bucket{
			Signature: "/usr/bin/ocean:6:Ocean::Tide::~Tide:std::vector:main", Rule: crash.RuleStacktrace,
			Executable: "/usr/bin/ocean",
		}, "ocean (SIGABRT) Ocean::Tide::~Tide → std::vector → main"},
		{"unknown signal", crash.Bucket{
			Signature: "/usr/bin/x:99:a:b", Rule: crash.RuleStacktrace, Executable: "/usr/bin/x",
		}, "x (signal 99) a → b"},
		{"addresses lose their folders", crash.Bucket{
			Signature: "/usr/bin/x:11:/usr/bin/x+1234:/usr/lib/libc.so.6+1d90", Rule: crash.RuleAddress,
			Executable: "/usr/bin/x",
		}, "x (SIGSEGV) x+1234 → libc.so.6+1d90"},
		{"Python", crash.Bucket{
			Signature: "/usr/bin/harbor-sync:OSError(28):/usr/bin/harbor-sync@20:main:load", Rule: crash.RuleTraceback,
			Executable: "/usr/bin/harbor-sync",
		}, "harbor-sync (OSError(28)) harbor-sync@20 → main → load"},
		{"assertion stays in one piece", crash.Bucket{
			Signature: "/usr/bin/quillpad:quillpad: buffer.c:120: take: Assertion `n > 0' failed.", Rule: crash.RuleAssertion,
			Executable: "/usr/bin/quillpad",
		}, "quillpad (SIGABRT) quillpad: buffer.c:120: take: Assertion `n > 0' failed."},
		{"a path with a colon", crash.Bucket{
			Signature: "/opt/My App: beta/bin/app:11:a:b", Rule: crash.RuleStacktrace, Executable: "/opt/My App: beta/bin/app",
		}, "app (SIGSEGV) a → b"},
		{"kernel oops", crash.Bucket{
			Signature: "kernel NULL pointer dereference:brig_tx_done+0x62/0x110 [brigwifi]:brig_irq+0x41/0x80 [brigwifi]",
			Rule:      crash.RuleOops,
		}, "kernel NULL pointer dereference → brig_tx_done+0x62/0x110 [brigwifi] → brig_irq+0x41/0x80 [brigwifi]"},
		{"kernel crash", crash.Bucket{Signature: "kernel:panic:oops_end", Rule: crash.RuleKernelCrash},
			"kernel panic → oops_end"},
		{"own signature in the common form", crash.Bucket{
			Signature: "failed:/usr/bin/x:11:a:b", Rule: crash.RuleDuplicateSignature, Executable: "/usr/bin/x",
		}, "x (SIGSEGV) a → b"},
		{"own signature with newlines", crash.Bucket{
			Signature: "package:foo:1.2\nSetting up foo (1.2) ...\n\tdpkg: error", Rule: crash.RuleDuplicateSignature,
		}, "package:foo:1.2 Setting up foo (1.2) ... dpkg: error"},
		{"own signature after a path", crash.Bucket{
			Signature: "/usr/lib/notifier:timed out: 30 s", Rule: crash.RuleDuplicateSignature, Executable: "/usr/lib/notifier",
		}, "notifier timed out: 30 s"},
		{"modern kernel", crash.Bucket{
			Signature: "kernel:KASAN: slab-use-after-free:reef_walk [reeffs]:iterate_dir", Rule: crash.RuleKernel,
		}, "kernel KASAN: slab-use-after-free → reef_walk [reeffs] → iterate_dir"},
		{"package", crash.Bucket{
			Signature: "package:keel:postinst:exit status 1:ModuleNotFoundError: No module named 'apt_pkg'",
			Rule:      crash.RulePackage,
		}, "keel (postinst) exit status 1:ModuleNotFoundError: No module named 'apt_pkg'"},
		{"Java", crash.Bucket{
			Signature: "/usr/bin/sextant:java.lang.NullPointerException:nav.Fix.take", Rule: crash.RuleJava,
			Executable: "/usr/bin/sextant",
		}, "sextant (java.lang.NullPointerException) nav.Fix.take"},
		{"Python of a package", crash.Bucket{Signature: "harbor-snap:ValueError:main:load", Rule: crash.RulePython},
			"harbor-snap (ValueError) main → load"},
		{"Go", crash.Bucket{
			Signature: "/usr/bin/keeld:panic:index out of range [N] with length N:main.load", Rule: crash.RuleGoPanic,
			Executable: "/usr/bin/keeld",
		}, "keeld (panic) index out of range [N] with length N → main.load"},
		{"hang", crash.Bucket{Signature: "/usr/bin/lumen-shell:hang:lumen_draw:main", Rule: crash.RuleHang},
			"lumen-shell (hang) lumen_draw → main"},
		{"snap", crash.Bucket{Signature: "snap:reef:cannot mount: exit status 1", Rule: crash.RuleSnap},
			"reef cannot mount: exit status 1"},
		{"snap's program", crash.Bucket{
			Signature: "/snap/reef/current/bin/reef:11:{anonymous}::f:g", Rule: crash.RuleStackNames,
			Executable: "/snap/reef/123/bin/reef",
		}, "reef (SIGSEGV) {anonymous}::f → g"},
		{"colons only", crash.Bucket{Signature: ":::", Rule: crash.RuleStacktrace}, "(blank signature)"},
		{"blank", crash.Bucket{Signature: " \n"}, "(blank signature)"},
		{"Unicode", crash.Bucket{
			Signature: "/usr/bin/żeglarz:11:größe_berechnen:主", Rule: crash.RuleStacktrace, Executable: "/usr/bin/żeglarz",
		}, "żeglarz (SIGSEGV) größe_berechnen → 主"},
	}
	for _, test := range tests {
		checktest.Equal(t, test.name, layout.ReadSignature(test.bucket).String(), test.want)
	}
}

func TestReadSignatureIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("f:", 10_000), "/usr/bin/x:11:" + strings.Repeat("f", 30_000), strings.Repeat("::", 10_000),
		strings.Repeat("ż", 32768),
	} {
		for _, rule := range []crash.GroupingRule{crash.RuleStacktrace, crash.RuleDuplicateSignature, crash.RuleOops} {
			got := layout.ReadSignature(crash.Bucket{Signature: text, Rule: rule}).String()
			if n := len([]rune(got)); n > 3000 {
				t.Errorf("rule %s of %.20q…: got %d characters, want at most 3000", rule, text, n)
			}
		}
	}
}

// coloured returns the text of a trace, and the text of its parts of one class, one per line.
func coloured(t *testing.T, text, class string) (whole, parts string) {
	t.Helper()
	var b strings.Builder
	checktest.NoError(t, layout.Trace(text).Render(t.Context(), &b))
	page := dbtest.Must(goquery.NewDocumentFromReader(strings.NewReader("<pre>" + b.String() + "</pre>")))(t)
	found := page.Find(".c-" + class).Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	return page.Find("pre").Text(), strings.Join(found, "\n")
}

func TestTrace(t *testing.T) {
	t.Parallel()
	const python = "Traceback (most recent call last):\n  File \"/usr/bin/x\", line 20, in main\n    " +
		"load(\"a\")\nValueError: no \"b\" at 0x12"
	const gdb = "#0  0x000055d000009234 in tide (row=0x0, s=\"<b>\") at ../src/parse.c:88\n#1  0x1 in ?? () from " +
		"/usr/lib/libx.so.1\nThread 2 (LWP 3):"
	const kernel = "BUG: unable to handle page fault\n[   12.3]  brig_irq+0x41/0x80 [brigwifi]\nCall Trace:\n ? " +
		"do_it+0x1/0x2"
	const top = "tide::parse (row=0x0) at ../src/parse.c:88\n?? () from /usr/lib/libx.so.1"
	const java = "java.lang.IllegalStateException: x\n\tat org.harbour.Main.run(Main.java:12)"
	for _, c := range []struct{ text, class, want string }{
		{python, "h", "Traceback (most recent call last):"}, {python, "f", `"/usr/bin/x"`}, {python, "n", "main"},
		{python, "a", "20\n0x12"},
		{python, "e", "ValueError"}, {python, "s", "\"a\"\n\"b\""},
		{gdb, "n", "tide"}, {gdb, "f", "../src/parse.c:88\n/usr/lib/libx.so.1"}, {gdb, "s", `"<b>"`}, {gdb, "e", "??"},
		{gdb, "h", "Thread 2 (LWP 3):"},
		{kernel, "e", "BUG: unable to handle page fault"}, {kernel, "n", "brig_irq\ndo_it"}, {kernel, "h", "Call Trace:"},
		{top, "n", "tide::parse"}, {top, "f", "../src/parse.c:88\n/usr/lib/libx.so.1"}, {top, "e", "??"},
		{java, "e", "java.lang.IllegalStateException"}, {java, "n", "org.harbour.Main.run"}, {java, "f", "Main.java:12"},
	} {
		whole, got := coloured(t, c.text, c.class)
		if got != c.want || whole != c.text {
			t.Errorf("%.20q, class %s: got %q, want %q; text %q", c.text, c.class, got, c.want, whole)
		}
	}
}

// FuzzTrace checks that the text of a trace stays the same and that none of it becomes markup.
func FuzzTrace(f *testing.F) {
	f.Add("#0 0x1 in <script> (a=\"</pre>\") at x")
	f.Add("\n File \"<img src=x>\", line 1, in <b>\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\x00\r") || strings.ToValidUTF8(text, "") != text || strings.HasPrefix(text, "\n") {
			return
		}
		if whole, _ := coloured(t, text, "e"); whole != text {
			t.Errorf("got %q, want %q", whole, text)
		}
	})
}

// TestReleaseClass checks the classes of releases that charts show together. All releases that are
// supported on one day have different ones.
func TestReleaseClass(t *testing.T) {
	t.Parallel()
	for release, want := range map[crash.Release]string{
		"Ubuntu 24.04": "release-0", "Ubuntu 24.04 LTS": "release-0", "Ubuntu 26.04": "release-1",
		"Ubuntu 22.04": "release-3", "Ubuntu 24.10": "release-4", "Ubuntu 25.04": "release-5", "Ubuntu 25.10": "release-6",
		"Ubuntu 26.10": "release-4", "Debian 12": "release-7", "Debian GNU/Linux 13": "release-8", "Debian sid": "release-10",
		"": "release-14", crash.OtherReleases: "release-14",
	} {
		checktest.Equal(t, release, layout.ReleaseClass(release), want)
	}
	derivatives := []string{"release-11", "release-12", "release-13"}
	for _, release := range []crash.Release{"Linux Mint 22", "Debian testing 3", "Ubuntu Kylin 24.04", "Ubuntu next", "x",
		"Ubuntu 24.07", "Ubuntu -2.04"} {
		if got := layout.ReleaseClass(release); !slices.Contains(derivatives, got) {
			t.Errorf("%q: got %s, want one of %v", release, got, derivatives)
		}
	}
	for day := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2031; day = day.AddDate(0, 1, 0) {
		by := map[string]crash.Release{}
		for _, release := range crash.BuiltInReleases().Supported(day) {
			class := layout.ReleaseClass(release)
			if slices.Contains(derivatives, class) {
				continue // all other distributions share these
			}
			if other := by[class]; other != "" {
				t.Errorf("%s: %s and %s share %s", day.Format(time.DateOnly), other, release, class)
			}
			by[class] = release
		}
	}
}
