package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

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

// The limits of a trace.
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
