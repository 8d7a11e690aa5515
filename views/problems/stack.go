package problems

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// Steps lead from the report whose stack the page of a problem shows to others, among those that a filter selects.
type Steps struct {
	Place, Of    int64 // place of the report, newest first, and the number of reports
	More         bool  // not all reports were counted
	Newer, Older crash.OopsID
	Choice       ReportChoice
}

// position returns the name of the report in its list: "Report 3 of 128".
func (s Steps) position() string {
	of := crash.Count(s.Of)
	switch {
	case !s.More:
		return "Report " + crash.Count(s.Place) + " of " + of
	case s.Place < s.Of:
		return "Report " + crash.Count(s.Place) + " of more than " + of
	}
	return "A report older than the newest " + of
}

// url returns the address of the page with the stack of another report.
func (s Steps) url(id crash.OopsID) string {
	q := s.Choice.Query()
	q.Set(ParamReport, id.String())
	return s.Choice.Path + "?" + q.Encode()
}

// Stack holds the evidence of one report of a problem.
type Stack struct {
	Report     crash.OopsID
	Summary    crash.Summary // of that report
	At         time.Time     // when it occurred, or else when it arrived
	Complete   bool
	Links      grouping.LinkTemplates // for links to lines of source packages
	Frames     []grouping.Frame       // of the thread that crashed
	Threads    []grouping.Thread
	Tracebacks []grouping.Traceback
	Excerpts   []FieldExcerpt // what the grouping rule read
	Text       string         // unchanged, for copying
	FacetNames []string       // names of fields by which reports like this one can be compared
	OfReport   bool           // it is not the representative report, but one that was asked for
	typedOnly  bool           // the full text is not stored
	blamed     string         // the function by which the problem is grouped; empty: none
}

// NewStack returns the evidence in a report.
func NewStack(report crash.StoredReport) *Stack {
	f := report.Fields
	s := &Stack{
		Report: report.ID, Summary: report.Summary, At: when(report.ReportRow), typedOnly: report.TypedOnly,
		Complete:   grouping.HasEvidence(f, grouping.SignatureOf(f)),
		Tracebacks: grouping.Tracebacks(f), Frames: grouping.WithModules(grouping.Frames(f), f["ProcMaps"]),
	}
	for _, thread := range grouping.Threads(f) {
		if !thread.Crashed {
			s.Threads = append(s.Threads, thread)
		}
	}
	for _, use := range grouping.Explain(f).Frames {
		if use.Used {
			s.blamed = use.As
			break
		}
	}
	s.Excerpts = NewFieldExcerpts(f)
	s.Text = traceText(f, s.Excerpts)
	s.FacetNames = slices.Sorted(maps.Keys(f))
	for _, name := range stats.Dependencies(f) {
		if len(s.FacetNames) < maxFacetNames {
			s.FacetNames = append(s.FacetNames, string(stats.PackageFacet(name)))
		}
	}
	return s
}

// maxFacetNames is the largest number of fields that a page suggests.
const maxFacetNames = 300

// traceText returns the text for copying: the fields that only a rule of ours reads, else the stack
// or traceback.
func traceText(f crash.Fields, excerpts []FieldExcerpt) string {
	var texts []string
	for _, e := range excerpts {
		if !e.Stack {
			texts = append(texts, f[e.Field])
		}
	}
	for _, name := range []string{"Traceback", "Stacktrace", "StacktraceTop", "OopsText", "StackTrace"} {
		if f[name] != "" && !slices.ContainsFunc(excerpts, func(e FieldExcerpt) bool { return e.Field == name && !e.Stack }) {
			texts = append(texts, f[name])
			break
		}
	}
	return strings.Join(texts, "\n\n")
}

func (s *Stack) heading() string {
	if s == nil || len(s.Frames)+len(s.Tracebacks) > 0 || len(s.Excerpts) == 0 {
		return "Stack"
	}
	return "What went wrong"
}

// How much of the evidence the page of a problem shows. The page of the report shows the rest.
const (
	shownFrames  = 20 // visible frames of the crashed thread
	threadFrames = 30 // frames of each other thread
	shownThreads = 50
	shownText    = 60_000 // characters
)

// top returns the visible frames.
func (s *Stack) top() []grouping.Frame { return s.Frames[:min(len(s.Frames), shownFrames)] }

