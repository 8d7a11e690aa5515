package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// parseFrame parses a frame as gdb prints it, without its number: "0x000055d000009234 in
// tide_parse_row (row=0x0) at ../src/parse.c:88", or "… () from /usr/lib/libc.so.6". Text that it
// cannot parse becomes the function.
func parseFrame(number int, text string) Frame {
	f := Frame{Number: number}
	if strings.HasPrefix(text, "0x") {
		if address, rest, ok := strings.Cut(text, " in "); ok && pytext.Run(address[2:], isHex) == address[2:] {
			f.Address, text = crash.Shorten(address, maxCell), strings.TrimFunc(rest, pytext.IsSpace)
		}
	}
	open := argumentsStart(text)
	if open < 0 {
		f.Function = crash.Shorten(text, maxCell)
		return f
	}
	end := argumentsEnd(text, open)
	f.Function = crash.Shorten(strings.TrimFunc(text[:open], pytext.IsSpace), maxCell)
	f.Args = crash.Shorten(text[open+1:end], maxCell)
	place := strings.TrimFunc(strings.TrimPrefix(text[end:], ")"), pytext.IsSpace)
	if module, ok := strings.CutPrefix(place, "from "); ok {
		f.Module = crash.Shorten(module, maxCell)
	}
	if file, ok := strings.CutPrefix(place, "at "); ok {
		f.File = file
		if i := strings.LastIndexByte(file, ':'); i >= 0 {
			if line, err := strconv.Atoi(file[i+1:]); err == nil && line >= 0 {
				f.File, f.Line = file[:i], line
			}
		}
		f.File = crash.Shorten(f.File, maxCell)
	}
	return f
}

// argumentsStart returns the index of the parenthesis that opens the arguments, or -1. It is the
// first one after a blank outside all brackets of the name, as in "std::function<void
// (int)>::operator() (this=0x0)". If brackets do not match, as in "operator< (a=1)", it is the
// first one after any blank.
func argumentsStart(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && i > 0 && s[i-1] == ' ' {
				return i
			}
			depth++
		case ')':
			depth--
		}
	}
	if i := strings.Index(s, " ("); i >= 0 {
		return i + 1
	}
	return -1
}

// argumentsEnd returns the index of the parenthesis that closes the arguments, ignoring those in
// quotation marks. If there is none, it returns the length of s.
func argumentsEnd(s string, open int) int {
	depth, quoted := 0, false
	for i := open; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	if i := strings.LastIndexByte(s, ')'); i > open {
		return i
	}
	return len(s)
}
