package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// panicFields lists the fields that may contain the text of a panic: output of the program, and
// fields that collectors use. It excludes journals, which mix the output of many programs.
var panicFields = [...]string{"PanicMessage", "AssertionMessage", "StdErr", "Stderr", "StandardError", "ErrorMessage",
	"Stacktrace", "StackTrace", "Traceback", "ThreadStacktrace", "StacktraceTop"}

// panicText returns the first field that contains mark, and its text from the line of the mark on.
func panicText(f crash.Fields, mark string) (field, text string) {
	for _, field := range panicFields {
		value, ok := f[field]
		if !ok || len(value) < len(mark) {
			continue
		}
		value = tailOf(value)
		if i := strings.Index(value, mark); i >= 0 {
			return field, value[strings.LastIndexByte(value[:i], '\n')+1:]
		}
	}
	return "", ""
}

// panicMessage returns the constant beginning of a panic's message, without numbers. It ends before
// the first colon with a blank, quotation mark, or value of a struct ("main.gone{code:5}"), where
// data begins.
func panicMessage(message string) string {
	head, _, _ := strings.Cut(crash.Truncate(message, maxMessage), ": ")
	head, _, _ = strings.Cut(head, "\"")
	if i := strings.IndexByte(head, '{'); i > 0 && pytext.IsWord(rune(head[i-1])) {
		head = head[:i]
	}
	return strings.TrimSpace(withoutNumbers(normalise(head, nil)))
}

// withoutNumbers replaces all numbers in a message of a language's runtime: "index out of range [5]
// with length 3".
func withoutNumbers(s string) string {
	var b strings.Builder
	for s != "" {
		if word := pytext.Run(s, pytext.IsWord); word != "" {
			if isNumber(word) {
				word, s = "N", s[len(word):]
			} else {
				s = s[len(word):]
			}
			b.WriteString(word)
			continue
		}
		other := s[:len(pytext.Run(s, func(r rune) bool { return !pytext.IsWord(r) }))]
		b.WriteString(other)
		s = s[len(other):]
	}
	return b.String()
}
