package grouping_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// offsets leaves out of comparisons where frames are in the field.
var offsets = cmpopts.IgnoreUnexported(grouping.Frame{}, grouping.Traceback{})

func TestFrames(t *testing.T) {
	t.Parallel()
	const stack = `#0  0x000055d000009234 in tide_parse_row (row=0x0, cols=7) at ../src/parse.c:88
        i = 0
#1  0x00007f2210029d90 in __libc_start_call_main () from /usr/lib/x86_64-linux-gnu/libc.so.6
No locals.
#2  <signal handler called>
#3  Foo::operator() (this=0x0, s=0x2 "a) at \"b\".c:1 (") at f oo.cc:17
#4  0x1 in std::function<void (int)>::operator()(int) const (this=0x1) at std_function.h:590
#5  0x2 in operator< (a=1, b=2)
#6  0x3 in (anonymous namespace)::run () at x.cc:3
#7  0x4 in ?? ()
#8  0x5 in größe (ñ=0x0 "日本") at größe.c:1
#9  0x6 in <T as core::convert::Into<U>>::into () at conv.rs:1
#10 0x7 in cut (a=1
#11 main`
	want := []grouping.Frame{
		{Number: 0, Address: "0x000055d000009234", Function: "tide_parse_row", Args: "row=0x0, cols=7",
			File: "../src/parse.c", Line: 88},
		{Number: 1, Address: "0x00007f2210029d90", Function: "__libc_start_call_main",
			Module: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{Number: 2, Function: "<signal handler called>"},
		{Number: 3, Function: "Foo::operator()", Args: `this=0x0, s=0x2 "a) at \"b\".c:1 ("`, File: "f oo.cc", Line: 17},
		{Number: 4, Address: "0x1", Function: "std::function<void (int)>::operator()(int) const", Args: "this=0x1",
			File: "std_function.h", Line: 590},
		{Number: 5, Address: "0x2", Function: "operator<", Args: "a=1, b=2"},
		{Number: 6, Address: "0x3", Function: "(anonymous namespace)::run", File: "x.cc", Line: 3},
		{Number: 7, Address: "0x4", Function: "??"},
		{Number: 8, Address: "0x5", Function: "größe", Args: `ñ=0x0 "日本"`, File: "größe.c", Line: 1},
		{Number: 9, Address: "0x6", Function: "<T as core::convert::Into<U>>::into", File: "conv.rs", Line: 1},
		{Number: 10, Address: "0x7", Function: "cut", Args: "a=1"},
		{Number: 11, Function: "main"},
	}
	got := grouping.Frames(crash.Fields{"Stacktrace": stack})
	checktest.Diff(t, "frames", got, want, offsets)
}

// TestFramesSource checks that the field with more function names is used, and the full stack if
// they are equal.
func TestFramesSource(t *testing.T) {
	t.Parallel()
	const top, nameless, full = "a (x=1) at a.c:1\n?? ()", "#0  0x1 in ?? ()\n#1  0x2 in ?? ()",
		"#0  0x1 in a ()\n#1  0x2 in ?? ()\n#2  0x3 in ?? ()"
	for name, c := range map[string]struct {
		fields crash.Fields
		want   int
		first  string
	}{
		"top only":       {crash.Fields{"StacktraceTop": top}, 2, "a"},
		"top knows more": {crash.Fields{"StacktraceTop": top, "Stacktrace": nameless}, 2, "a"},
		"as many":        {crash.Fields{"StacktraceTop": top, "Stacktrace": full}, 3, "a"},
		"no top":         {crash.Fields{"Stacktrace": nameless}, 2, "??"},
		"no frames":      {crash.Fields{"StacktraceTop": top, "Stacktrace": "No stack."}, 2, "a"},
	} {
		got := grouping.Frames(c.fields)
		if len(got) != c.want || got[0].Function != c.first || got[0].Named() != (c.first != "??") {
			t.Errorf("%s: got %+v, want %d frames, the first %q", name, got, c.want, c.first)
		}
	}
	if got := grouping.Frames(nil); got != nil {
		t.Errorf("no stack: got %+v", got)
	}
}

func TestThreads(t *testing.T) {
	t.Parallel()
	fields := crashtest.Native().Fields()
	threads := grouping.Threads(fields)
	if len(threads) != 2 {
		t.Fatalf("got %d threads, want 2", len(threads))
	}
	if got := threads[0]; got.Number != 2 || got.ID != "4312" || got.Crashed || len(got.Frames) != 3 ||
		got.Frames[2].Function != "worker_main" || got.Frames[2].Number != 2 {
		t.Errorf("got %+v for the first, want thread 2 in worker_main", got)
	}
	if got := threads[1]; got.Number != 1 || got.ID != "4311" || !got.Crashed || len(got.Frames) != 5 {
		t.Errorf("got %+v for the second, want thread 1, the one that crashed", got)
	}
	named := grouping.Threads(crash.Fields{"ThreadStacktrace": "Thread 7 (Thread 0x7f (LWP 9) \"gmain\"):\n#0  0x1 " +
		"in poll ()\n"})
	if len(named) != 1 || named[0].Name != "gmain" || named[0].ID != "9" || named[0].Crashed {
		t.Errorf("got %+v, want the thread gmain", named)
	}
	if got := grouping.Threads(crash.Fields{"ThreadStacktrace": "#0 0x1 in f ()\nThread x (y):\n"}); got != nil {
		t.Errorf("no threads: got %+v", got)
	}
}

func TestTracebacks(t *testing.T) {
	t.Parallel()
	python := crashtest.Python().Fields()
	for name, c := range map[string]struct {
		text string
		want []grouping.Traceback
	}{
		"plain": {python["Traceback"], []grouping.Traceback{{
			Frames: []grouping.Frame{
				{Number: 0, File: "/usr/bin/harbor-sync", Line: 20, Function: "<module>", Code: "main()"},
				{Number: 1, File: "/usr/bin/harbor-sync", Line: 14, Function: "main", Code: "sync(cfg)"},
				{Number: 2, File: "/usr/lib/python3/dist-packages/harbor/io.py", Line: 77, Function: "load", Code: "return int(s)"},
			},
			Exception: "ValueError", Message: "invalid literal for int() with base 10: 'host-77'",
		}}},
		"chained": {"Traceback (most recent call last):\n  File \"/a.py\", line 1, in a\n    b()\nOSError: x\n\nDuring " +
			"handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File " +
			"\"/c.py\", line 2, in c\n    raise E() from e\nRuntimeError: first\n  second", []grouping.Traceback{
			{Frames: []grouping.Frame{{File: "/a.py", Line: 1, Function: "a", Code: "b()"}}, Exception: "OSError", Message: "x"},
			{Lead: "During handling of the above exception, another exception occurred:",
				Frames:    []grouping.Frame{{File: "/c.py", Line: 2, Function: "c", Code: "raise E() from e"}},
				Exception: "RuntimeError", Message: "first\nsecond"},
		}},
		"group": {"  + Exception Group Traceback (most recent call last):\n  |   File \"/usr/bin/x\", line 20, in " +
			"<module>\n  |     main()\n  | ExceptionGroup: many (2 sub-exceptions)\n  +-+---------------- 1 " +
			"----------------\n    | ValueError: a\n    +---------------- 2 ----------------\n    | KeyError: 'b'\n    " +
			"+------------------------------------", []grouping.Traceback{
			{Frames: []grouping.Frame{{File: "/usr/bin/x", Line: 20, Function: "<module>", Code: "main()"}},
				Exception: "ExceptionGroup", Message: "many (2 sub-exceptions)"},
			{Exception: "ValueError", Message: "a"}, {Exception: "KeyError", Message: "'b'"},
		}},
		"syntax error": {"Traceback (most recent call last):\n  File \"/x\", line 2, in <module>\n    import cfg\n  File " +
			"\"/cfg.py\", line 7\n    x = = 1\n        ^\nSyntaxError: invalid syntax", []grouping.Traceback{
			{Frames: []grouping.Frame{{File: "/x", Line: 2, Function: "<module>", Code: "import cfg"},
				{Number: 1, File: "/cfg.py", Line: 7, Code: "x = = 1"}}, Exception: "SyntaxError", Message: "invalid syntax"},
		}},
		"one line": {"ImportError: could not import gi",
			[]grouping.Traceback{{Exception: "ImportError", Message: "could not import gi"}}},
		"no message": {"Traceback (most recent call last):\n  File \"/x\", line 99999999999999999999, in " +
			"f\nKeyboardInterrupt", []grouping.Traceback{{Frames: []grouping.Frame{{File: "/x", Function: "f"}},
			Exception: "KeyboardInterrupt"}}},
		"empty colon": {"AssertionError: ", []grouping.Traceback{{Exception: "AssertionError"}}},
		"nothing":     {"", nil},
	} {
		got := grouping.Tracebacks(crash.Fields{"Traceback": c.text})
		checktest.Diff(t, name, got, c.want, offsets)
	}
}

// TestFramesAreBounded checks that the table of a hostile report stays small.
func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	if got := grouping.Frames(crash.Fields{"Stacktrace": strings.Repeat("#0  0x1 in f ()\n", 10_000)}); len(got) != 500 {
		t.Errorf("got %d frames, want 500", len(got))
	}
	if got := grouping.Frames(crash.Fields{"StacktraceTop": long + " (" + long + ") at " + long + ":1"}); len(got) != 1 ||
		len(got[0].Function+got[0].Args+got[0].File) > 7000 || !strings.HasSuffix(got[0].Function, "…") {
		t.Errorf("got a long frame: %.100v", got)
	}
	if got := grouping.Threads(crash.Fields{"ThreadStacktrace": strings.Repeat("Thread 1 (Thread 0x1 (LWP 1)):\n#0  "+
		"0x1 in f ()\n", 10_000)}); len(got) != 200 {
		t.Errorf("got %d threads, want 200", len(got))
	}
	chain := strings.Repeat("Traceback (most recent call last):\n  File \"/x\", line 1, in f\nE: "+long+"\n", 300)
	got := grouping.Tracebacks(crash.Fields{"Traceback": chain})
	if len(got) != 200 || len(got[0].Message) > 2100 {
		t.Errorf("got %d parts, the first with a message of %d bytes; want 200 and at most 2100", len(got),
			len(got[0].Message))
	}
}

