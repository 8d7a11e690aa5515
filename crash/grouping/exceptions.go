package grouping

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mishap/crash"
	"mishap/crash/pytext"
)

// pythonSignature is the rule for Python tracebacks for which apport's rule gives no signature:
// those of one or two lines, of programs without a path, or with a stack without names.
//
// The signature has apport's form: the program, the exception, and the functions, outermost first,
// with file and line outside functions. Of chained exceptions it names the last one, with the
// frames of all. After an exception group it names every exception in the group, with its frames.
// It omits messages, unless there are no frames: then it uses the normalised message.
func pythonSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	text := headOf(f["Traceback"])
	if text == "" || program == "" {
		return ""
	}
	rec.read("Traceback")
	var parts []Traceback
	for _, t := range Tracebacks(crash.Fields{"Traceback": text}) {
		if isPythonName(t.Exception) {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	group := strings.Contains(text, "Exception Group Traceback (most recent call last):")
	if group {
		parts = parts[:min(len(parts), maxInGroup)]
	}
	names := []string{program}
	for i, t := range parts {
		most := mostPythonFrames + 1 - len(names)
		if group {
			names = append(names, t.Exception)
			rec.mark("Traceback", t.at)
			if most = groupFrames; i == 0 {
				most = mostPythonFrames
			}
		}
		names = append(names, pythonFrames(t, most, rec)...)
	}
	if group {
		return join(names...)
	}
	last := parts[len(parts)-1]
	rec.mark("Traceback", last.at)
	exception := last.Exception
	if qualifier := f["_PythonExceptionQualifier"]; qualifier != "" {
		exception += "(" + crash.Truncate(qualifier, maxName) + ")"
	}
	if len(names) == 1 {
		return join(program, exception, normalise(lastLine(last.Message), rec))
	}
	return join(slices.Insert(names, 1, exception)...)
}

const (
	mostPythonFrames = 100
	maxInGroup       = 10 // exceptions of a group that a signature names
	groupFrames      = 5  // for each exception but the first
)

func pythonFrames(t Traceback, most int, rec *recorder) []string {
	var calls []call
	for _, frame := range t.Frames {
		name := frame.Function
		if name == "" || name == "<module>" {
			name = frame.File + "@" + strconv.Itoa(frame.Line)
		}
		calls = append(calls, call{text: frame.Function + " in " + frame.File, name: name, at: frame.at})
	}
	return callNames(calls, most, "Traceback", rec)
}

func isPythonName(s string) bool {
	first := pytext.Run(s, pytext.IsWord)
	isName := func(r rune) bool { return pytext.IsWord(r) || r == '.' }
	return first != "" && !pytext.IsDigit(rune(first[0])) && pytext.Run(s, isName) == s
}

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

// Traceback is one part of a Python traceback: the frames, outermost first, and the exception.
type Traceback struct {
	Lead      string // the sentence that links it to the part before: "During handling of the above exception, …"
	Frames    []Frame
	Exception string // "ValueError", "harbor.errors.RemoteGone"
	Message   string // may contain several lines and private data

	at int // offset of the line with the exception
}

// Tracebacks parses the field Traceback. It returns several parts for chained exceptions and
// exception groups; the last part of a chain ended the program. It returns at most 200 parts with
// at most 500 frames each, or nil if there is no traceback.
func Tracebacks(f crash.Fields) []Traceback {
	var p tracebackParser
	for at, line := range linesAt(f["Traceback"], 0) {
		line, ends := ungroup(line)
		p.open, p.at = p.open && !ends, at
		if p.line(line); p.full {
			break
		}
	}
	for i := range p.parts {
		p.parts[i].Exception, p.parts[i].Message = crash.Shorten(p.parts[i].Exception, maxCell),
			crash.Shorten(p.parts[i].Message, maxCell)
	}
	return p.parts
}

type tracebackParser struct {
	parts []Traceback
	lead  string // for the next part
	open  bool   // the last part continues
	full  bool   // there are maxThreads parts, and another one begins
	at    int    // offset of the present line
}

func (p *tracebackParser) line(line string) {
	text := strings.TrimFunc(line, pytext.IsSpace)
	indented := text != "" && !strings.HasPrefix(line, text)
	frame, isFrame := parseSourceFrame(text)
	switch {
	case strings.HasSuffix(text, "Traceback (most recent call last):"):
		p.begin()
	case text == "":
	case isFrame && indented:
		part := p.part()
		if len(part.Frames) < maxFrames {
			frame.Number, frame.at = len(part.Frames), p.at
			part.Frames = append(part.Frames, frame)
		}
	case strings.HasSuffix(text, "direct cause of the following exception:"),
		strings.HasSuffix(text, "another exception occurred:"):
		p.lead, p.open = crash.Shorten(text, maxCell), false
	case p.open && indented && p.part().Exception == "":
		p.source(text)
	default:
		p.exception(text)
	}
}

func (p *tracebackParser) begin() *Traceback {
	if p.full = len(p.parts) == maxThreads; !p.full {
		p.parts = append(p.parts, Traceback{Lead: p.lead})
	}
	p.lead, p.open = "", true
	return &p.parts[len(p.parts)-1]
}

// part returns the part that continues, or a new one.
func (p *tracebackParser) part() *Traceback {
	if !p.open {
		return p.begin()
	}
	return &p.parts[len(p.parts)-1]
}

func (p *tracebackParser) source(text string) {
	frames := p.part().Frames
	if len(frames) > 0 && frames[len(frames)-1].Code == "" && strings.Trim(text, "^~ ") != "" {
		frames[len(frames)-1].Code = crash.Shorten(text, maxCell)
	}
}

// exception parses "Name: message" and further lines of the message.
func (p *tracebackParser) exception(text string) {
	part := p.part()
	if part.Exception == "" {
		part.Exception, part.Message, _ = strings.Cut(text, ": ")
		part.Exception, part.at = strings.TrimSuffix(part.Exception, ":"), p.at
		return
	}
	if len(part.Message) <= maxCell*4 {
		part.Message += "\n" + text
	}
}

// ungroup removes the bars that draw the tree of an exception group. A branch of the tree ends the
// previous part.
func ungroup(line string) (inner string, ends bool) {
	text := strings.TrimLeft(line, " ")
	if strings.HasPrefix(text, "+-") {
		return "", true
	}
	if rest, ok := strings.CutPrefix(text, "|"); ok {
		return strings.TrimPrefix(rest, " "), false
	}
	return line, false
}

// parseSourceFrame parses `File "/usr/bin/x", line 20, in main`. The frame of a syntax error has no
// function.
func parseSourceFrame(text string) (Frame, bool) {
	if l, ok := parseTracebackLine(" " + text); ok {
		return Frame{File: crash.Shorten(l.file, maxCell), Line: lineNumber(l.line),
			Function: crash.Shorten(l.function, maxCell)}, true
	}
	file, found := strings.CutPrefix(text, `File "`)
	file, rest, ok := strings.Cut(file, `", line `)
	if !found || !ok {
		return Frame{}, false
	}
	return Frame{File: crash.Shorten(file, maxCell), Line: lineNumber(pytext.Run(rest, unicode.IsDigit))}, true
}

func lineNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return 0
}

