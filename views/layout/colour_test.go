package layout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/views/layout"
)

// coloured returns the text of a trace, and the text of its parts of one class, one per line.
func coloured(t *testing.T, text, class string) (whole, parts string) {
	t.Helper()
	var b strings.Builder
	if err := layout.Trace(text).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	page, err := goquery.NewDocumentFromReader(strings.NewReader("<pre>" + b.String() + "</pre>"))
	if err != nil {
		t.Fatal(err)
	}
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
		if got := layout.ReleaseClass(release); got != want {
			t.Errorf("%q: got %s, want %s", release, got, want)
		}
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
			if other := by[class]; other != "" {
				t.Errorf("%s: %s and %s share %s", day.Format(time.DateOnly), other, release, class)
			}
			by[class] = release
		}
	}
}
