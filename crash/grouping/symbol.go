package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// cleanSymbol normalises a C++, Rust or D function as a debugger prints it, so that it is the same
// in every build. It removes arguments, template arguments, return type, hash suffixes and suffixes
// that compilers add.
//
//	void Ocean::Tide<int>::load(int) const   Ocean::Tide::load
//	(anonymous namespace)::Row::~Row         {anonymous}::Row::~Row
//	f(int)::{lambda(auto:1)#2}::operator()   f::{lambda}::operator()
//	<T as core::convert::Into<U>>::into      <T as core::convert::Into>::into
//	reef::load::h0123456789abcdef            reef::load
//	tide_load.constprop.0                    tide_load
//
// It returns "" if there is no name.
func cleanSymbol(symbol string) string {
	s := strings.TrimSpace(crash.Truncate(symbol, maxSymbol))
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		s = strings.TrimPrefix(rest, "__GI_") // "*__GI_raise", an internal name of the C library
	}
	s, _, _ = strings.Cut(s, " [clone ")
	s, _, _ = strings.Cut(s, "@")
	s = strings.ReplaceAll(s, "[abi:cxx11]", "")
	s = withoutHash(s)
	s = withoutBrackets(strings.ReplaceAll(s, "(anonymous namespace)", "{anonymous}"))
	s = strings.TrimSpace(lastName(s))
	s = withoutClone(s)
	if s == "??" || strings.Trim(s, ":{}<>()?, ") == "" {
		return ""
	}
	return s
}

// withoutHash removes Rust's "::h0123456789abcdef", and "[0123456789abcdef]" after the names of
// crates.
func withoutHash(s string) string {
	if i := strings.LastIndex(s, "::h"); i > 0 && len(s)-i == len("::h")+16 &&
		pytext.Run(s[i+len("::h"):], isHex) == s[i+len("::h"):] {
		s = s[:i]
	}
	for {
		open := strings.IndexByte(s, '[')
		if open < 0 {
			return s
		}
		hash := pytext.Run(s[open+1:], isHex)
		if len(hash) < 8 || !strings.HasPrefix(s[open+1+len(hash):], "]") {
			return s
		}
		s = s[:open] + s[open+len(hash)+2:]
	}
}

// withoutBrackets removes arguments in <…> and (…), and all but the first word in {…}. It keeps
// operators that look like brackets, and a leading "<T as Trait>" of Rust.
func withoutBrackets(s string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case depth == 0 && strings.HasSuffix(b.String(), "operator") && strings.IndexByte("<>-(", c) >= 0:
			n := operatorLength(s[i:])
			b.WriteString(s[i : i+n])
			i += n - 1
		case depth == 0 && c == '{':
			word, n := braced(s[i:])
			b.WriteString(word)
			i += n - 1
		case depth == 0 && c == '<' && i == 0 && strings.Contains(s, " as "):
			b.WriteByte(c)
		case depth == 0 && c == '>' && strings.HasPrefix(b.String(), "<"):
			b.WriteByte(c)
		case depth == 0 && c == '<' && strings.HasPrefix(s[i:], "<lambda"):
			b.WriteString("{lambda}")
			depth++
		case c == '<' || c == '(':
			depth++
		case depth > 0 && (c == ')' || c == '>' && (i == 0 || s[i-1] != '-')):
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// operatorLength returns the length of the operator at the start of s: "<<=", "->", "()".
func operatorLength(s string) int {
	for _, sign := range [...]string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "--", "-="} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 1
}

// braced parses "{lambda(auto:1)#2}", "{{closure}}", "{closure#0}", "{impl#3}". It returns the
// first word in one pair of braces.
func braced(s string) (word string, length int) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return "{" + pytext.Run(strings.TrimLeft(s, "{"), pytext.IsWord) + "}", i + 1
			}
		}
	}
	return s, len(s)
}

// lastName removes the return type: the text before the last blank, unless the blank belongs to an
// operator or to Rust's "<T as Trait>".
func lastName(s string) string {
	for _, end := range [...]string{" const", " volatile", " &", " &&", " noexcept"} {
		s = strings.TrimSuffix(strings.TrimSpace(s), end)
	}
	if strings.HasPrefix(s, "<") {
		return s
	}
	name := s
	if i := strings.Index(s, "operator "); i >= 0 && (i == 0 || !pytext.IsWord(rune(s[i-1]))) {
		name = s[:i]
		if j := strings.LastIndexByte(name, ' '); j >= 0 {
			return s[j+1:]
		}
		return s
	}
	return name[strings.LastIndexByte(name, ' ')+1:]
}

// withoutClone removes ".constprop.0", ".isra.3", ".part.1", ".cold", ".lto_priv.2" from a C name.
func withoutClone(s string) string {
	for _, suffix := range [...]string{".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."} {
		if i := strings.Index(s, suffix); i > 0 {
			s = s[:i]
		}
	}
	return s
}
