package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// goPanicSignature is the rule for panics of Go programs. Go's runtime writes the stacks of the
// goroutines and exits, with or without a signal; a debugger then sees only the runtime.
//
// The signature consists of the program, "panic" or "fatal error" with the runtime's message, and
// the first five functions of the goroutine that panicked. It skips functions of the runtime and
// those above the last call of panic. Of a program's own message it uses the beginning (see
// panicMessage). It omits generic arguments, numbers of closures, and the major version in import
// paths. After a stack overflow, it uses the functions of the infinite recursion.
func goPanicSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	field, text := panicText(f, "goroutine ")
	if text == "" || program == "" {
		return ""
	}
	text = f[field] // the message precedes the goroutines
	kind := ""
	var frames []goCall
	inGoroutine := false
	tail := tailOf(text)
	for at, line := range linesAt(tail, offsetIn(text, tail)) {
		switch {
		case !inGoroutine && isGoroutine(line):
			inGoroutine = true
		case !inGoroutine:
			if kind == "" {
				if kind = goProblem(line); kind != "" {
					rec.mark(field, at)
				}
			}
		case line == "" || isGoroutine(line):
			inGoroutine = len(frames) == 0 // if this goroutine was empty, use the next one
		case line[0] != '\t' && line[0] != ' ' && !strings.HasPrefix(line, "created by "):
			if len(frames) < maxGoFrames {
				frames = append(frames, goCall{line, at})
			}
		}
		if !inGoroutine && len(frames) > 0 {
			break
		}
	}
	if kind == "" || len(frames) == 0 {
		return ""
	}
	rec.read(field)
	noted := rec.count()
	var circle []string
	if kind == "fatal error: stack overflow" {
		circle = recurring(goNames(frames))
	}
	names := goFrames(frames, fieldUnless(circle, field), rec)
	if len(circle) > 0 {
		names = rec.recursion(noted, circle)
		markCircle(frames, circle, field, rec)
	}
	if len(names) == 0 {
		return ""
	}
	return join(append([]string{program, kind}, names...)...)
}

// goCall is a line of a goroutine's stack with a function name.
type goCall struct {
	text string
	at   int // offset in the field
}

// fieldUnless returns field, or "" if circle is not empty: then markCircle marks lines, instead of
// the caller.
func fieldUnless(circle []string, field string) string {
	if len(circle) > 0 {
		return ""
	}
	return field
}

// markCircle marks the first call of each function of a recursion.
func markCircle(frames []goCall, circle []string, field string, rec *recorder) {
	for _, name := range circle {
		i := slices.IndexFunc(frames, func(c goCall) bool {
			function, ok := goFunction(c.text)
			return ok && function == name
		})
		if i >= 0 {
			rec.mark(field, frames[i].at)
		}
	}
}

const maxGoFrames = 200 // Go prints 100

// isGoroutine matches "goroutine 1 [running]:", "goroutine 7 gp=0xc000007 m=3 mp=0xc0001 [select, 2
// minutes]:".
func isGoroutine(line string) bool {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	number := pytext.Run(rest, pytext.IsDigit)
	return ok && number != "" && number != "0" && strings.HasSuffix(strings.TrimSpace(line), ":") &&
		strings.Contains(rest, "[")
}

// goProblem returns the runtime's message in a line, "panic" for a panic of the program, or "".
func goProblem(line string) string {
	text := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(text, "fatal error: "):
		return withoutNumbers(crash.Truncate(text, maxMessage))
	case strings.HasPrefix(text, "panic: runtime error: "):
		text = strings.TrimSuffix(strings.TrimPrefix(text, "panic: runtime error: "), " [recovered]")
		return "panic:" + withoutNumbers(crash.Truncate(text, maxMessage))
	case strings.HasPrefix(text, "panic: interface conversion: "):
		return "panic:interface conversion"
	case strings.HasPrefix(text, "panic: "):
		text, _, _ = strings.Cut(strings.TrimPrefix(text, "panic: "), " [recovered")
		return join("panic", panicMessage(text))
	case strings.HasPrefix(text, "SIGABRT: "), strings.HasPrefix(text, "SIGQUIT: "), strings.HasPrefix(text, "SIGSEGV: "),
		strings.HasPrefix(text, "SIGBUS: "), strings.HasPrefix(text, "SIGFPE: "):
		return text[:strings.IndexByte(text, ':')]
	case strings.HasPrefix(text, "runtime: goroutine stack exceeds "):
		return "fatal error: stack overflow"
	}
	return ""
}

