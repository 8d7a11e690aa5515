package grouping

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Traceback is one part of a Python traceback: the frames, outermost first, and the exception.
type Traceback struct {
	Lead      string // the sentence that links it to the part before: "During handling of the above exception, …"
	Frames    []Frame
	Exception string // "ValueError", "harbor.errors.RemoteGone"
	Message   string // may contain several lines and private data
}

// Tracebacks parses the field Traceback. It returns several parts for chained exceptions and
// exception groups; the last part of a chain ended the program. It returns at most 200 parts with
// at most 500 frames each, or nil if there is no traceback.
func Tracebacks(f crash.Fields) []Traceback {
	var p tracebackParser
	for line := range pytext.Lines(f["Traceback"]) {
		line, ends := ungroup(line)
		p.open = p.open && !ends
		if p.line(line); p.full {
			break
		}
	}
	for i := range p.parts {
		p.parts[i].Exception, p.parts[i].Message = crash.Shorten(p.parts[i].Exception, maxCell),
			crash.Shorten(p.parts[i].Message, maxCell)
	}
	return p.parts
}

type tracebackParser struct {
	parts []Traceback
	lead  string // for the next part
	open  bool   // the last part continues
	full  bool   // there are maxThreads parts, and another one begins
}

func (p *tracebackParser) line(line string) {
	text := strings.TrimFunc(line, pytext.IsSpace)
	indented := text != "" && !strings.HasPrefix(line, text)
	frame, isFrame := parseSourceFrame(text)
	switch {
	case strings.HasSuffix(text, "Traceback (most recent call last):"):
		p.begin()
	case text == "":
	case isFrame && indented:
		part := p.part()
		if len(part.Frames) < maxFrames {
			frame.Number = len(part.Frames)
			part.Frames = append(part.Frames, frame)
		}
	case strings.HasSuffix(text, "direct cause of the following exception:"),
		strings.HasSuffix(text, "another exception occurred:"):
		p.lead, p.open = crash.Shorten(text, maxCell), false
	case p.open && indented && p.part().Exception == "":
		p.source(text)
	default:
		p.exception(text)
	}
}

// begin starts a new part, unless there are too many.
func (p *tracebackParser) begin() *Traceback {
	if p.full = len(p.parts) == maxThreads; !p.full {
		p.parts = append(p.parts, Traceback{Lead: p.lead})
	}
	p.lead, p.open = "", true
	return &p.parts[len(p.parts)-1]
}

// part returns the part that continues, or a new one.
func (p *tracebackParser) part() *Traceback {
	if !p.open {
		return p.begin()
	}
	return &p.parts[len(p.parts)-1]
}

// source parses the source line below a frame. It skips lines that only underline a position.
func (p *tracebackParser) source(text string) {
	frames := p.part().Frames
	if len(frames) > 0 && frames[len(frames)-1].Code == "" && strings.Trim(text, "^~ ") != "" {
		frames[len(frames)-1].Code = crash.Shorten(text, maxCell)
	}
}

// exception parses "Name: message" and further lines of the message.
func (p *tracebackParser) exception(text string) {
	part := p.part()
	if part.Exception == "" {
		part.Exception, part.Message, _ = strings.Cut(text, ": ")
		part.Exception = strings.TrimSuffix(part.Exception, ":")
		return
	}
	if len(part.Message) <= maxCell*4 {
		part.Message += "\n" + text
	}
}

// ungroup removes the bars that draw the tree of an exception group. A branch of the tree ends the
// previous part.
func ungroup(line string) (inner string, ends bool) {
	text := strings.TrimLeft(line, " ")
	if strings.HasPrefix(text, "+-") {
		return "", true
	}
	if rest, ok := strings.CutPrefix(text, "|"); ok {
		return strings.TrimPrefix(rest, " "), false
	}
	return line, false
}

// parseSourceFrame parses `File "/usr/bin/x", line 20, in main`. The frame of a syntax error has no
// function.
func parseSourceFrame(text string) (Frame, bool) {
	if l, ok := parseTracebackLine(" " + text); ok {
		return Frame{File: crash.Shorten(l.file, maxCell), Line: lineNumber(l.line),
			Function: crash.Shorten(l.function, maxCell)}, true
	}
	file, found := strings.CutPrefix(text, `File "`)
	file, rest, ok := strings.Cut(file, `", line `)
	if !found || !ok {
		return Frame{}, false
	}
	return Frame{File: crash.Shorten(file, maxCell), Line: lineNumber(pytext.Run(rest, unicode.IsDigit))}, true
}

// lineNumber parses a positive number, or returns 0.
func lineNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return 0
}

// Calls reports whether a function occurs in the stack of a native crash or in a traceback.
func Calls(f crash.Fields, function string) bool {
	is := func(frame Frame) bool { return frame.Function == function }
	if slices.ContainsFunc(Frames(f), is) {
		return true
	}
	return slices.ContainsFunc(Tracebacks(f), func(t Traceback) bool { return slices.ContainsFunc(t.Frames, is) })
}
