package views

import (
	"path"
	"strings"

	"mishap/crash"
)

// Signature is a signature taken apart for reading: "tidewatch SIGSEGV tide_parse_row → tide_load".
type Signature struct {
	Program string   // base name of the executable; empty: the text does not begin with one
	Signal  string   // "SIGSEGV", or the name of an exception
	Frames  []string // function names, or what else tells the fault, outermost of the signature first
}

// maxFrames is how many parts a short signature shows at most.
const maxFrames = 12

// ReadSignature takes the signature of a bucket apart. What it cannot read stays in one piece, so nothing is lost.
func ReadSignature(b crash.Bucket) Signature {
	text := strings.TrimPrefix(b.Signature, "failed:") // how the service before this one marked what it could not symbolise
	var s Signature
	rest := text
	if after, ok := strings.CutPrefix(text, b.Executable+":"); ok && b.Executable != "" {
		s.Program, rest = path.Base(b.Executable), after
	} else if strings.HasPrefix(text, "/") {
		exe, after, _ := cutPart(text)
		s.Program, rest = path.Base(exe), after
	}
	if s.Program == "" && withProgram(b.Rule) {
		s.Program, rest, _ = cutPart(rest) // a package stands for the program
	}
	switch b.Rule {
	case crash.RuleAssertion:
		s.Signal, s.Frames = "SIGABRT", []string{rest}
	case crash.RuleStacktrace, crash.RuleAddress, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		signal, after, _ := cutPart(rest)
		s.Signal, rest = signalName(signal), after
		s.Frames = frames(rest)
	case crash.RuleTraceback, crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic, crash.RuleCompiler, crash.RuleRecoverable:
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
	s.Program, s.Signal, s.Frames = cut(s.Program, 100), cut(s.Signal, 100), tidy(s.Frames)
	return s
}

// withProgram says whether signatures of the rule begin with what failed.
func withProgram(r crash.Rule) bool {
	switch r {
	case crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic, crash.RuleCompiler, crash.RuleRecoverable, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		return true
	default:
		return false
	}
}

// String is the short form in one line: "tidewatch (SIGSEGV) tide_parse_row → tide_load".
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

// cutPart cuts text at its first single colon; the double colons of C++ and Rust names stay inside a part, as does a colon
// of a sentence, before a blank.
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

// frames splits the rest of a signature into its parts; paths lose their folders.
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

// tidy bounds what is shown and puts it in one line.
func tidy(parts []string) []string {
	var kept []string
	for _, part := range parts {
		if len(kept) == maxFrames {
			return append(kept, "…")
		}
		if part = strings.Join(strings.Fields(cut(part, 200)), " "); part != "" {
			kept = append(kept, part)
		}
	}
	return kept
}

// signals are the Linux signals that end programs, by number.
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

// hoverText is the whole signature as far as it is bearable in a list.
func hoverText(signature string) string {
	const most = 1000
	short := cut(signature, most)
	if short != signature {
		short += " (the rest is on the problem's page)"
	}
	return short
}
