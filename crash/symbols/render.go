package symbols

import (
	"fmt"
	"regexp"
	"strings"
)

const signalHandler = "<signal handler called>"

// untilUnknown ends a stack before the first address outside all modules: there, unwinding went
// wrong, and what follows are guesses. The place of the crash itself can be such an address, after a
// jump to a wrong one.
func untilUnknown(core *Core, frames []gdbFrame) []gdbFrame {
	for i, f := range frames {
		if i > 0 && f.Function != signalHandler && core.ModuleAt(f.Address) == nil && !core.InKernelCode(f.Address) {
			return frames[:i]
		}
	}
	return frames
}

// renderFrames prints a stack as gdb does, but always with the address. Frames without a source file
// name their library.
func renderFrames(core *Core, frames []gdbFrame) string {
	digits := 8
	if core.Architecture != "i386" && core.Architecture != "armhf" {
		digits = 16
	}
	var lines []string
	for i, f := range frames {
		if f.Function == signalHandler {
			lines = append(lines, fmt.Sprintf("#%-2d %s", i, f.Function))
			continue
		}
		args := make([]string, len(f.Args))
		for i, name := range f.Args {
			args[i] = name + "=..."
		}
		function := f.Function
		if function == "" {
			function = "??"
		}
		line := fmt.Sprintf("#%-2d 0x%0*x in %s (%s)", i, digits, f.Address, function, strings.Join(args, ", "))
		switch m := core.ModuleAt(f.Address); {
		case f.File != "" && f.Line > 0:
			line += fmt.Sprintf(" at %s:%d", f.File, f.Line)
		case f.File != "":
			line += " at " + f.File
		case m != nil && !m.Program:
			line += " from " + oneLine(m.Path)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// renderThreads prints the stacks of all threads, the one that crashed last, as apport does.
func renderThreads(core *Core, threads []gdbThread) string {
	var b strings.Builder
	if more := len(core.Threads) - len(threads); more > 0 {
		_, _ = fmt.Fprintf(&b, "(%d more threads are not shown)\n\n", more)
	}
	for i := len(threads) - 1; i >= 0; i-- {
		t := threads[i]
		target := t.Target
		if t.Number <= len(core.Threads) {
			target = fmt.Sprintf("LWP %d", core.Threads[t.Number-1].ID)
		}
		_, _ = fmt.Fprintf(&b, "Thread %d (%s):\n%s\n", t.Number, target, renderFrames(core, t.Frames))
		if i > 0 {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func renderRegisters(registers []gdbRegister) string {
	var b strings.Builder
	for _, r := range registers {
		_, _ = fmt.Fprintf(&b, "%-15s%s\n", r.Name, r.Value)
	}
	return strings.TrimRight(b.String(), "\n")
}

// renderInstructions prints instructions as gdb's x/16i does.
func renderInstructions(instructions []gdbInstruction, pc uint64) string {
	if len(instructions) == 0 {
		return fmt.Sprintf("=> %#x:\tCannot access memory at address %#x", pc, pc)
	}
	var b strings.Builder
	for _, i := range instructions {
		mark, in := "  ", ""
		if i.Address == pc {
			mark = "=>"
		}
		if i.Function != "" {
			in = fmt.Sprintf(" <%s+%s>", i.Function, i.Offset)
		}
		_, _ = fmt.Fprintf(&b, "%s %#x%s:\t%s\n", mark, i.Address, in, strings.ReplaceAll(i.Text, "\t", " "))
	}
	return strings.TrimRight(b.String(), "\n")
}

// messageForm is what apport makes of a message as gdb prints it: 0x7f… "text".
var messageForm = regexp.MustCompile(`^0x[0-9a-fA-F]+\s+"(.*)"\s*$`)

// assertion returns apport's AssertionMessage. GLib's message has precedence, because GLib calls
// abort itself. The text keeps gdb's escapes.
func assertion(stack gdbStack) string {
	message := stack.AbortMessage
	if strings.Contains(stack.GLibMessage, `"ERROR:`) {
		message = stack.GLibMessage
	}
	m := messageForm.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return strings.TrimSuffix(m[1], `\n`)
}

func oneLine(path string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, path)
}