// goFrames returns the functions that identify the panic.
func goFrames(frames []goCall, field string, rec *recorder) []string {
	last := -1 // index of the last function that raises a panic
	for i, frame := range frames {
		if strings.HasPrefix(frame.text, "panic(") || strings.HasPrefix(frame.text, "runtime.sigpanic") {
			last = i
		}
	}
	var names []string
	for i, frame := range frames {
		name, ok := goFunction(frame.text)
		why := ""
		switch {
		case !ok:
			why = "its form is unknown"
		case i <= last:
			why = "it only ends the program"
		case isGoRuntime(name):
			why = "it belongs to Go's runtime"
		case len(names) == maxSignatureFrames:
			why = "the signature has enough frames"
		}
		if rec.decide(frame.text, name, why) {
			rec.mark(field, frame.at)
			names = append(names, name)
		}
	}
	return names
}

func goNames(frames []goCall) []string {
	var names []string
	for _, frame := range frames {
		if name, ok := goFunction(frame.text); ok && !isGoRuntime(name) {
			names = append(names, name)
		}
	}
	return names
}

// goFunction converts "main.(*Reef).load(0xc000012345, {0x1, 0x2})" to "main.(*Reef).load".
func goFunction(frame string) (string, bool) {
	frame = strings.TrimSpace(frame)
	open := strings.LastIndexByte(frame, '(')
	if open < 1 || !strings.HasSuffix(frame, ")") {
		return "", false
	}
	name := frame[:open]
	if strings.ContainsAny(name, " \t") {
		return "", false
	}
	return goName(name), true
}

// goName removes the parts of a function's name that differ between builds.
func goName(name string) string {
	for { // generic arguments: "main.Map[...]", "main.Map[go.shape.int]"
		open := strings.IndexByte(name, '[')
		end := strings.LastIndexByte(name, ']')
		if open < 0 || end < open {
			break
		}
		name = name[:open] + name[end+1:]
	}
	if i := strings.LastIndex(name, "/vendor/"); i >= 0 {
		name = name[i+len("/vendor/"):]
	}
	directory, rest := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		directory, rest = name[:i+1], name[i+1:]
	}
	parts := strings.Split(rest, ".")
	kept := parts[:0]
	for i, part := range parts {
		part = strings.TrimSuffix(part, "-fm")
		part, _, _ = strings.Cut(part, "-range")
		switch {
		case i > 0 && isNumber(part): // "func1.2", "init.0"
		case i > 0 && isClosure(part):
			if kept[len(kept)-1] != "func" {
				kept = append(kept, "func")
			}
		default:
			kept = append(kept, part)
		}
	}
	return withoutMajor(directory) + strings.Join(kept, ".")
}

// isClosure matches "func1", "gowrap2", "deferwrap1".
func isClosure(part string) bool {
	for _, start := range [...]string{"func", "gowrap", "deferwrap"} {
		if number, ok := strings.CutPrefix(part, start); ok && isNumber(number) {
			return true
		}
	}
	return false
}

// withoutMajor removes "v2/" from the directory of an import path.
func withoutMajor(directory string) string {
	parts := strings.Split(directory, "/")
	kept := parts[:0]
	for i, part := range parts {
		if i > 0 && len(part) > 1 && part[0] == 'v' && isNumber(part[1:]) {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "/")
}

func isGoRuntime(name string) bool {
	for _, start := range [...]string{"runtime.", "runtime/", "internal/", "reflect.", "syscall.", "panic", "log.Panic",
		"log.Fatal", "log.(*Logger).Panic", "log.(*Logger).Fatal", "sync.", "testing."} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}
