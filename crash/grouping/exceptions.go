package grouping

import (
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
	name = name[strings.LastIndexByte(withoutHidden(name), '/')+1:]
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

// withoutHidden removes the address of a generated class, as in "Foo$$Lambda/0x00007f.run". Its
// slash would be mistaken for the one after a module.
func withoutHidden(name string) string {
	if i := strings.Index(name, "/0x"); i >= 0 {
		return name[:i]
	}
	return name
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
