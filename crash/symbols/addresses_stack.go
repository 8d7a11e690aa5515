package symbols

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// addressStack makes a stack of the places in an address signature.
type addressStack struct {
	places  []place
	modules []Module
	opened  []openModule
	named   []gdbNamed // of each place
	engine  string

	lines     []string
	numbers   []int // of the modules of the lines; -1: none
	functions []string
}

// ask has gdb name the places whose address in a file is known.
func (s *addressStack) ask(ctx context.Context, n *gdbNamer) error {
	var asked []gdbPlace
	var number []int
	for i, p := range s.places {
		if p.module < 0 || s.opened[p.module].file == "" {
			continue
		}
		if address, ok := s.opened[p.module].address(p.offset); ok {
			asked, number = append(asked, gdbPlace{File: s.opened[p.module].file, Address: address}), append(number, i)
		}
	}
	s.named, s.engine = make([]gdbNamed, len(s.places)), n.Version
	if len(asked) == 0 {
		return nil
	}
	named, err := n.Name(ctx, asked)
	for i, one := range named {
		s.named[number[i]] = one
	}
	return err
}

// problem says why names, lines or inlined functions of a module may be missing. It is empty if nothing is.
func (s *addressStack) problem(module int) string {
	if !s.opened[module].hasDWARF() {
		return "no debug information"
	}
	for i, p := range s.places {
		if p.module == module && s.named[i].Problem != "" {
			return s.named[i].Problem
		}
	}
	return ""
}

// render prints the stack as gdb does, without addresses, which an address signature does not have.
func (s *addressStack) render() string {
	inner := "" // the function of the place before
	handled := false
	for i, p := range s.places {
		here := s.named[i]
		frames := here.Before
		switch {
		case i == 0:
			frames = here.At
		case !handled && inner != "runtime.sigpanic" && s.interrupted(i):
			// Signatures leave out the frame of the signal handler. This function did not call the one
			// before: a signal interrupted it.
			handled = true
			s.add(signalHandler, gdbFrame{}, -1)
			frames = here.At
		default:
			for _, f := range here.Tail {
				s.addFrame(f, p.module)
			}
		}
		if len(frames) == 0 {
			frames = []gdbFrame{{}}
		}
		for _, f := range frames {
			s.addFrame(f, p.module)
		}
		last := frames[len(frames)-1]
		if isMain(last) && p.module >= 0 && s.modules[p.module].program {
			break
		}
		inner = last.Function
	}
	return strings.Join(s.lines, "\n")
}

// isMain reports whether the programmer's code begins with a function of the program; gdb ends stacks
// there.
func isMain(f gdbFrame) bool {
	_, inCrate, _ := strings.Cut(f.Function, "::")
	return f.Function == "main" || f.Function == "main.main" || f.Function == "D main" ||
		inCrate == "main" && strings.HasSuffix(f.File, ".rs")
}

// interrupted reports whether a signal interrupted the function at a place: the code before is no call.
// Go's goroutines begin as if goexit had called them.
func (s *addressStack) interrupted(i int) bool {
	module := s.places[i].module
	if module < 0 || len(s.named[i].Before) == 0 {
		return false
	}
	after, known := s.named[i].AfterCall(s.opened[module].machine)
	if after || !known {
		return false
	}
	name := s.named[i].Before[len(s.named[i].Before)-1].Function
	return name != "" && !strings.HasPrefix(name, "runtime.goexit") && name != "__start_context"
}

func (s *addressStack) addFrame(f gdbFrame, module int) {
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
func (s *addressStack) add(text string, f gdbFrame, module int) {
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
