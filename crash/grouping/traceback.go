package grouping

import (
	"strings"
	"unicode"

	"mishap/crash/pytext"
)

// location is the target of a line of a Python traceback: `File "/usr/bin/x", line 20, in main`.
type location struct{ file, line, function string }

// parseTracebackLine parses a line with file, line and function, indented by at least one blank. It
// matches what apport's pattern `^\s+File "([^"]+).*line (\d+).*\sin (.*)$` matches, even in
// unusual lines: the function follows the last " in ", and the line number follows the last "line "
// before it.
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
	if number < 1 { // no number, or no file before it
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

// lastIn returns the index of the blank before the last "in ", or -1.
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

// lastLineNumber returns the index of the last "line " before a digit, or -1.
func lastLineNumber(s string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], "line ")
		if i < 0 || pytext.Run(s[i+len("line "):], unicode.IsDigit) != "" {
			return i
		}
		end = i + len("line ") - 1
	}
}
