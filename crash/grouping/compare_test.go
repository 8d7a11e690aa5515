package grouping_test

import (
	"fmt"
	"strings"
	"testing"

	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

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
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%q and %q: got %q, want %q", tt.first, tt.second, text, tt.want)
		}
	}
	long := stackOf(strings.Repeat("f ", 5000))
	if got := len(grouping.CompareFrames(long, long)); got != 400 {
		t.Errorf("of 5,000 frames: got %d, want 400", got)
	}
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
