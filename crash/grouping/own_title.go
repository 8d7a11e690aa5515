package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// ownTitle returns a title for a report that one of our own rules groups, made of the parts of its
// signature: "chartroom crashed with java.io.FileNotFoundException in chartroom.Store.open()". It
// returns "" for other reports.
func ownTitle(f crash.Fields) string {
	g := SignatureOf(f)
	program := subject(f)
	base := program[strings.LastIndexByte(program, '/')+1:]
	rest := strings.TrimPrefix(g.Signature, program+":")
	parts := signatureParts(rest)
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	switch g.Rule {
	case crash.RuleJava:
		return base + " crashed with " + parts[0] + inFunction(parts[1:])
	case crash.RulePython:
		switch {
		case len(parts) > 1 && strings.HasSuffix(parts[0], "ExceptionGroup"):
			return base + " crashed with " + parts[0] + inFunction(parts[1:])
		case len(parts) > 1:
			return base + " crashed with " + parts[0] + inFunction([]string{last})
		}
		return base + " crashed with " + parts[0]
	case crash.RuleGoPanic:
		return base + " panicked" + goTitle(parts)
	case crash.RuleRustPanic:
		return base + " panicked in " + strings.Join(parts[1:min(3, len(parts))], ": ")
	case crash.RuleCompiler:
		return base + ": " + strings.Join(parts[:min(2, len(parts))], ": ")
	case crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		if f["ProblemType"] == "Hang" {
			return base + " did not answer" + inFunction(parts[1:])
		}
		return base + " crashed" + inFunction(parts[1:])
	case crash.RuleKernel:
		return kernelTitle(parts)
	case crash.RuleSnap:
		return strings.Join(parts[:min(2, len(parts))], " ") + ": " + strings.Join(parts[min(2, len(parts)):], ":")
	case crash.RuleRecoverable:
		return base + ": " + strings.Join(parts[1:], ":")
	default: // apport's rules, which have their own titles, and rules without a title
		return ""
	}
}

// inFunction returns " in f()" for the first of the functions, or " in f" for code outside
// functions, "f@3".
func inFunction(functions []string) string {
	if len(functions) == 0 {
		return ""
	}
	if file, _, ok := strings.Cut(functions[0], "@"); ok {
		return " in " + file
	}
	return " in " + functions[0] + "()"
}

// goTitle returns the title of a panic. Parts with blanks are the message; functions contain none.
func goTitle(parts []string) string {
	title := ""
	for i, part := range parts {
		switch {
		case i == 0 && part == "panic":
		case i == 0, strings.Contains(part, " "):
			title += ": " + part
		case part == "recursion":
			title += ", recursion"
		default:
			return title + inFunction([]string{part})
		}
	}
	return title
}

// kernelTitle returns a title such as "kernel: NULL pointer dereference in brig_tx_done
// [brigwifi]".
func kernelTitle(parts []string) string {
	title := parts[0]
	if title == "kernel" && len(parts) > 1 {
		title, parts = "kernel: "+parts[1], parts[1:]
	}
	for _, part := range parts[1:] {
		if pytext.Run(part, pytext.IsWord) == part || strings.HasSuffix(part, "]") {
			return title + " in " + part
		}
		title += ": " + part
	}
	return title
}

// signatureParts splits a signature at single colons, except at those that end a word of a message.
func signatureParts(s string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != ':':
		case i+1 < len(s) && s[i+1] == ':':
			i++
		case i+1 < len(s) && s[i+1] == ' ':
		default:
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}
