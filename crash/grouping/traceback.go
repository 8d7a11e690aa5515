package grouping

import (
	"strings"
	"unicode"

	"mishap/crash/pytext"
)

// location is where a line of a Python traceback points: `File "/usr/bin/x", line 20, in main`.
type location struct{ file, line, function string }

// parseTracebackLine reads a line that names file, line and function, indented by at least one blank. It finds what
// apport's pattern `^\s+File "([^"]+).*line (\d+).*\sin (.*)$` finds, also in odd lines: the function stands after the
// last " in ", the line number after the last "line " before it.
func parseTracebackLine(line string) (location, bool) {
	text := strings.TrimLeftFunc(line, pytext.IsSpace)
	text, ok := strings.CutPrefix(text, `File "`)
	if !ok || len(text)+len(`File "`) == len(line) {
		return location{}, false
	}
	in := lastIn(text)
	if in < 0 {
		return location{}, false
	}
	number := lastLineNumber(text[:in])
	if number < 1 { // no number, or no room for a file
		return location{}, false
	}
	file := text[:number]
	if i := strings.IndexByte(file, '"'); i >= 0 {
		file = file[:i]
	}
	if file == "" {
		return location{}, false
	}
	return location{
		file:     file,
		line:     pytext.Run(text[number+len("line "):in], unicode.IsDigit),
		function: text[in+strings.Index(text[in:], "in ")+len("in "):],
	}, true
}

// lastIn is the place of the blank before the last "in " that follows a blank; -1: none.
func lastIn(s string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], "in ")
		if i < 1 {
			return -1
		}
		if r := pytext.LastRune(s[:i]); pytext.IsSpace(r) {
			return i - len(string(r))
		}
		end = i + len("in ") - 1
	}
}

// lastLineNumber is the place of the last "line " that a digit follows; -1: none.
func lastLineNumber(s string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], "line ")
		if i < 0 || pytext.Run(s[i+len("line "):], unicode.IsDigit) != "" {
			return i
		}
		end = i + len("line ") - 1
	}
}
