package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// javaSignature is the rule for Java programs that died of an exception: apport keeps their trace as StackTrace, with a
// capital T, which none of its rules reads.
//
// The program, the exception, its first frames as class.method, then "caused by" and the same for each cause: the cause
// says what went wrong, the outer exceptions where the program was. Lines, modules, messages and what a virtual machine
// numbers as it goes (lambdas, proxies, generated accessors) are left out; frames of reflection too. A stack that
// overflowed goes by the methods of the endless recursion.
func javaSignature(f crash.Fields, to *recorder) string {
	text := headOf(f["StackTrace"])
	program := subject(f)
	if text == "" || program == "" {
		return ""
	}
	to.read("StackTrace")
	parts, found := []string{program}, 0
	for i, e := range parseJava(text) {
		noted := to.count()
		var circle []string
		if e.class == "java.lang.StackOverflowError" {
			circle = recurring(e.all())
		}
		to.mark("StackTrace", e.at)
		names := e.functions(fieldUnless(circle, "StackTrace"), to)
		if len(circle) > 0 {
			names = to.recursion(noted, circle)
			e.markCircle(circle, to)
		}
		class := e.class
		if i > 0 {
			class = "caused by " + class
		}
		if len(e.frames) == 0 && i == 0 {
			class = join(class, normalise(e.message, to)) // the message is all there is
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

// javaFrame is a line "at …" of a trace.
type javaFrame struct {
	text string
	at   int // offset in the field
}

type javaException struct {
	class, message string
	at             int         // offset of its line
	frames         []javaFrame // as written, without "at "
}

// Limits of what is read of a trace.
const (
	mostCauses     = 8
	mostJavaFrames = 1100 // the virtual machine prints at most 1024
	causeFrames    = 5    // taken of a cause
)

// parseJava reads the chain of exceptions, outermost first. Suppressed ones and what belongs to them are passed over.
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
			if len(chain) == mostCauses {
				return chain
			}
			chain = append(chain, newJavaException(cause, at))
		case suppressed:
			suppressed = indented
		case isFrame:
			if n := len(chain); n > 0 && len(chain[n-1].frames) < mostJavaFrames {
				chain[n-1].frames = append(chain[n-1].frames, javaFrame{frame, at})
			}
		case len(chain) == 0 && trimmed != "":
			if e := newJavaException(trimmed, at); e.class != "" {
				chain = append(chain, e)
			}
		}
	}
	return chain
}

// newJavaException reads `Exception in thread "main" reef.Gone: message`. The class is empty when there is none.
func newJavaException(text string, at int) javaException {
	if rest, ok := strings.CutPrefix(text, `Exception in thread "`); ok {
		_, rest, _ = strings.Cut(rest, `"`)
		text = strings.TrimSpace(rest)
	}
	class, message, _ := strings.Cut(text, ":")
	class = strings.TrimSpace(class)
	if class == "" || pytext.Run(class, isJavaName) != class || !strings.Contains(class, ".") && !strings.HasSuffix(class, "Exception") && !strings.HasSuffix(class, "Error") {
		return javaException{}
	}
	return javaException{class: javaClass(class), message: strings.TrimSpace(message), at: at}
}

func isJavaName(r rune) bool { return pytext.IsWord(r) || r == '.' || r == '$' || r == '/' }

// functions are the names that stand for an exception of a chain.
func (e javaException) functions(field string, to *recorder) []string {
	var names []string
	for _, frame := range e.frames {
		name, why := javaFunction(frame.text)
		if why == "" && len(names) == causeFrames {
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

// markCircle marks the first frame of each method that recurs.
func (e javaException) markCircle(circle []string, to *recorder) {
	for _, name := range circle {
		i := slices.IndexFunc(e.frames, func(f javaFrame) bool {
			function, why := javaFunction(f.text)
			return why == "" && function == name
		})
		if i >= 0 {
			to.mark("StackTrace", e.frames[i].at)
		}
	}
}

// all are the names of all frames.
func (e javaException) all() []string {
	var names []string
	for _, frame := range e.frames {
		if name, why := javaFunction(frame.text); why == "" {
			names = append(names, name)
		}
	}
	return names
}

// javaFunction is "reef.Main.run" of "app//reef.Main.run(Main.java:9)", or why the frame is left out.
func javaFunction(frame string) (name, why string) {
	name, _, _ = strings.Cut(frame, "(")
	name = name[strings.LastIndexByte(withoutHidden(name), '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 || pytext.Run(name, func(r rune) bool { return isJavaName(r) || r == '<' || r == '>' || r == '-' }) != name {
		return "", "it is in no known form"
	}
	class, method := name[:dot], name[dot+1:]
	for _, start := range [...]string{"jdk.internal.reflect.", "java.lang.reflect.", "sun.reflect.", "java.lang.invoke.", "jdk.internal.vm."} {
		if strings.HasPrefix(class, start) {
			return "", "it is reflection"
		}
	}
	return javaClass(class) + "." + javaMethod(method), ""
}

// withoutHidden hides the address that a generated class bears behind a slash, "Foo$$Lambda/0x00007f.run", when the slash
// that ends the module is looked for.
func withoutHidden(name string) string {
	if i := strings.Index(name, "/0x"); i >= 0 {
		return name[:i]
	}
	return name
}

// javaClass takes away what is generated: "Foo$$Lambda$14/0x80c03" → "Foo$$Lambda", "$Proxy12" → "$Proxy",
// "Foo$$EnhancerBySpringCGLIB$$5e1c" → "Foo$$EnhancerBySpringCGLIB".
func javaClass(class string) string {
	class, _, _ = strings.Cut(class, "/0x")
	if strings.Contains(class, "$Proxy") {
		return "$Proxy" // without number and package: that is numbered too
	}
	head, generated, ok := strings.Cut(class, "$$")
	if !ok {
		return withoutSerials(class)
	}
	kind := pytext.Run(generated, func(r rune) bool { return pytext.IsWord(r) && !pytext.IsDigit(r) })
	return head + "$$" + kind
}

// withoutSerials takes away the numbers that Clojure gives to functions as it compiles them: "core$load__1234" → "core$load".
func withoutSerials(class string) string {
	parts := strings.Split(class, "$")
	for i, part := range parts {
		if at := strings.LastIndex(part, "__"); i > 0 && at > 0 && isNumber(part[at+len("__"):]) {
			parts[i] = part[:at]
		}
	}
	return strings.Join(parts, "$")
}

// javaMethod takes numbers from "lambda$run$0" and "access$100".
func javaMethod(method string) string {
	if strings.HasPrefix(method, "lambda$") || strings.HasPrefix(method, "access$") {
		return strings.TrimRight(strings.TrimRight(method, "0123456789"), "$")
	}
	return method
}
