package views

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Stack is the evidence of the one report that stands for its bucket.
type Stack struct {
	Report     crash.OopsID
	Summary    crash.Summary // of that report
	Complete   bool
	Links      grouping.LinkTemplates // to lines of source packages
	Frames     []grouping.Frame       // of the thread that crashed
	Threads    []grouping.Thread
	Tracebacks []grouping.Traceback
	Passages   []Passage // what the grouping rule read
	Text       string    // as the report has it, to copy
}

// NewStack picks the evidence out of a report.
func NewStack(report crash.StoredReport) *Stack {
	f := report.Fields
	s := &Stack{
		Report: report.ID, Summary: report.Summary, Complete: grouping.HasEvidence(f, grouping.SignatureOf(f)),
		Tracebacks: grouping.Tracebacks(f), Frames: grouping.WithModules(grouping.Frames(f), f["ProcMaps"]),
	}
	for _, thread := range grouping.Threads(f) {
		if !thread.Crashed {
			s.Threads = append(s.Threads, thread)
		}
	}
	s.Passages = NewPassages(f)
	s.Text = traceText(f, s.Passages)
	return s
}

// traceText is what the report says, as text to copy: the fields that only a rule of ours reads, else the stack or traceback.
func traceText(f crash.Fields, passages []Passage) string {
	var texts []string
	for _, p := range passages {
		if !p.Stack {
			texts = append(texts, f[p.Field])
		}
	}
	for _, name := range []string{"Traceback", "Stacktrace", "StacktraceTop", "OopsText", "StackTrace"} {
		if f[name] != "" && !slices.ContainsFunc(passages, func(p Passage) bool { return p.Field == name && !p.Stack }) {
			texts = append(texts, f[name])
			break
		}
	}
	return strings.Join(texts, "\n\n")
}

// heading is what the section is called.
func (s *Stack) heading() string {
	if s == nil || len(s.Frames)+len(s.Tracebacks) > 0 || len(s.Passages) == 0 {
		return "Stack"
	}
	return "What went wrong"
}

// How much of the evidence stands on the page of a problem; the report has the rest.
const (
	shownFrames  = 20 // in sight, of the thread that crashed
	threadFrames = 30 // of each other thread
	shownThreads = 50
	shownText    = 60_000 // characters
)

// top are the frames in sight, rest those folded.
func (s *Stack) top() []grouping.Frame { return s.Frames[:min(len(s.Frames), shownFrames)] }

func (s *Stack) rest() []grouping.Frame { return s.Frames[min(len(s.Frames), shownFrames):] }

// threads are the other threads as far as they are shown.
func (s *Stack) threads() []grouping.Thread { return s.Threads[:min(len(s.Threads), shownThreads)] }

// firstFrames are the frames of another thread as far as they are shown.
func firstFrames(t grouping.Thread) []grouping.Frame {
	return t.Frames[:min(len(t.Frames), threadFrames)]
}

// threadName is "thread 2, gmain".
func threadName(t grouping.Thread) string {
	name := "thread " + strconv.Itoa(t.Number)
	if t.Name != "" {
		name += ", " + t.Name
	}
	return name
}

// frameTitle is the whole of a frame's name, and its arguments.
func frameTitle(f grouping.Frame) string {
	if f.Args == "" {
		return cut(f.Function, 500)
	}
	return cut(f.Function, 500) + " (" + cut(f.Args, 500) + ")"
}

// source is a place in a file: "parse.c:88".
func source(f grouping.Frame) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return path.Base(f.File)
	default:
		return path.Base(f.File) + ":" + strconv.Itoa(f.Line)
	}
}

// anyModule reports whether a column of modules has anything to say.
func anyModule(frames []grouping.Frame) bool {
	return slices.ContainsFunc(frames, func(f grouping.Frame) bool { return f.Module != "" })
}

// module is the name of a library without its folder.
func module(f grouping.Frame) string {
	if f.Module == "" {
		return ""
	}
	return path.Base(f.Module)
}

// exceptionName is "ValueError:", with the colon when a message follows.
func exceptionName(t grouping.Traceback) string {
	if t.Message == "" {
		return cut(t.Exception, 200)
	}
	return cut(t.Exception, 200) + ":"
}

// link leads to the source of a frame, in the version of the package that the report is of; empty: it cannot be told where that
// is.
func (s *Stack) link(f grouping.Frame) string {
	of := grouping.SourcePlace{Package: s.Summary.SourcePackage, Version: s.Summary.Version}
	return s.Links.Source(s.Summary.Release, grouping.PlaceOf(f, of, s.Summary.Executable))
}

// nameless are how many frames have no name, and the libraries that they are of: what debug symbols are missing for.
func (s *Stack) nameless() (n int, modules string) {
	var names []string
	for _, f := range s.Frames {
		if f.Named() || f.Function == "<signal handler called>" {
			continue
		}
		n++
		if name := module(f); name != "" && !slices.Contains(names, name) && len(names) < 5 {
			names = append(names, cut(name, 60))
		}
	}
	return n, strings.Join(names, ", ")
}

// hasText reports whether the report says what happened in a text besides the stack: names that the stack lacks are not missed.
func (s *Stack) hasText() bool {
	return slices.ContainsFunc(s.Passages, func(p Passage) bool { return !p.Stack })
}

// missing says for what debug symbols are missing; empty: for nothing.
func (s *Stack) missing() string {
	n, modules := s.nameless()
	switch {
	case n == 0 || s.hasText():
		return ""
	case modules == "":
		return Counted(int64(n), "frame has", "frames have") + " no name: debug symbols are missing."
	}
	return Counted(int64(n), "frame has", "frames have") + " no name: debug symbols are missing for " + modules + "."
}

// chosen says why the stack is that of this report.
func (s *Stack) chosen() string {
	n, _ := s.nameless()
	switch {
	case !s.Complete:
		return "the newest: none of the last ones has a stack, a traceback or another text to read"
	case n > 0 && !s.hasText():
		return "the newest with a stack, of which not all is symbolised"
	case len(s.Tracebacks) > 0:
		return "the newest with a traceback"
	case len(s.Frames) == 0:
		return "the newest with such a text"
	}
	return "the newest that is complete and symbolised"
}