// Calls reports whether a function occurs in the stack of a native crash or in a traceback.
func Calls(f crash.Fields, function string) bool {
	is := func(frame Frame) bool { return frame.Function == function }
	if slices.ContainsFunc(Frames(f), is) {
		return true
	}
	return slices.ContainsFunc(Tracebacks(f), func(t Traceback) bool { return slices.ContainsFunc(t.Frames, is) })
}

// javaSignature is the rule for Java programs that ended with an exception. Apport stores their
// trace as StackTrace, with a capital T, which none of its rules reads.
//
// The signature consists of the program, the exception, its first frames as class.method, then
// "caused by" and the same for each cause. It omits lines, modules, messages and reflection frames,
// and what a virtual machine numbers at run time (lambdas, proxies, generated accessors). After a
// stack overflow, it uses the methods of the infinite recursion.
func javaSignature(f crash.Fields, rec *recorder) string {
	text := headOf(f["StackTrace"])
	program := subject(f)
	if text == "" || program == "" {
		return ""
	}
	rec.read("StackTrace")
	parts, found := []string{program}, 0
	for i, e := range parseJava(text) {
		rec.mark("StackTrace", e.at)
		var names []string
		if e.class == "java.lang.StackOverflowError" {
			names = recursion(e.calls, "StackTrace", rec)
		}
		if names == nil {
			names = callNames(e.calls, maxSignatureFrames, "StackTrace", rec)
		}
		class := e.class
		if i > 0 {
			class = "caused by " + class
		}
		if len(e.calls) == 0 && i == 0 {
			class = join(class, normalise(e.message, rec)) // there is nothing but the message
			found += len(e.message)
		}
		parts = append(append(parts, class), names...)
		found += len(names)
	}
	if found == 0 {
		return ""
	}
	return join(parts...)
}

