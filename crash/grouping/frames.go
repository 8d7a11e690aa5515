package grouping

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Frame is one call of a stack, for a table. What is not known is empty or 0.
type Frame struct {
	Number   int    // as the stack counts, 0 is where it crashed; of tracebacks, 0 is the outermost
	Address  string // "0x000055d000009234"
	Function string // "??" when the debugger did not know; "<signal handler called>" for that
	Args     string // "row=0x0, cols=7": may hold private data
	Module   string // the library: "/usr/lib/x86_64-linux-gnu/libc.so.6"
	File     string // the source: "../src/parse.c"
	Line     int    // in File
	Code     string // the line of source, in tracebacks
}

// Named reports whether the function of the frame is known.
func (f Frame) Named() bool { return f.Function != "" && f.Function != "??" }

// Thread is one thread of a process.
type Thread struct {
	Number  int    // as the debugger counts
	ID      string // of the kernel: "4311"
	Name    string // "gmain"
	Crashed bool   // its frames are those of the crash
	Frames  []Frame
}

// So much of a stack is shown; what a hostile report has beyond is left out, and longer texts are cut with "…".
const (
	maxFrames  = 500 // of one stack
	maxThreads = 200
	maxCell    = 2000 // code points of one text of a frame
)

// Frames is the stack of a native crash as a table, from where it crashed outwards: of Stacktrace, unless StacktraceTop
// knows more names. Empty: there is none. At most 500 frames.
func Frames(f crash.Fields) []Frame {
	full, top := parseFrames(pytext.Lines(f["Stacktrace"])), topFrames(f["StacktraceTop"])
	if named(top) > named(full) || len(full) == 0 {
		return top
	}
	return full
}

func named(frames []Frame) (n int) {
	for _, f := range frames {
		if f.Named() {
			n++
		}
	}
	return n
}

// parseFrames takes the lines that begin with a number sign; those between them, the values of variables, are left out.
func parseFrames(stack iter.Seq[string]) []Frame {
	var frames []Frame
	for line := range stack {
		if len(frames) == maxFrames {
			break
		}
		if number, rest, ok := cutNumber(line); ok {
			frames = append(frames, parseFrame(number, rest))
		}
	}
	return frames
}

// topFrames reads lines that have no numbers.
func topFrames(top string) []Frame {
	var frames []Frame
	for line := range pytext.Lines(top) {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, parseFrame(len(frames), strings.TrimFunc(line, pytext.IsSpace)))
	}
	return frames
}

// cutNumber cuts "#12 " off.
func cutNumber(line string) (number int, rest string, ok bool) {
	digits, found := strings.CutPrefix(line, "#")
	digits = pytext.Run(digits, pytext.IsDigit)
	if !found || digits == "" {
		return 0, "", false
	}
	rest = line[1+len(digits):]
	number, err := strconv.Atoi(digits)
	trimmed := strings.TrimFunc(rest, pytext.IsSpace)
	return number, trimmed, err == nil && trimmed != "" && !strings.HasPrefix(rest, trimmed)
}

// Threads are all threads of ThreadStacktrace, each with its frames, in the order of the report; at most 200. Empty:
// there are none, or none but what [Frames] has.
func Threads(f crash.Fields) []Thread {
	var threads []Thread
	for line := range pytext.Lines(f["ThreadStacktrace"]) {
		if head, ok := parseThread(line); ok {
			if len(threads) == maxThreads {
				break
			}
			threads = append(threads, head)
			continue
		}
		if len(threads) == 0 {
			continue
		}
		current := &threads[len(threads)-1]
		if number, rest, ok := cutNumber(line); ok && len(current.Frames) < maxFrames {
			current.Frames = append(current.Frames, parseFrame(number, rest))
		}
	}
	crashed := parseFrames(pytext.Lines(f["Stacktrace"]))
	if i := slices.IndexFunc(threads, func(t Thread) bool { return len(crashed) > 0 && slices.Equal(t.Frames, crashed) }); i >= 0 {
		threads[i].Crashed = true
	}
	return threads
}

// parseThread reads `Thread 2 (Thread 0x7f22 (LWP 4312) "gmain"):`.
func parseThread(line string) (Thread, bool) {
	rest, found := strings.CutPrefix(line, "Thread ")
	digits := pytext.Run(rest, pytext.IsDigit)
	if !found || digits == "" || !strings.HasPrefix(rest[len(digits):], " (") {
		return Thread{}, false
	}
	number, err := strconv.Atoi(digits)
	if err != nil {
		return Thread{}, false
	}
	t := Thread{Number: number}
	if _, id, ok := strings.Cut(rest, "(LWP "); ok {
		t.ID = crash.Shorten(pytext.Run(id, pytext.IsDigit), maxCell)
	}
	if _, name, ok := strings.Cut(rest, `"`); ok {
		name, _, _ = strings.Cut(name, `"`)
		t.Name = crash.Shorten(name, maxCell)
	}
	return t, true
}
