package crash

import (
	"strconv"
	"strings"
)

// pythonSignature is the rule for Python tracebacks to which apport's rule gives nothing: of one or two lines, of a program
// that has no path, or beside a stack without names. (Where apport's rule gives something it is kept, also for exception
// groups, which it puts together for each program.)
//
// In apport's form: the program, the exception, the functions, outermost first; outside of functions file and line. Of
// exceptions that follow from each other the last is the one, with the frames of all. Of an exception group, every
// exception in it is named behind the group, with its own frames. Messages, also those of several lines, are left out,
// unless there is no frame at all: then the message, without what differs, is all that tells faults apart.
func pythonSignature(f Fields, to *recorder) string {
	program := subject(f)
	text := headOf(f["Traceback"])
	if text == "" || program == "" {
		return ""
	}
	to.read("Traceback")
	var parts []Traceback
	for _, t := range Tracebacks(Fields{"Traceback": text}) {
		if isPythonName(t.Exception) {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if strings.Contains(text, "Exception Group Traceback (most recent call last):") {
		return join(append([]string{program}, groupNames(parts, to)...)...)
	}
	last := parts[len(parts)-1]
	exception := last.Exception
	if qualifier := f["_PythonExceptionQualifier"]; qualifier != "" {
		exception += "(" + cutRunes(qualifier, maxName) + ")"
	}
	var names []string
	for _, t := range parts {
		names = append(names, pythonFrames(t, mostPythonFrames-len(names), to)...)
	}
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

// groupNames are the exceptions of a group with their frames, the group itself first.
func groupNames(parts []Traceback, to *recorder) []string {
	var names []string
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
	}
	return names
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
	first := run(s, isWord)
	return first != "" && !isDigit(rune(first[0])) && run(s, func(r rune) bool { return isWord(r) || r == '.' }) == s
}