// stackOf returns frames from "function:line" or "function", with "??" for frames without a name.
func stackOf(text string) []grouping.Frame {
	var frames []grouping.Frame
	for i, word := range strings.Fields(text) {
		f := grouping.Frame{Number: i, Module: "/usr/bin/tidewatch", Function: word}
		if function, line, ok := strings.Cut(word, ":"); ok {
			f.Function, f.File = function, "a.c"
			_, _ = fmt.Sscan(line, &f.Line)
		}
		frames = append(frames, f)
	}
	return frames
}

func TestCompareFrames(t *testing.T) {
	t.Parallel()
	marks := map[grouping.FrameDifference]string{grouping.SameFrame: "=", grouping.OtherPlace: "~",
		grouping.OnlyInFirst: "-", grouping.OnlyInSecond: "+"}
	for _, tt := range []struct{ first, second, want string }{
		{"", "", ""},
		{"a b", "a b", "=a =b"},
		{"a:1 b:2", "a:1 b:3", "=a ~b"},
		{"a:1 b", "a b:7", "=a =b"}, // a missing line is no difference
		{"a b c", "a c", "=a -b =c"},
		{"a c", "a b c", "=a +b =c"},
		{"a x c d", "a y c e", "=a -x +y =c -d +e"},
		{"a b", "", "-a -b"},
		{"", "a", "+a"},
		{"f f f g", "f g", "=f -f -f =g"},
		{"?? a", "?? a", "=?? =a"},
		{"?? a", "b a", "-?? +b =a"},
	} {
		var got []string
		for _, pair := range grouping.CompareFrames(stackOf(tt.first), stackOf(tt.second)) {
			frame := pair.First
			if frame == nil {
				frame = pair.Second
			}
			got = append(got, marks[pair.Difference]+frame.Function)
		}
		checktest.Equal(t, fmt.Sprintf("%q and %q", tt.first, tt.second), strings.Join(got, " "), tt.want)
	}
	long := stackOf(strings.Repeat("f ", 5000))
	checktest.Equal(t, "of 5,000 frames", len(grouping.CompareFrames(long, long)), 400)
}

