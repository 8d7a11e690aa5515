package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// pythonSignature is the rule for Python tracebacks for which apport's rule gives no signature:
// those of one or two lines, of programs without a path, or with a stack without names.
//
// The signature has apport's form: the program, the exception, and the functions, outermost first,
// with file and line outside functions. Of chained exceptions it names the last one, with the
// frames of all. After an exception group it names every exception in the group, with its frames.
// It omits messages, unless there are no frames: then it uses the normalised message.
func pythonSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	text := headOf(f["Traceback"])
	if text == "" || program == "" {
		return ""
	}
	rec.read("Traceback")
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
		names, used := groupNames(parts, rec)
		markTraceback(text, parts[:min(len(parts), maxInGroup)], used, rec)
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
		names = append(names, pythonFrames(t, n, rec)...)
		used = append(used, t.Frames[:min(len(t.Frames), n)]...)
	}
	markTraceback(text, parts[len(parts)-1:], used, rec)
	if len(names) == 0 {
		return join(program, exception, normalise(lastLine(last.Message), rec))
	}
	return join(append([]string{program, exception}, names...)...)
}

const (
	mostPythonFrames = 100
	maxInGroup       = 10 // exceptions of a group that a signature names
	groupFrames      = 5  // for each exception
)

// groupNames returns the exceptions of a group with their frames, the group itself first. used
// contains these frames.
func groupNames(parts []Traceback, rec *recorder) (names []string, used []Frame) {
	for i, t := range parts {
		if i == maxInGroup {
			break
		}
		names = append(names, t.Exception)
		most := groupFrames
		if i == 0 {
			most = mostPythonFrames
		}
		names = append(names, pythonFrames(t, most, rec)...)
		used = append(used, t.Frames[:min(len(t.Frames), most)]...)
	}
	return names, used
}

// markTraceback marks the lines of the used frames and of the exceptions of parts.
func markTraceback(text string, parts []Traceback, used []Frame, rec *recorder) {
	if rec == nil {
		return
	}
	for at, line := range linesAt(text, 0) {
		line, _ = ungroup(line)
		line = strings.TrimFunc(line, pytext.IsSpace)
		if frame, ok := parseSourceFrame(line); ok {
			if len(used) > 0 && frame.File == used[0].File && frame.Line == used[0].Line && frame.Function == used[0].Function {
				rec.mark("Traceback", at)
				used = used[1:]
			}
			continue
		}
		for i, t := range parts {
			name := strings.TrimSuffix(t.Exception, "…")
			if rest, ok := strings.CutPrefix(line, name); ok && (rest == "" || rest[0] == ':') {
				rec.mark("Traceback", at)
				parts = parts[i+1:]
				break
			}
		}
	}
}

func pythonFrames(t Traceback, most int, rec *recorder) []string {
	var names []string
	for _, frame := range t.Frames {
		name := frame.Function
		if name == "" || name == "<module>" {
			name = frame.File + "@" + strconv.Itoa(frame.Line)
		}
		if len(names) >= most {
			rec.skip(frame.Function+" in "+frame.File, "the signature has enough frames")
			continue
		}
		rec.use(frame.Function+" in "+frame.File, name)
		names = append(names, name)
	}
	return names
}

// isPythonName distinguishes the name of an exception from other text.
func isPythonName(s string) bool {
	first := pytext.Run(s, pytext.IsWord)
	isName := func(r rune) bool { return pytext.IsWord(r) || r == '.' }
	return first != "" && !pytext.IsDigit(rune(first[0])) && pytext.Run(s, isName) == s
}