type javaException struct {
	class, message string
	at             int // offset of its line
	calls          []call
}

const (
	maxCauses     = 8
	maxJavaFrames = 1100 // the virtual machine prints at most 1024
)

// parseJava parses the chain of exceptions, outermost first. It skips suppressed exceptions, with
// their causes.
func parseJava(text string) []javaException {
	var chain []javaException
	suppressed := false
	for at, line := range linesAt(text, 0) {
		trimmed := strings.TrimSpace(line)
		indented := line != "" && (line[0] == ' ' || line[0] == '\t')
		frame, isFrame := strings.CutPrefix(trimmed, "at ")
		cause, isCause := strings.CutPrefix(trimmed, "Caused by: ")
		switch {
		case strings.HasPrefix(trimmed, "Suppressed: "):
			suppressed = true
		case isCause && !indented:
			suppressed = false
			if len(chain) == maxCauses {
				return chain
			}
			chain = append(chain, newJavaException(cause, at))
		case suppressed:
			suppressed = indented
		case isFrame:
			if n := len(chain); n > 0 && len(chain[n-1].calls) < maxJavaFrames {
				name, why := javaFunction(frame)
				chain[n-1].calls = append(chain[n-1].calls, call{frame, name, why, at})
			}
		case len(chain) == 0 && trimmed != "":
			if e := newJavaException(trimmed, at); e.class != "" {
				chain = append(chain, e)
			}
		}
	}
	return chain
}

// newJavaException parses `Exception in thread "main" reef.Gone: message`. The class is empty if
// text has no exception.
func newJavaException(text string, at int) javaException {
	if rest, ok := strings.CutPrefix(text, `Exception in thread "`); ok {
		_, rest, _ = strings.Cut(rest, `"`)
		text = strings.TrimSpace(rest)
	}
	class, message, _ := strings.Cut(text, ":")
	class = strings.TrimSpace(class)
	if class == "" || pytext.Run(class, isJavaName) != class || !strings.Contains(class, ".") &&
		!strings.HasSuffix(class, "Exception") && !strings.HasSuffix(class, "Error") {
		return javaException{}
	}
	return javaException{class: javaClass(class), message: strings.TrimSpace(message), at: at}
}

func isJavaName(r rune) bool { return pytext.IsWord(r) || r == '.' || r == '$' || r == '/' }

// javaFunction converts "app//reef.Main.run(Main.java:9)" to "reef.Main.run", or says why the
// signature omits the frame.
func javaFunction(frame string) (name, why string) {
	name, _, _ = strings.Cut(frame, "(")
	visible, _, _ := strings.Cut(name, "/0x") // without the address of a generated class
	name = name[strings.LastIndexByte(visible, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	isMethod := func(r rune) bool { return isJavaName(r) || r == '<' || r == '>' || r == '-' }
	if dot < 1 || pytext.Run(name, isMethod) != name {
		return "", "its form is unknown"
	}
	class, method := name[:dot], name[dot+1:]
	if hasAnyPrefix(class, "jdk.internal.reflect.", "java.lang.reflect.", "sun.reflect.", "java.lang.invoke.",
		"jdk.internal.vm.") {
		return "", "it is reflection"
	}
	return javaClass(class) + "." + javaMethod(method), ""
}

// javaClass removes generated parts: "Foo$$Lambda$14/0x80c03" → "Foo$$Lambda", "$Proxy12" →
// "$Proxy", "Foo$$EnhancerBySpringCGLIB$$5e1c" → "Foo$$EnhancerBySpringCGLIB".
func javaClass(class string) string {
	class, _, _ = strings.Cut(class, "/0x")
	if strings.Contains(class, "$Proxy") {
		return "$Proxy" // without number and package, which is numbered too
	}
	head, generated, ok := strings.Cut(class, "$$")
	if !ok {
		return withoutSerials(class)
	}
	kind := pytext.Run(generated, func(r rune) bool { return pytext.IsWord(r) && !pytext.IsDigit(r) })
	return head + "$$" + kind
}

// withoutSerials removes the numbers that Clojure's compiler gives to functions: "core$load__1234"
// → "core$load".
func withoutSerials(class string) string {
	parts := strings.Split(class, "$")
	for i, part := range parts {
		if at := strings.LastIndex(part, "__"); i > 0 && at > 0 && isNumber(part[at+len("__"):]) {
			parts[i] = part[:at]
		}
	}
	return strings.Join(parts, "$")
}

// javaMethod removes the numbers of "lambda$run$0" and "access$100".
func javaMethod(method string) string {
	if hasAnyPrefix(method, "lambda$", "access$") {
		return strings.TrimRight(strings.TrimRight(method, "0123456789"), "$")
	}
	return method
}

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
	var frames []call
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
				frames = append(frames, call{text: line, at: at})
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
	judgeGo(frames)
	var names []string
	if kind == "fatal error: stack overflow" {
		names = recursion(frames, field, rec)
	}
	if names == nil {
		names = callNames(frames, maxSignatureFrames, field, rec)
	}
	if len(names) == 0 {
		return ""
	}
	return join(append([]string{program, kind}, names...)...)
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
	case hasAnyPrefix(text, "SIGABRT: ", "SIGQUIT: ", "SIGSEGV: ", "SIGBUS: ", "SIGFPE: "):
		return text[:strings.IndexByte(text, ':')]
	case strings.HasPrefix(text, "runtime: goroutine stack exceeds "):
		return "fatal error: stack overflow"
	}
	return ""
}