func (s *Stack) rest() []grouping.Frame { return s.Frames[min(len(s.Frames), shownFrames):] }

// nothing returns the sentence that replaces an empty stack.
func (s *Stack) nothing() string {
	if s.OfReport {
		return "This report has no stack, traceback or other readable text."
	}
	return "The reports of this problem have no stack, traceback or other readable text."
}

// blames reports whether the problem is grouped by a frame: whether it is the first one with the
// function that begins the signature.
func (s *Stack) blames(f grouping.Frame) bool {
	first := slices.IndexFunc(s.Frames, func(f grouping.Frame) bool { return f.Function == s.blamed })
	return s.blamed != "" && first >= 0 && s.Frames[first] == f
}

// texts returns the excerpts that are not a stack, stacks the others.
func (s *Stack) texts() []FieldExcerpt  { return s.excerpts(false) }
func (s *Stack) stacks() []FieldExcerpt { return s.excerpts(true) }

func (s *Stack) excerpts(stack bool) []FieldExcerpt {
	var some []FieldExcerpt
	for _, e := range s.Excerpts {
		if e.Stack == stack {
			some = append(some, e)
		}
	}
	return some
}

// threads returns the other threads, truncated.
func (s *Stack) threads() []grouping.Thread { return s.Threads[:min(len(s.Threads), shownThreads)] }

// firstFrames returns the first frames of another thread.
func firstFrames(t grouping.Thread) []grouping.Frame {
	return t.Frames[:min(len(t.Frames), threadFrames)]
}

func frameTitle(f grouping.Frame) string {
	if f.Args == "" {
		return layout.Cut(f.Function, 500)
	}
	return layout.Cut(f.Function, 500) + " (" + layout.Cut(f.Args, 500) + ")"
}

// source returns the place of a frame in a file: "parse.c:88".
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

func anyModule(frames []grouping.Frame) bool {
	return slices.ContainsFunc(frames, func(f grouping.Frame) bool { return f.Module != "" })
}

// module returns the name of a library without its folder.
func module(f grouping.Frame) string {
	if f.Module == "" {
		return ""
	}
	return path.Base(f.Module)
}

// exceptionName returns the exception, with a colon if a message follows: "ValueError:".
func exceptionName(t grouping.Traceback) string {
	if t.Message == "" {
		return layout.Cut(t.Exception, 200)
	}
	return layout.Cut(t.Exception, 200) + ":"
}

// link returns the address of the source of a frame, in the version of the report's package. It is
// empty if that is unknown.
func (s *Stack) link(f grouping.Frame) string {
	of := grouping.SourcePlace{Package: s.Summary.SourcePackage, Version: s.Summary.Version}
	return s.Links.Source(s.Summary.Release, grouping.PlaceOf(f, of, s.Summary.Executable))
}

// nameless returns how many frames have no name, and the libraries whose debug symbols are missing.
func (s *Stack) nameless() (n int, modules string) {
	var names []string
	for _, f := range s.Frames {
		if f.Named() || f.Function == "<signal handler called>" {
			continue
		}
		n++
		if name := module(f); name != "" && !slices.Contains(names, name) && len(names) < 5 {
			names = append(names, layout.Cut(name, 60))
		}
	}
	return n, strings.Join(names, ", ")
}

// hasText reports whether the report has a text besides the stack that explains the crash. Then
// missing names do not matter.
func (s *Stack) hasText() bool {
	return slices.ContainsFunc(s.Excerpts, func(e FieldExcerpt) bool { return !e.Stack })
}

// missing says which debug symbols are missing; empty: none.
func (s *Stack) missing() string {
	if s.typedOnly {
		return crash.NotStored
	}
	n, modules := s.nameless()
	if n == 0 || s.hasText() {
		return ""
	}
	text := crash.Counted(int64(n), "frame has", "frames have") + " no function name. Debug symbols are missing"
	if modules != "" {
		text += " for " + modules
	}
	return text + "."
}

// chosen says why the report represents its problem.
func (s *Stack) chosen() string {
	n, _ := s.nameless()
	switch {
	case s.OfReport:
		return ""
	case !s.Complete:
		return "the newest one"
	case n > 0 && !s.hasText():
		return "the newest one with a stack"
	case len(s.Tracebacks) > 0:
		return "the newest one with a traceback"
	case len(s.Frames) == 0:
		return "the newest one with a message"
	}
	return "the newest complete one"
}