func TestAnyFrames(t *testing.T) {
	t.Parallel()
	if got := grouping.AnyFrames(crashtest.Native().Fields()); len(got) != 5 || got[0].Function != "tide_parse_row" {
		t.Errorf("native: got %+v", got)
	}
	if got := grouping.AnyFrames(crashtest.Python().Fields()); len(got) == 0 || got[len(got)-1].Function != "load" {
		t.Errorf("traceback: got %+v", got)
	}
}

func TestLinkTemplates(t *testing.T) {
	t.Parallel()
	links, err := grouping.ParseLinkTemplates(grouping.DefaultSourceLinks +
		" Ubuntu 24.04 https://x.example/{codename}/{source}/{file}?v={version}&l={line}")
	checktest.NoError(t, err)
	place := grouping.SourcePlace{Package: "g++-4", Version: "1:2.0~rc1-1", File: "src/a b#.c", Line: 7}
	for release, want := range map[crash.Release]string{
		"Debian 13":        "https://sources.debian.org/src/g++-4/1:2.0~rc1-1/src/a%20b%23.c#L7",
		"Ubuntu 22.04":     "https://git.launchpad.net/ubuntu/+source/g++-4/tree/src/a%20b%23.c?h=applied/1%252.0_rc1-1#n7",
		"Ubuntu 24.04":     "https://x.example/noble/g++-4/src/a%20b%23.c?v=1:2.0~rc1-1&l=7",
		"Ubuntu 24.04 LTS": "https://x.example/noble/g++-4/src/a%20b%23.c?v=1:2.0~rc1-1&l=7",
		"Ubuntu 24.041":    "https://git.launchpad.net/ubuntu/+source/g++-4/tree/src/a%20b%23.c?h=applied/1%252.0_rc1-1#n7",
		"Ubuntish 1":       "", "": "",
	} {
		checktest.Equal(t, release, links.Source(release, place), want)
	}
	checktest.Equal(t, "without a file", links.Source("Debian 13", grouping.SourcePlace{Package: "x", Version: "1"}),
		"")
	if none, err := grouping.ParseLinkTemplates(" "); err != nil || none.Version("Debian 13", "x", "1") != "" {
		t.Errorf("no templates: got %v, %v", none, err)
	}
	for _, bad := range []string{"https://x.example/{file}", "Debian", "Debian https://x.example/{path}",
		"Debian https:///{file}", "Debian https://x.example/ Ubuntu"} {
		if _, err := grouping.ParseLinkTemplates(bad); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v, want an error", bad, err)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	of := grouping.SourcePlace{Package: "tidewatch", Version: "1.4.9-2"}
	for _, c := range []struct{ file, module, function, want string }{
		{"../src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"./obj-x86_64-linux-gnu/../src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"obj-x86_64-linux-gnu/src/made.c", "/usr/bin/tidewatch", "tide", "tidewatch 1.4.9-2 src/made.c"},
		{"/usr/src/tidewatch-1.4.9-2/src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"/usr/src/glibc-2.39-0ubuntu8/nptl/x.c", "", "__pthread_kill", "glibc 2.39-0ubuntu8 nptl/x.c"},
		{"/usr/src/x11-1%3a2.0-1/src/x.c", "", "x", "x11 1:2.0-1 src/x.c"},
		{"/build/tidewatch-Ab3dE9/tidewatch-1.4.9/src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/parse.c", "/usr/lib/tidewatch/libx.so", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/parse.c", "/usr/lib/libtidewatch.so.1", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/g.c", "/usr/lib/libglib-2.0.so.0", "g_free", ""},
		{"../sysdeps/nptl/libc_start_call_main.h", "", "__libc_start_call_main", ""},
		{"/home/ines/x.c", "", "tide", ""}, {"<built-in>", "", "x", ""}, {"", "", "x", ""}, {"../..", "", "x", ""},
	} {
		got := grouping.PlaceOf(grouping.Frame{File: c.file, Module: c.module, Function: c.function, Line: 3}, of,
			"/usr/bin/tidewatch")
		if text := strings.TrimSpace(got.Package + " " + got.Version + " " + got.File); got.File == "" && c.want != "" ||
			got.File != "" && text != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.file, c.module, text, c.want)
		}
	}
}

func TestWithModules(t *testing.T) {
	t.Parallel()
	f := crashtest.Native().Fields()
	frames := grouping.WithModules(grouping.Frames(f), f["ProcMaps"])
	if len(frames) == 0 || frames[0].Module != "/usr/bin/tidewatch" {
		t.Errorf("got %+v, want the program as module of the first frame", frames)
	}
	for _, maps := range []string{"", "nonsense", "Error: x"} {
		if got := grouping.WithModules(grouping.Frames(f), maps); got[0].Module != "" {
			t.Errorf("map %q: got module %q, want none", maps, got[0].Module)
		}
	}
}
