package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// goPanicSignature is the rule for programs in Go that panicked: Go's runtime writes the stacks of the goroutines and
// ends, with or without a signal, and a debugger that looks at the process afterwards sees the runtime only.
//
// The program, "panic" or "fatal error" with what the runtime says was wrong, and the first five functions of the
// goroutine that panicked, outside of the runtime and below the last call of panic. Of the message of a program's own
// panic, what stands before data is taken (see panicMessage). Generic arguments, numbers of closures and the major version in import paths are left out. A goroutine
// whose stack overflowed goes by the functions of the endless recursion.
func goPanicSignature(f crash.Fields, to *recorder) string {
	program := subject(f)
	field, text := panicText(f, "goroutine ")
	if text == "" || program == "" {
		return ""
	}
	text = f[field] // what is wrong stands before the goroutines
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
					to.mark(field, at)
				}
			}
		case line == "" || isGoroutine(line):
			inGoroutine = len(frames) == 0 // an empty one
		case line[0] != '\t' && line[0] != ' ' && !strings.HasPrefix(line, "created by "):
			if len(frames) < mostGoFrames {
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
	to.read(field)
	noted := to.count()
	var circle []string
	if kind == "fatal error: stack overflow" {
		circle = recurring(goNames(frames))
	}
	names := goFrames(frames, fieldUnless(circle, field), to)
	if len(circle) > 0 {
		names = to.recursion(noted, circle)
		markCircle(frames, circle, field, to)
	}
	if len(names) == 0 {
		return ""
	}
	return join(append([]string{program, kind}, names...)...)
}

// goCall is a line of a goroutine's stack that names a function.
type goCall struct {
	text string
	at   int // offset in the field
}

// fieldUnless returns the field in which lines are marked one by one: none when the functions of a recursion are marked instead.
func fieldUnless(circle []string, field string) string {
	if len(circle) > 0 {
		return ""
	}
	return field
}

// markCircle marks the first call of each function that recurs.
func markCircle(frames []goCall, circle []string, field string, to *recorder) {
	for _, name := range circle {
		i := slices.IndexFunc(frames, func(c goCall) bool {
			function, ok := goFunction(c.text)
			return ok && function == name
		})
		if i >= 0 {
			to.mark(field, frames[i].at)
		}
	}
}

const mostGoFrames = 200 // Go prints a hundred

// isGoroutine reads "goroutine 1 [running]:", "goroutine 7 gp=0xc000007 m=3 mp=0xc0001 [select, 2 minutes]:".
func isGoroutine(line string) bool {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	number := pytext.Run(rest, pytext.IsDigit)
	return ok && number != "" && number != "0" && strings.HasSuffix(strings.TrimSpace(line), ":") && strings.Contains(rest, "[")
}

// goProblem is what a line says was wrong, in the words of Go's runtime; "panic" for a program's own.
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
	case strings.HasPrefix(text, "SIGABRT: "), strings.HasPrefix(text, "SIGQUIT: "), strings.HasPrefix(text, "SIGSEGV: "), strings.HasPrefix(text, "SIGBUS: "), strings.HasPrefix(text, "SIGFPE: "):
		return text[:strings.IndexByte(text, ':')]
	case strings.HasPrefix(text, "runtime: goroutine stack exceeds "):
		return "fatal error: stack overflow"
	}
	return ""
}

// goFrames are the functions that say where the panic was.
func goFrames(frames []goCall, field string, to *recorder) []string {
	last := -1 // the last call by which the program panicked
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
			why = "it is in no known form"
		case i <= last:
			why = "it is how the panic ended the program"
		case isGoRuntime(name):
			why = "it belongs to Go's runtime"
		case len(names) == mostFrames:
			why = "enough frames"
		}
		if why != "" {
			to.skip(frame.text, why)
			continue
		}
		to.use(frame.text, name)
		to.mark(field, frame.at)
		names = append(names, name)
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

// goFunction is "main.(*Reef).load" of "main.(*Reef).load(0xc000012345, {0x1, 0x2})".
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

// goName takes from a function what differs from build to build.
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

// isClosure knows "func1", "gowrap2", "deferwrap1".
func isClosure(part string) bool {
	for _, start := range [...]string{"func", "gowrap", "deferwrap"} {
		if number, ok := strings.CutPrefix(part, start); ok && isNumber(number) {
			return true
		}
	}
	return false
}

// withoutMajor takes "v2/" out of the directory of an import path.
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
	for _, start := range [...]string{"runtime.", "runtime/", "internal/", "reflect.", "syscall.", "panic", "log.Panic", "log.Fatal", "log.(*Logger).Panic", "log.(*Logger).Fatal", "sync.", "testing."} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}