func judgeGo(frames []call) {
	last := -1 // index of the last function that raises a panic
	for i, frame := range frames {
		if hasAnyPrefix(frame.text, "panic(", "runtime.sigpanic") {
			last = i
		}
	}
	for i := range frames {
		name, ok := goFunction(frames[i].text)
		runtime := isGoRuntime(name)
		switch {
		case !ok:
			frames[i].why = "its form is unknown"
		case i <= last:
			frames[i].why = whyEnding
		case runtime:
			frames[i].why = whyRuntime
		}
		if !runtime {
			frames[i].name = name
		}
	}
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
		case i > 0 && closure.MatchString(part):
			if kept[len(kept)-1] != "func" {
				kept = append(kept, "func")
			}
		default:
			kept = append(kept, part)
		}
	}
	return majors.ReplaceAllString(directory, "/") + strings.Join(kept, ".")
}

// closure matches functions that the compiler numbers.
var closure = regexp.MustCompile(`^(func|gowrap|deferwrap)[0-9]+$`)

// majors matches "/v2/" in the directory of an import path.
var majors = regexp.MustCompile(`(/v[0-9]+)+/`)

func isGoRuntime(name string) bool {
	return hasAnyPrefix(name, "runtime.", "runtime/", "internal/", "reflect.", "syscall.", "panic", "log.Panic",
		"log.Fatal", "log.(*Logger).Panic", "log.(*Logger).Fatal", "sync.", "testing.")
}

// rustPanicSignature is the rule for panics of Rust programs. They end with a signal only if
// configured to, and then the stack contains mostly functions of the runtime.
//
// The signature consists of the program, "panic", the source file, the message up to its first
// colon or quotation mark, where data begins, and the first five functions of the backtrace, if
// any, outside the standard library. It omits line and column, the thread, hash suffixes of
// functions, build directories, and versions of libraries.
//
// If there is no backtrace and the message is common ("called `Option::unwrap()`…"), the signature
// includes the line. The line changes between versions, but nothing else distinguishes the places
// in a file. The rule reads both formats: "panicked at src/main.rs:10:5:" followed by the message
// (since Rust 1.73), and "panicked at 'message', src/main.rs:10:5".
func rustPanicSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	field, text := panicText(f, "' panicked at ")
	if text == "" {
		field, text = panicText(f, ") panicked at ") // with the thread id
	}
	if text == "" || program == "" {
		return ""
	}
	first, rest, _ := strings.Cut(text, "\n")
	if i := strings.Index(first, "thread '"); i < 0 {
		return ""
	}
	_, said, _ := strings.Cut(first, " panicked at ")
	file, message, messageAt := rustPlace(said, rest)
	if file == "" {
		return ""
	}
	rec.read(field)
	rec.mark(field, offsetIn(f[field], text))
	if messageAt >= 0 {
		rec.mark(field, offsetIn(f[field], rest)+messageAt)
	}
	names := rustFrames(rest, field, offsetIn(f[field], rest), rec)
	place := rustFile(file)
	if len(names) == 0 && (strings.TrimSpace(message) == "" || hasAnyPrefix(message, rustCommon[:]...)) {
		_, line, _ := strings.Cut(file, ":")
		place += "@" + crash.Truncate(pytext.Run(line, pytext.IsDigit), maxWord)
	}
	return join(append([]string{program, "panic", rec.change(said, place), rec.change(message, rustMessage(message))},
		names...)...)
}

