package symbols

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// naming is a gdb that names addresses, with the files that it has read. It stays for the next reports,
// because starting it takes a hundred times as long as naming the addresses of a report.
type naming struct {
	mu      sync.Mutex // held during the work on a report
	job     *Job       // with the files; nil: gdb does not run
	gdb     *gdbNamer
	program string                   // path of gdb
	files   int                      // that gdb was given
	modules map[moduleKey]openModule // those with all files; the missing files of others can arrive at any time
	idle    *time.Timer              // ends gdb
}

const (
	namingIdle  = time.Minute // after which gdb ends
	namingFiles = 200         // after which gdb is started anew, to free memory
)

type openModule struct {
	Module
	machine elf.Machine
	code    *debuginfo.Segment // nil: none, or several, so that it is unclear which was mapped
}

type moduleKey struct {
	id      debuginfo.BuildID
	machine elf.Machine
}

func (n *naming) name(ctx context.Context, s *Symboliser, stack *addressStack, report crash.Fields,
	machine elf.Machine, class elf.Class,
) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.start(ctx, s, debuginfo.ArchitectureOf(report)); err != nil {
		return err
	}
	stack.opened = make([]openModule, len(stack.modules))
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(searches)
	for i, m := range stack.modules {
		if open, ok := n.modules[moduleKey{m.BuildID, machine}]; ok {
			open.Path, open.Frames, open.program = m.Path, m.Frames, m.program
			stack.opened[i] = open
			continue
		}
		w := debuginfo.Wanted{ID: m.BuildID, Machine: machine, Class: class, Path: m.Path}
		if m.program {
			w.Packages = packagesOf(report)
		}
		n.files++
		number := n.files
		group.Go(func() (err error) {
			stack.opened[i], err = n.open(opening, m, w, number)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, open := range stack.opened {
		stack.modules[i] = open.Module
		if open.Executable.Found && open.hasDWARF() && !lacks(open.Shared) {
			n.modules[moduleKey{open.BuildID, machine}] = open
		}
	}
	err := stack.ask(ctx, n.gdb)
	if err != nil {
		err = errors.Join(err, n.stop())
	}
	return err
}

func (n *naming) start(ctx context.Context, s *Symboliser, architecture string) error {
	program, err := FindDebugger(architecture)
	if err != nil {
		return err
	}
	if n.job != nil && n.program == program && n.files < namingFiles {
		n.idle.Reset(namingIdle)
		return nil
	}
	if err := n.stop(); err != nil {
		return err
	}
	job, err := s.NewJob()
	if err != nil {
		return err
	}
	err = s.checkSandbox(ctx, job.dir)
	if err == nil {
		n.gdb, err = startNamer(ctx, gdbRequest{Program: program, Dir: job.dir, Debug: debugDir, Memory: s.Memory,
			Time: s.Time})
	}
	if err != nil {
		return errors.Join(err, job.Close())
	}
	n.job, n.program, n.files, n.modules = job, program, 0, map[moduleKey]openModule{}
	n.idle = time.AfterFunc(namingIdle, func() { _ = n.close() }) // the next start of mishap removes the files
	return nil
}

func (n *naming) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stop()
}

func (n *naming) stop() error {
	if n.job == nil {
		return nil
	}
	n.idle.Stop()
	n.gdb.Close()
	job := n.job
	n.job, n.gdb, n.modules = nil, nil, nil
	return job.Close()
}

// open finds the files of a module. A debug file alone can name addresses, too.
func (n *naming) open(ctx context.Context, m Module, w debuginfo.Wanted, number int) (openModule, error) {
	open := openModule{Module: m, machine: w.Machine}
	if err := n.job.findModule(ctx, &open.Module, w, number); err != nil {
		return open, err
	}
	if !open.Executable.Found {
		if err := n.job.findSymbols(ctx, &open.Module, w); err != nil {
			return open, err
		}
		if open.Debuginfo.Found {
			open.file = debugFile(w.ID)
		}
	}
	if open.file == "" {
		return open, nil
	}
	file, err := os.Open(filepath.Join(n.job.dir, open.file))
	if err != nil {
		return open, fmt.Errorf("folder of a job: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	headers, err := debuginfo.OpenELF(file)
	if err != nil {
		return open, fmt.Errorf("folder of a job: %w", err)
	}
	for i, s := range headers.Segments {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		if open.code != nil {
			open.code = nil
			break
		}
		open.code = &headers.Segments[i]
	}
	return open, nil
}

func (m Module) hasDWARF() bool {
	return m.Executable != nil && m.Executable.HasDWARF || m.Debuginfo != nil && m.Debuginfo.Found
}

// address converts an offset in the executable mapping to an address of the file. It returns false if it
// cannot tell.
func (m openModule) address(offset uint64) (uint64, bool) {
	if m.code == nil {
		return 0, false
	}
	address := m.code.Addr&^(pageSize-1) + offset
	return address, address >= offset && address < m.code.Addr+m.code.MemSize
}

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
