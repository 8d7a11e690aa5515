package grouping_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// seeds adds the texts of some fields of sample reports to the corpus.
func seeds(f *testing.F, fields ...string) {
	f.Helper()
	files, err := filepath.Glob("../whoopsie/testdata/*.bson")
	if err != nil || len(files) == 0 {
		f.Fatalf("no sample reports: %v", err)
	}
	reports := []crash.Fields{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		report, err := crashtest.Decode(body)
		if err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		reports = append(reports, report)
	}
	for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Unsymbolised(), crashtest.Python(),
		crashtest.ExceptionGroup(), crashtest.Oops(), crashtest.ModernOops(), crashtest.ThreadHang()} {
		reports = append(reports, r.Fields())
	}
	found := 0
	for _, r := range reports {
		for _, name := range fields {
			if r[name] != "" {
				f.Add(r[name])
				found++
			}
		}
	}
	if found < 3 {
		f.Fatalf("only %d samples have any of %v", found, fields)
	}
}

// storable converts a text to the form that stored reports have.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
}

func wantFrames(t *testing.T, frames []grouping.Frame, text string, most int) {
	t.Helper()
	if len(frames) > most {
		t.Errorf("got %d frames, want at most %d", len(frames), most)
	}
	for _, fr := range frames {
		for _, part := range []string{fr.Function, fr.Args, fr.Module, fr.File} {
			if len(part) > len(text)+len("…") || !utf8.ValidString(part) || strings.Contains(part, "\n") {
				t.Errorf("got %.200q, which is not part of a line", part)
			}
		}
		if fr.Line < 0 || fr.Number < 0 {
			t.Errorf("got frame %d at line %d, want none below 0", fr.Number, fr.Line)
		}
	}
}

// FuzzStacks parses any text as the output of a debugger.
func FuzzStacks(f *testing.F) {
	seeds(f, "Stacktrace", "StacktraceTop", "ThreadStacktrace")
	f.Fuzz(func(t *testing.T, text string) {
		text = storable(text)
		fields := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tide", "Signal": "11",
			"Package": "tide 1.2-3"}
		for _, name := range []string{"Stacktrace", "StacktraceTop", "ThreadStacktrace"} {
			fields[name] = text
		}
		wantFrames(t, grouping.Frames(fields), text, 500)
		threads := grouping.Threads(fields)
		if len(threads) > 200 {
			t.Errorf("got %d threads, want at most 200", len(threads))
		}
		for _, thread := range threads {
			wantFrames(t, thread.Frames, text, 500)
		}
		if top := grouping.StacktraceTop(text); strings.Count(top, "\n") > 4 || len(top) > len(text)+4 {
			t.Errorf("got a StacktraceTop of %d lines, %d bytes", 1+strings.Count(top, "\n"), len(top))
		}
		readBounded(t, "stack", fields)
	})
}

// FuzzTracebacks parses any text as a Python traceback.
func FuzzTracebacks(f *testing.F) {
	seeds(f, "Traceback")
	f.Fuzz(func(t *testing.T, text string) {
		text = storable(text)
		fields := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tide",
			"InterpreterPath": "/usr/bin/python3", "Traceback": text}
		parts := grouping.Tracebacks(fields)
		if len(parts) > 200 {
			t.Errorf("got %d parts, want at most 200", len(parts))
		}
		for _, p := range parts {
			wantFrames(t, p.Frames, text, 500)
		}
		readBounded(t, "traceback", fields)
	})
}

// FuzzOopses parses any text as a kernel oops.
func FuzzOopses(f *testing.F) {
	seeds(f, "OopsText", "VmCoreDmesg")
	f.Fuzz(func(t *testing.T, text string) {
		text = storable(text)
		readBounded(t, "oops", crash.Fields{"ProblemType": "KernelOops", "Package": "linux-image-6.8.0 6.8.0-41.41",
			"OopsText": text})
		readBounded(t, "dmesg", crash.Fields{"ProblemType": "KernelCrash", "Package": "linux-image-6.8.0 6.8.0-41.41",
			"VmCoreDmesg": text})
	})
}
