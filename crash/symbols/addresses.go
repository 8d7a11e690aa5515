package symbols

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/symbols/debuginfo"
)

// Builds knows which build of a program or library a machine had.
type Builds interface {
	// BuildsOf returns the build-ids of files of the machine that sent a report with these fields. It
	// leaves out a file unless it is certain which build it was.
	BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]debuginfo.BuildID, error)
}

// ErrUnknownBuilds is the error of address signatures with a program or library whose build is not
// known. The modules of the result say which.
var ErrUnknownBuilds = crash.Errorf(crash.Unprocessable, "unknown_builds",
	"It is not known which builds of the programs and libraries crashed.")

type place struct {
	path   string
	offset uint64
	module int // -1: no file, such as the kernel's own code
}

// Name names the functions of a report's address signature. It names none unless the exact builds of
// all files in it are known. It computes the fields and the grouping of the report, as [Job.Run]
// does with a core, except for what only a core holds. Errors: ErrUnknownBuilds; Unprocessable if the
// report has no address signature or an unknown architecture.
func (s *Symboliser) Name(ctx context.Context, report crash.Fields) (Result, error) {
	began := time.Now()
	places, signal, ok := parseAddresses(grouping.AddressSignature(report))
	if !ok {
		return Result{}, crash.Errorf(crash.Unprocessable, "no_addresses", "The report has no address signature.")
	}
	architecture := debuginfo.ArchitectureOf(report)
	known := slices.IndexFunc(debuginfo.Architectures, func(a debuginfo.Architecture) bool {
		return a.Name == architecture
	})
	if known < 0 {
		return Result{}, crash.Errorf(crash.Unprocessable, "unknown_architecture",
			"mishap does not know the architecture %q.", crash.Shorten(architecture, 50))
	}
	if s.Builds == nil {
		return Result{}, ErrUnknownBuilds
	}
	var r Result
	program := cmp.Or(report["InterpreterPath"], report["ExecutablePath"])
	var paths []string
	number := map[string]int{}
	for i := range places {
		p := &places[i]
		p.module = -1
		if !strings.HasPrefix(p.path, "/") {
			continue
		}
		at, ok := number[p.path]
		if !ok {
			at = len(r.Modules)
			number[p.path] = at
			paths = append(paths, p.path)
			r.Modules = append(r.Modules, Module{Path: p.path, program: p.path == program})
		}
		r.Modules[at].Frames++
		p.module = at
	}
	builds, err := s.Builds.BuildsOf(ctx, report, paths)
	if err != nil {
		return r, err
	}
	unknown := false
	for i := range r.Modules {
		r.Modules[i].BuildID = builds[r.Modules[i].Path]
		unknown = unknown || r.Modules[i].BuildID == ""
	}
	if unknown || len(r.Modules) == 0 {
		return r, ErrUnknownBuilds
	}
	stack := addressStack{places: places, modules: r.Modules}
	if err := s.naming.name(ctx, s, &stack, report, debuginfo.Architectures[known]); err != nil {
		return r, err
	}
	r.Engine = stack.engine
	for i, m := range stack.opened {
		if problem := stack.problem(i); m.file != "" && problem != "" && r.Incomplete == "" {
			r.Incomplete = filepath.Base(m.Path) + ": " + problem
		}
	}
	r.Fields = crash.Fields{"Stacktrace": stack.render()}
	r.group(report, crash.Fields{"Signal": signal}, func(number int) int { return stack.numbers[number] })
	if signal == "6" && report["AssertionMessage"] == "" && stack.aborted() {
		r.State, r.Incomplete = Partial, "only a core dump holds the message with which the program ended"
		r.Grouping = grouping.SignatureOf(report)
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// parseAddresses splits an address signature, "path:signal:elf+offset:elf+offset…". The path can
// contain colons, so the parts are read from the end.
func parseAddresses(signature string) (places []place, signal string, ok bool) {
	parts := strings.Split(signature, ":")
	first := len(parts)
	for first > 0 {
		part := parts[first-1]
		plus := strings.LastIndexByte(part, '+')
		if plus < 1 {
			break
		}
		offset, err := strconv.ParseUint(part[plus+1:], 16, 64)
		if err != nil {
			break
		}
		places = append(places, place{path: part[:plus], offset: offset})
		first--
	}
	slices.Reverse(places)
	if first < 2 || len(places) == 0 {
		return nil, "", false
	}
	if _, err := strconv.Atoi(parts[first-1]); err != nil {
		return nil, "", false
	}
	return places, parts[first-1], true
}

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
	s.functions = append(s.functions, f.Function)
	s.add(cmp.Or(f.Function, "??")+" ()", f, module)
}

// aborting lists functions that end the program with a message. apport groups by the message, which
// only a core holds.
var aborting = map[string]bool{"__assert_fail_base": true, "__assert_fail": true, "__GI___assert_fail": true,
	"__assert_perror_fail": true, "__libc_message": true, "__libc_fatal": true, "__fortify_fail": true,
	"__GI___fortify_fail": true, "malloc_printerr": true, "g_assertion_message": true,
	"g_assertion_message_expr": true, "g_assertion_message_error": true}

func (s *addressStack) aborted() bool {
	return slices.ContainsFunc(s.functions, func(name string) bool { return aborting[name] })
}

func (s *addressStack) add(text string, f gdbFrame, module int) {
	library := ""
	if module >= 0 && !s.modules[module].program {
		library = s.modules[module].Path
	}
	s.lines = append(s.lines, fmt.Sprintf("#%-2d %s", len(s.lines), text)+f.place(library))
	s.numbers = append(s.numbers, module)
}

// AfterCall reports whether the place is behind an instruction that calls a function. known is false if
// that cannot be told: without the program, or on an architecture that mishap does not know.
func (n gdbNamed) AfterCall(machine elf.Machine) (after, known bool) {
	if n.Code == nil {
		return false, false
	}
	switch machine { //nolint:exhaustive // others are not known here
	case elf.EM_X86_64, elf.EM_386:
		return isCallX86(n.Code), true
	case elf.EM_AARCH64:
		instruction := binary.LittleEndian.Uint32(n.Code[codeBefore-4:])
		const bl, blr, blraa = 0b100101, 0xd63f0000, 0xd63f0800 // the last one checks the address
		return instruction>>26 == bl || instruction&0xfffffc1f == blr || instruction&0xfefff800 == blraa&^0x01000000, true
	}
	return false, false
}

// isCallX86 reports whether instructions end in a call: with an offset, or indirect with any operand.
func isCallX86(b []byte) bool {
	n := len(b)
	if b[n-5] == 0xe8 {
		return true
	}
	// FF /2: the byte behind FF says how long the operand is. In it, 2 stands for a call.
	for length := 2; length <= n; length++ {
		if b[n-length] != 0xff || b[n-length+1]>>3&7 != 2 {
			continue
		}
		mode, register := b[n-length+1]>>6, b[n-length+1]&7
		want := 2
		if mode != 3 && register == 4 {
			want++ // a byte with base and index
		}
		switch {
		case mode == 1:
			want++
		case mode == 2, mode == 0 && register == 5:
			want += 4
		case mode == 0 && register == 4 && length > 2 && b[n-length+2]&7 == 5:
			want += 4
		}
		if want == length {
			return true
		}
	}
	return false
}

// Loaded returns the programs and libraries of the process, for learning which builds packages hold.
func (r Result) Loaded() []debuginfo.Loaded {
	var loaded []debuginfo.Loaded
	for _, m := range r.Modules {
		l := debuginfo.Loaded{Path: m.Path, Build: m.BuildID, Deleted: m.deleted}
		if m.Executable != nil && m.Executable.Found {
			l.Archive = archiveOf(m.Executable.Origin)
		}
		loaded = append(loaded, l)
	}
	return loaded
}

// archiveOf returns the package that a file came from: "http://symbols.example.com (libtide1_1.0_amd64.deb)".
// The result is empty if the origin names none.
func archiveOf(origin string) string {
	i := strings.LastIndex(origin, " (")
	if i < 0 || !strings.HasSuffix(origin, ".deb)") {
		return ""
	}
	return strings.TrimSuffix(origin[i+2:], ")")
}

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
	architecture debuginfo.Architecture,
) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.start(ctx, s, architecture.Name); err != nil {
		return err
	}
	stack.opened = make([]openModule, len(stack.modules))
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(searches)
	for i, m := range stack.modules {
		if open, ok := n.modules[moduleKey{m.BuildID, architecture.Machine}]; ok {
			open.Path, open.Frames, open.program = m.Path, m.Frames, m.program
			stack.opened[i] = open
			continue
		}
		w := debuginfo.Wanted{ID: m.BuildID, Machine: architecture.Machine, Class: architecture.Class, Path: m.Path}
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
			n.modules[moduleKey{open.BuildID, architecture.Machine}] = open
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
		n.gdb, err = startNamer(ctx, gdbRequest{Program: program, Dir: job.dir, Memory: s.Memory, Time: s.Time})
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
	file, err := n.job.headers(open.file)
	if err != nil {
		return open, err
	}
	for i, s := range file.Segments {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		if open.code != nil {
			open.code = nil
			break
		}
		open.code = &file.Segments[i]
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
		library := ""
		if m := core.ModuleAt(f.Address); m != nil && !m.Program {
			library = m.Path
		}
		line := fmt.Sprintf("#%-2d 0x%0*x in %s (%s)", i, digits, f.Address, cmp.Or(f.Function, "??"),
			strings.Join(args, ", "))
		lines = append(lines, line+f.place(library))
	}
	return strings.Join(lines, "\n")
}

// place returns the source line of a frame or, if that is unknown, its library.
func (f gdbFrame) place(library string) string {
	switch {
	case f.File != "" && f.Line > 0:
		return fmt.Sprintf(" at %s:%d", f.File, f.Line)
	case f.File != "":
		return " at " + f.File
	case library != "":
		return " from " + oneLine(library)
	}
	return ""
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
			target = fmt.Sprintf("LWP %d", core.Threads[t.Number-1])
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