// rustPlace splits a panic into file and message. moreAt is the offset in rest of a second line
// with one of them, or -1.
func rustPlace(said, rest string) (file, message string, moreAt int) {
	said = strings.TrimRight(said, " \r")
	if !strings.HasPrefix(said, "'") && strings.HasSuffix(said, ":") {
		message, _, _ = strings.Cut(rest, "\n")
		return strings.TrimSuffix(said, ":"), message, 0
	}
	if i := strings.LastIndex(said, "', "); i > 0 {
		return said[i+len("', "):], strings.TrimPrefix(said[:i], "'"), -1
	}
	if message, ok := strings.CutPrefix(said, "'"); ok { // a message of several lines, followed by the place
		at := 0
		for line := range strings.SplitSeq(headOf(rest), "\n") {
			if i := strings.LastIndex(line, "', "); i >= 0 {
				return strings.TrimSpace(line[i+len("', "):]), message, at
			}
			at += len(line) + len("\n")
		}
		return "", "", -1
	}
	return said, "", -1
}

// rustMessage returns the message up to the data. After "assertion failed: " there is no data, but
// source text of the program.
func rustMessage(message string) string {
	if condition, ok := strings.CutPrefix(message, assertionFailed); ok {
		return assertionFailed + panicMessage(condition)
	}
	return panicMessage(message)
}

const assertionFailed = "assertion failed: "

// rustCommon lists prefixes of messages that the language itself produces.
var rustCommon = [...]string{
	"called `Option::", "called `Result::", "index out of bounds", "attempt to ", "explicit panic",
	"internal error: entered unreachable code", "not yet implemented", "not implemented", "assertion `left ",
	"assertion failed: `(left ", "already borrowed", "already mutably borrowed", "RefCell already", "byte index",
	"start byte index", "end byte index", "slice index", "range start index", "range end index", "capacity overflow",
	"misaligned pointer", "null pointer dereference",
}

// rustFile returns a source file without line, column and build directory.
func rustFile(place string) string {
	file, _, _ := strings.Cut(place, ":")
	file = strings.TrimSpace(crash.Truncate(file, maxMessage))
	switch {
	case strings.Contains(file, "/registry/src/"): // …/index.crates.io-6f17d22bba15001f/tokio-1.35.1/src/x.rs
		_, file, _ = strings.Cut(file, "/registry/src/")
		_, file, _ = strings.Cut(file, "/")
	case strings.HasPrefix(file, "/rustc/"):
		_, file, _ = strings.Cut(strings.TrimPrefix(file, "/rustc/"), "/")
	case strings.Contains(file, "/library/") && strings.HasPrefix(file, "/"):
		file = file[strings.Index(file, "/library/")+1:]
	case strings.HasPrefix(file, "/"):
		if i := strings.LastIndex(file, "/src/"); i >= 0 { // "/build/reef-AbC1/reef-1.2/src/main.rs"
			file = file[strings.LastIndexByte(file[:i], '/')+1:]
		}
	}
	return normalise(file, nil)
}

// rustFrames parses lines "   3: reef::load::h0123456789abcdef" or "   3:     0x55f1 - reef::load",
// each followed by "at file".
func rustFrames(text, field string, base int, rec *recorder) []string {
	var calls []call
	inTrace, named := false, false
	for at, line := range linesAt(headOf(text), base) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "stack backtrace:") {
			inTrace = true
			continue
		}
		if !inTrace || trimmed == "" || strings.HasPrefix(trimmed, "at ") {
			continue
		}
		number, function, ok := strings.Cut(trimmed, ":")
		if !ok || !isNumber(number) {
			if named || !strings.HasPrefix(line, " ") {
				break // end of the backtrace
			}
			continue
		}
		function = strings.TrimSpace(function)
		if address, after, found := strings.Cut(function, " - "); found && strings.HasPrefix(address, "0x") {
			function = strings.TrimSpace(after)
		}
		name := cleanSymbol(function)
		why := ""
		switch {
		case name == "" || name == "<unknown>":
			why = "it has no name"
		case isRustRuntime(name):
			why = "it belongs to Rust's runtime"
		case isRustExecutor(name):
			why = "it only runs tasks"
		default:
			named = true
		}
		calls = append(calls, call{function, name, why, at})
	}
	return callNames(calls, maxSignatureFrames, field, rec)
}

