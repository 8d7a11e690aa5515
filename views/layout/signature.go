package layout

import (
	"path"
	"strings"

	"mishap/crash"
)

// Signature is a signature split into parts for display: "tidewatch SIGSEGV tide_parse_row →
// tide_load".
type Signature struct {
	Program string   // base name of the executable; empty: the text does not begin with one
	Signal  string   // "SIGSEGV", or the name of an exception
	Frames  []string // function names, or other parts, in the order of the signature
}

// maxFrames is the number of parts that a short signature shows.
const maxFrames = 12

// ReadSignature splits the signature of a bucket. Text that it cannot parse stays in one piece, so
// nothing is lost.
func ReadSignature(b crash.Bucket) Signature {
	text := strings.TrimPrefix(b.Signature, "failed:") // errors.ubuntu.com marks crashes without symbols
	var s Signature
	rest := text
	if after, ok := strings.CutPrefix(text, b.Executable+":"); ok && b.Executable != "" {
		s.Program, rest = path.Base(b.Executable), after
	} else if strings.HasPrefix(text, "/") {
		exe, after, _ := cutPart(text)
		s.Program, rest = path.Base(exe), after
	}
	if s.Program == "" && withProgram(b.Rule) {
		s.Program, rest, _ = cutPart(rest) // a package takes the place of the program
	}
	switch b.Rule {
	case crash.RuleAssertion:
		s.Signal, s.Frames = "SIGABRT", []string{rest}
	case crash.RuleStacktrace, crash.RuleAddress, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		signal, after, _ := cutPart(rest)
		s.Signal, rest = signalName(signal), after
		s.Frames = frames(rest)
	case crash.RuleTraceback, crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic,
		crash.RuleCompiler, crash.RuleRecoverable:
		s.Signal, rest, _ = cutPart(rest)
		s.Frames = frames(rest)
	case crash.RuleOops, crash.RuleKernelCrash, crash.RuleKernel:
		text = strings.TrimPrefix(strings.TrimPrefix(text, "kernel:"), "kernel ")
		s.Program, s.Frames = "kernel", frames(text)
	case crash.RulePackage, crash.RuleSnap:
		_, rest, _ = cutPart(text) // "package", "snap"
		s.Program, rest, _ = cutPart(rest)
		if b.Rule == crash.RulePackage {
			s.Signal, rest, _ = cutPart(rest)
		}
		s.Frames = []string{rest}
	case crash.RuleSuspendResume:
		s.Frames = frames(text)
	default:
		signal, after, more := cutPart(rest)
		if name, known := signals[signal]; known && more && s.Program != "" {
			s.Signal, s.Frames = name, frames(after)
		} else {
			s.Frames = []string{rest}
		}
	}
	s.Program, s.Signal, s.Frames = Cut(s.Program, 100), Cut(s.Signal, 100), tidy(s.Frames)
	return s
}

// withProgram reports whether signatures of the rule begin with a program or package.
func withProgram(r crash.Rule) bool {
	switch r {
	case crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic, crash.RuleCompiler,
		crash.RuleRecoverable, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		return true
	default:
		return false
	}
}

// String returns the short form in one line: "tidewatch (SIGSEGV) tide_parse_row → tide_load".
func (s Signature) String() string {
	var parts []string
	if s.Program != "" {
		parts = append(parts, s.Program)
	}
	if s.Signal != "" {
		parts = append(parts, "("+s.Signal+")")
	}
	if len(s.Frames) > 0 {
		parts = append(parts, strings.Join(s.Frames, " → "))
	}
	if len(parts) == 0 {
		return "(blank signature)"
	}
	return strings.Join(parts, " ")
}

// cutPart cuts text at its first single colon. Double colons of C++ and Rust names stay inside a
// part, and so does the colon of a sentence, before a space.
func cutPart(text string) (part, rest string, found bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != ':' {
			continue
		}
		if i > 0 && i+2 < len(text) && text[i+1] == ':' && text[i+2] != ':' {
			i++
			continue
		}
		if i+1 < len(text) && text[i+1] == ' ' {
			continue
		}
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// frames splits the rest of a signature into its parts. It shortens paths to their last element.
func frames(text string) []string {
	var parts []string
	for more := text != ""; more && len(parts) <= maxFrames; {
		var part string
		part, text, more = cutPart(text)
		if strings.HasPrefix(part, "/") {
			part = path.Base(part)
		}
		parts = append(parts, part)
	}
	return parts
}

// tidy limits the parts and puts them on one line.
func tidy(parts []string) []string {
	var kept []string
	for _, part := range parts {
		if len(kept) == maxFrames {
			return append(kept, "…")
		}
		if part = strings.Join(strings.Fields(Cut(part, 200)), " "); part != "" {
			kept = append(kept, part)
		}
	}
	return kept
}

// signals maps the numbers of fatal Linux signals to their names.
var signals = map[string]string{
	"3": "SIGQUIT", "4": "SIGILL", "5": "SIGTRAP", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "11": "SIGSEGV",
	"24": "SIGXCPU", "25": "SIGXFSZ", "31": "SIGSYS",
}

func signalName(signal string) string {
	signal = strings.TrimSpace(signal)
	if name, ok := signals[signal]; ok {
		return name
	}
	if signal == "" || strings.Trim(signal, "0123456789") != "" {
		return signal
	}
	return "signal " + signal
}

// HoverText returns the signature as a tooltip, truncated for lists.
func HoverText(signature string) string {
	const most = 1000
	short := Cut(signature, most)
	if short != signature {
		short += " (the rest is on the problem's page)"
	}
	return short
}

// ProblemName returns the name of a problem in a line of text.
func ProblemName(b crash.Bucket) string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Title != "":
		return Cut(b.Title, 200)
	}
	return Cut(b.Signature, 200)
}
