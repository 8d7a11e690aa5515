package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// pythonSignature is the rule for Python tracebacks to which apport's rule gives nothing: of one or two lines, of a program
// that has no path, or beside a stack without names. (Where apport's rule gives something it is kept, also for exception
// groups, which it puts together for each program.)
//
// In apport's form: the program, the exception, the functions, outermost first; outside of functions file and line. Of
// exceptions that follow from each other the last is the one, with the frames of all. Of an exception group, every
// exception in it is named behind the group, with its own frames. Messages, also those of several lines, are left out,
// unless there is no frame at all: then the message, without what differs, is all that tells faults apart.
func pythonSignature(f crash.Fields, to *recorder) string {
	program := subject(f)
	text := headOf(f["Traceback"])
	if text == "" || program == "" {
		return ""
	}
	to.read("Traceback")
	var parts []Traceback
	for _, t := range Tracebacks(crash.Fields{"Traceback": text}) {
		if isPythonName(t.Exception) {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if strings.Contains(text, "Exception Group Traceback (most recent call last):") {
		names, used := groupNames(parts, to)
		markTraceback(text, parts[:min(len(parts), mostInGroup)], used, to)
		return join(append([]string{program}, names...)...)
	}
	last := parts[len(parts)-1]
	exception := last.Exception
	if qualifier := f["_PythonExceptionQualifier"]; qualifier != "" {
		exception += "(" + crash.Truncate(qualifier, maxName) + ")"
	}
	var names []string
	var used []Frame
	for _, t := range parts {
		n := mostPythonFrames - len(names)
		names = append(names, pythonFrames(t, n, to)...)
		used = append(used, t.Frames[:min(len(t.Frames), n)]...)
	}
	markTraceback(text, parts[len(parts)-1:], used, to)
	if len(names) == 0 {
		return join(program, exception, normalise(lastLine(last.Message), to))
	}
	return join(append([]string{program, exception}, names...)...)
}

const (
	mostPythonFrames = 100
	mostInGroup      = 10 // exceptions named of a group
	groupFrames      = 5  // of each
)

// groupNames are the exceptions of a group with their frames, the group itself first; used are these frames.
func groupNames(parts []Traceback, to *recorder) (names []string, used []Frame) {
	for i, t := range parts {
		if i == mostInGroup {
			break
		}
		names = append(names, t.Exception)
		most := groupFrames
		if i == 0 {
			most = mostPythonFrames
		}
		names = append(names, pythonFrames(t, most, to)...)
		used = append(used, t.Frames[:min(len(t.Frames), most)]...)
	}
	return names, used
}

// markTraceback marks the lines of the frames that were used, and those that name the exceptions of parts.
func markTraceback(text string, parts []Traceback, used []Frame, to *recorder) {
	if to == nil {
		return
	}
	for at, line := range linesAt(text, 0) {
		line, _ = ungroup(line)
		line = strings.TrimFunc(line, pytext.IsSpace)
		if frame, ok := parseSourceFrame(line); ok {
			if len(used) > 0 && frame.File == used[0].File && frame.Line == used[0].Line && frame.Function == used[0].Function {
				to.mark("Traceback", at)
				used = used[1:]
			}
			continue
		}
		for i, t := range parts {
			name := strings.TrimSuffix(t.Exception, "…")
			if rest, ok := strings.CutPrefix(line, name); ok && (rest == "" || rest[0] == ':') {
				to.mark("Traceback", at)
				parts = parts[i+1:]
				break
			}
		}
	}
}

func pythonFrames(t Traceback, most int, to *recorder) []string {
	var names []string
	for _, frame := range t.Frames {
		name := frame.Function
		if name == "" || name == "<module>" {
			name = frame.File + "@" + strconv.Itoa(frame.Line)
		}
		if len(names) >= most {
			to.skip(frame.Function+" in "+frame.File, "enough frames")
			continue
		}
		to.use(frame.Function+" in "+frame.File, name)
		names = append(names, name)
	}
	return names
}

// isPythonName tells the name of an exception from the lines of other texts.
func isPythonName(s string) bool {
	first := pytext.Run(s, pytext.IsWord)
	return first != "" && !pytext.IsDigit(rune(first[0])) && pytext.Run(s, func(r rune) bool { return pytext.IsWord(r) || r == '.' }) == s
}