// isRustRuntime matches functions of the standard library that raise a panic, and those around
// main.
func isRustRuntime(name string) bool {
	bare := strings.TrimLeft(name, "<&")
	if hasAnyPrefix(bare, "std::", "core::", "alloc::", "rust_begin_unwind", "rust_panic", "__rust", "_rust_", "___rust",
		"__libc_start", "_start", "_Unwind", "__GI_", "start_thread", "clone", "__clone", "test::", "std[", "core[") {
		return !strings.Contains(name, " as ") || isRustTrait(name)
	}
	return name == "main" || name == "raise" || name == "abort"
}

// isRustExecutor matches functions by which asynchronous libraries run tasks. Their calls of each
// other change between versions of the library.
func isRustExecutor(name string) bool {
	return hasAnyPrefix(strings.TrimLeft(name, "<&"), "tokio::runtime::", "tokio::task::", "tokio::loom::",
		"futures_util::", "futures_executor::", "async_executor::", "async_task::", "async_std::task::", "smol::")
}

// isRustTrait reports whether the trait in "<core::X as core::Y>::f" belongs to the standard
// library.
func isRustTrait(name string) bool {
	_, trait, _ := strings.Cut(name, " as ")
	return strings.HasPrefix(trait, "core::") || strings.HasPrefix(trait, "std::") || strings.HasPrefix(trait, "alloc::")
}

// compilerSignature is the rule for internal errors of GCC. The compiler files the report itself,
// with the preprocessed source, whose first comments contain its messages. There is no signal and
// no stack from a debugger.
//
// The signature consists of the program, "internal compiler error", the message without line
// numbers and the name of the source file, and the first five functions of the compiler's own
// backtrace, without those that report errors. There is no signature for a message that only says
// how the compiler ended ("Segmentation fault"), unless there is a backtrace.
func compilerSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	if program == "" {
		return ""
	}
	for _, field := range [...]string{"PreprocessedSource", "ErrorMessage", "StdErr", "Stderr"} {
		text := headOf(f[field])
		at := strings.Index(text, internalError)
		if at < 0 {
			continue
		}
		rec.read(field)
		rec.mark(field, at)
		message, rest, _ := strings.Cut(text[at+len(internalError):], "\n")
		names := compilerFrames(rest, field, offsetIn(text, rest), rec)
		said := compilerMessage(message)
		if len(names) == 0 && !strings.Contains(said, " in ") && !strings.HasPrefix(said, "in ") &&
			!strings.HasPrefix(said, "verify_") {
			return ""
		}
		return join(append([]string{program, "internal compiler error", rec.change(message, said)}, names...)...)
	}
	return ""
}

const internalError = "internal compiler error: "

// compilerMessage removes what varies: "in gimplify_expr, at gimplify.cc:17682" becomes "in
// gimplify_expr, at gimplify.cc".
func compilerMessage(message string) string {
	message = strings.TrimRight(strings.TrimSpace(message), ".")
	return withoutNumbers(normalise(withoutLine(message), nil))
}

func withoutLine(s string) string {
	trimmed := strings.TrimRight(s, "0123456789")
	if trimmed != s && strings.HasSuffix(trimmed, ":") {
		return strings.TrimSuffix(trimmed, ":")
	}
	return s
}

// compilerFrames returns the functions in lines of the form "// 0x55d0a1b2c3
// gimplify_expr(tree_node**, gimple**)". It skips functions of the C library that start or end a
// program.
func compilerFrames(text, field string, base int, rec *recorder) []string {
	var calls []call
	n := 0
	for at, line := range linesAt(text, base) {
		line = strings.TrimSpace(strings.TrimLeft(line, "/"))
		if n++; n > 300 || hasAnyPrefix(line, "Please submit", "Please include") {
			break
		}
		address, function, ok := strings.Cut(line, " ")
		hex, isHexadecimal := strings.CutPrefix(address, "0x")
		if !ok || !isHexadecimal || pytext.Run(hex, isHex) != hex {
			continue
		}
		name := cleanSymbol(function)
		why := ""
		switch {
		case name == "":
			why = "it has no name"
		case name == "crash_signal" || name == "internal_error" || name == "fancy_abort" ||
			hasAnyPrefix(name, "diagnostic_", "tree_check_failed"):
			why = "it only reports the fault"
		case isCommon(name) || strings.HasPrefix(name, "toplev::"):
			why = "every compiler has it"
		}
		calls = append(calls, call{function, name, why, at})
	}
	return callNames(calls, maxSignatureFrames, field, rec)
}
