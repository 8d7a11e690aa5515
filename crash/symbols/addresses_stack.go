package symbols

import (
	"fmt"
	"slices"
	"strings"

	"mishap/crash/symbols/addr"
)

// addressStack makes a stack of the places in an address signature.
type addressStack struct {
	places  []place
	modules []Module
	opened  []*addr.Module // nil: no files were found

	lines     []string
	numbers   []int // of the modules of the lines; -1: none
	functions []string
}

// render prints the stack as gdb does, without addresses, which an address signature does not have.
func (s *addressStack) render() string {
	var inner location // of the frame before
	handled := false
	for i, p := range s.places {
		here := s.locate(p)
		if i > 0 && !handled && inner.function != "runtime.sigpanic" && here.interrupted() {
			// Signatures leave out the frame of the signal handler. This function did not call the one
			// before: a signal interrupted it.
			handled = true
			s.add(signalHandler, addr.Frame{}, -1)
		} else if i > 0 {
			s.addTailCalls(here, inner)
			here.code-- // in the call, not behind it
		}
		frames := s.addFrames(here)
		last := frames[len(frames)-1]
		if last.Main && s.modules[here.number].program {
			break
		}
		here.function = last.Function
		inner = here
	}
	return strings.Join(s.lines, "\n")
}

// location is a place in the file of a module.
type location struct {
	module   *addr.Module // nil: nothing is known
	number   int
	code     uint64
	function string // the function that is not inlined
}

func (s *addressStack) locate(p place) location {
	l := location{number: p.module}
	if p.module < 0 || s.opened[p.module] == nil {
		return l
	}
	const anySegment = -1
	if code, ok := s.opened[p.module].Address(p.offset, anySegment); ok {
		l.module, l.code = s.opened[p.module], code
	}
	return l
}

// interrupted reports whether a signal interrupted the function there: the code before is no call.
// Go's goroutines begin as if goexit had called them.
func (l location) interrupted() bool {
	if l.module == nil {
		return false
	}
	after, known := l.module.AfterCall(l.code)
	if after || !known {
		return false
	}
	frames := l.module.Frames(l.code - 1)
	name := frames[len(frames)-1].Function
	return name != "" && !strings.HasPrefix(name, "runtime.goexit") && name != "__start_context"
}

// addTailCalls adds the functions between a call and the function that it seems to have called. As in
// gdb, each is one frame, even if the innermost function was inlined.
func (s *addressStack) addTailCalls(caller, callee location) {
	if caller.module == nil || caller.module != callee.module {
		return
	}
	for _, after := range caller.module.TailCalls(caller.code, callee.code) {
		s.addFrame(caller.module.Frames(after - 1)[0], caller.number)
	}
}

// addFrames adds the functions at a place, and returns them.
func (s *addressStack) addFrames(l location) []addr.Frame {
	frames := []addr.Frame{{}}
	if l.module != nil {
		frames = l.module.Frames(l.code)
	}
	for _, f := range frames {
		s.addFrame(f, l.number)
	}
	return frames
}

func (s *addressStack) addFrame(f addr.Frame, module int) {
	function := f.Function
	if function == "" {
		function = "??"
	}
	s.functions = append(s.functions, f.Function)
	s.add(function+" ()", f, module)
}

// aborting lists functions that end the program with a message. apport groups by the message, which
// only a core holds.
var aborting = map[string]bool{"__assert_fail_base": true, "__assert_fail": true, "__GI___assert_fail": true,
	"__assert_perror_fail": true, "__libc_message": true, "__libc_fatal": true, "__fortify_fail": true,
	"__GI___fortify_fail": true, "malloc_printerr": true, "g_assertion_message": true,
	"g_assertion_message_expr": true, "g_assertion_message_error": true}

// aborted reports whether the program ended with a message.
func (s *addressStack) aborted() bool {
	return slices.ContainsFunc(s.functions, func(name string) bool { return aborting[name] })
}

// add adds a line of the stack.
func (s *addressStack) add(text string, f addr.Frame, module int) {
	line := fmt.Sprintf("#%-2d %s", len(s.lines), text)
	switch {
	case f.File != "" && f.Line > 0:
		line += fmt.Sprintf(" at %s:%d", f.File, f.Line)
	case f.File != "":
		line += " at " + f.File
	case module >= 0 && !s.modules[module].program:
		line += " from " + oneLine(s.modules[module].Path)
	}
	s.lines, s.numbers = append(s.lines, line), append(s.numbers, module)
}
