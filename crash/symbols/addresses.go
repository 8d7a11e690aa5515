package symbols

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// Names stores what the debugger says about places in builds. Each is asked once, since millions of reports have the
// same ones.
type Names interface {
	// KnownNames returns what is stored about places.
	KnownNames(ctx context.Context, places []crash.BuildPlace) (map[crash.BuildPlace][]byte, error)
	// LearnNames stores what the debugger says about places.
	LearnNames(ctx context.Context, names map[crash.BuildPlace][]byte) error
}

type place struct {
	path     string
	id       debuginfo.BuildID // empty: not known from the report
	offset   uint64            // from the start of the executable mapping; with an id, from that of the module
	function string            // name by the sender; empty: unknown
	scanned  bool              // it may be no return address
	module   int               // -1: no file, such as the kernel's own code
}

var errNoAddresses = crash.Errorf(crash.Unprocessable, "no_addresses",
	"The report has neither an address signature nor build-ids.")

// Name names the functions of a report with builds and offsets ([grouping.BuildIDsField]) or, without those, of its
// address signature; of this, it names none unless the exact builds of all files in it are known. It computes the
// fields and the grouping of the report, as [Job.Run] does with a core, except for what only a core holds. Errors:
// ErrUnknownBuilds; Unprocessable if the report has no places or an unknown architecture.
func (s *Symboliser) Name(ctx context.Context, report crash.Fields) (Result, error) {
	began := time.Now()
	stack := addressStack{places: parseBuilds(report)}
	signal, byBuild := report["Signal"], len(stack.places) > 0
	if !byBuild {
		var ok bool
		if stack.places, signal, ok = parseAddresses(grouping.AddressSignature(report)); !ok {
			return Result{}, errNoAddresses
		}
	}
	architecture := debuginfo.ArchitectureOf(report)
	known := slices.IndexFunc(debuginfo.Architectures, func(a debuginfo.Architecture) bool {
		return a.Name == architecture
	})
	if known < 0 {
		return Result{}, crash.Errorf(crash.Unprocessable, "unknown_architecture",
			"mishap does not know the architecture %q.", crash.Shorten(architecture, 50))
	}
	if s.Builds == nil && !byBuild {
		return Result{}, ErrUnknownBuilds
	}
	r := Result{Modules: stack.findModules(report, byBuild), ByBuildIDs: byBuild}
	if !byBuild {
		if err := s.findBuilds(ctx, report, r.Modules); err != nil {
			return r, err
		}
	}
	stack.machine, stack.modules = debuginfo.Architectures[known].Machine, r.Modules
	stack.opened = make([]openModule, len(r.Modules))
	stack.named, stack.known = make([]gdbNamed, len(stack.places)), make([]bool, len(stack.places))
	if err := s.nameStack(ctx, &stack, report, debuginfo.Architectures[known]); err != nil {
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

// findModules returns the programs and libraries of the stack, and sets the modules of its places. If the sender knew
// builds, it leaves out places without one.
func (s *addressStack) findModules(report crash.Fields, byBuild bool) []Module {
	type key struct {
		path string
		id   debuginfo.BuildID
	}
	program := cmp.Or(report["InterpreterPath"], report["ExecutablePath"])
	var modules []Module
	number := map[key]int{}
	for i := range s.places {
		p := &s.places[i]
		p.module = -1
		if p.id == "" && (byBuild || !strings.HasPrefix(p.path, "/")) {
			continue
		}
		if p.path == filepath.Base(program) { // not all senders know folders
			p.path = program
		}
		at, ok := number[key{p.path, p.id}]
		if !ok {
			at = len(modules)
			number[key{p.path, p.id}] = at
			modules = append(modules, Module{Path: p.path, BuildID: p.id, program: p.path == program})
		}
		modules[at].Frames++
		p.module = at
	}
	return modules
}

// findBuilds sets the builds of modules. It returns ErrUnknownBuilds unless all are known.
func (s *Symboliser) findBuilds(ctx context.Context, report crash.Fields, modules []Module) error {
	var paths []string
	for _, m := range modules {
		paths = append(paths, m.Path)
	}
	builds, err := s.Builds.BuildsOf(ctx, report, paths)
	if err != nil {
		return err
	}
	unknown := len(modules) == 0
	for i := range modules {
		modules[i].BuildID = builds[modules[i].Path]
		unknown = unknown || modules[i].BuildID == ""
	}
	if unknown {
		return ErrUnknownBuilds
	}
	return nil
}

// nameStack names the places of a stack. It asks the debugger for those of which nothing is stored.
func (s *Symboliser) nameStack(ctx context.Context, stack *addressStack, report crash.Fields,
	architecture debuginfo.Architecture,
) error {
	places := stack.buildPlaces()
	if s.Names == nil || len(places) == 0 {
		return s.naming.name(ctx, s, stack, report, architecture)
	}
	all := make([]crash.BuildPlace, 0, len(places))
	for _, p := range places {
		all = append(all, p)
	}
	stored, err := s.Names.KnownNames(ctx, all)
	if err != nil {
		return err
	}
	for i, p := range places {
		stack.known[i] = json.Unmarshal(stored[p], &stack.named[i]) == nil
	}
	unknown := false
	for i := range stack.modules {
		unknown = unknown || stack.asks(i)
	}
	if !unknown {
		return nil
	}
	if err := s.naming.name(ctx, s, stack, report, architecture); err != nil {
		return err
	}
	learned := map[crash.BuildPlace][]byte{}
	for i, p := range places {
		open := stack.opened[stack.places[i].module]
		if stack.known[i] || !open.complete() || stack.named[i].Problem != "" {
			continue
		}
		if learned[p], err = json.Marshal(stack.named[i]); err != nil {
			return err
		}
	}
	return s.Names.LearnNames(ctx, learned)
}

var buildLine = regexp.MustCompile(`^#([0-9]{1,3}) ([0-9a-f]{8,128})\+0x([0-9a-f]{1,16})(\??) (.*)$`)

// parseBuilds returns the places of a report whose sender knew the builds of modules, or none. Frames without a
// build keep the name that the sender gave.
func parseBuilds(report crash.Fields) []place {
	stack := report["Stacktrace"]
	if report[crash.SymbolisedBy] != "" { // an earlier try replaced it
		stack = cmp.Or(report["SenderStacktrace"], stack)
	}
	var places []place
	for _, f := range grouping.Frames(crash.Fields{"Stacktrace": stack}) {
		if f.Number != len(places) || len(places) == maxFrames {
			break
		}
		p := place{path: f.Module}
		if f.Named() {
			p.function = f.Function
		}
		places = append(places, p)
	}
	some := false
	for line := range strings.Lines(report[grouping.BuildIDsField]) {
		m := buildLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		number, _ := strconv.Atoi(m[1]) // three digits
		id, err := debuginfo.ParseBuildID(m[2])
		offset, _ := strconv.ParseUint(m[3], 16, 64) // 16 digits
		if err != nil || number >= len(places) || offset > math.MaxInt64 {
			continue
		}
		p := &places[number]
		p.id, p.offset, p.scanned, p.path = id, offset, m[4] != "", m[5]
		some = true
	}
	if !some {
		return nil
	}
	return places
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
	machine elf.Machine
	opened  []openModule
	named   []gdbNamed // of each place
	known   []bool     // places that are named already
	engine  string

	lines     []string
	numbers   []int // of the modules of the lines; -1: none
	functions []string
}

// buildPlaces returns the places whose builds the sender gave, by their index.
func (s *addressStack) buildPlaces() map[int]crash.BuildPlace {
	places := map[int]crash.BuildPlace{}
	for i, p := range s.places {
		if p.id == "" {
			continue
		}
		b := crash.BuildPlace{Build: string(p.id), Offset: int64(p.offset), Callee: -1} //nolint:gosec // checked before
		if i > 0 && s.places[i-1].module == p.module {
			b.Callee = int64(s.places[i-1].offset) //nolint:gosec // checked before
		}
		places[i] = b
	}
	return places
}

// asks reports whether the debugger must name a place of a module.
func (s *addressStack) asks(module int) bool {
	for i, p := range s.places {
		if p.module == module && !s.known[i] {
			return true
		}
	}
	return false
}

// ask has gdb name the places whose address in a file is known.
func (s *addressStack) ask(ctx context.Context, n *gdbNamer) error {
	var asked []gdbPlace
	var number []int
	before := gdbPlace{}
	for i, p := range s.places {
		callee := before
		before = gdbPlace{}
		if p.module < 0 || s.opened[p.module].file == "" {
			continue
		}
		address, ok := s.opened[p.module].address(p)
		if !ok {
			continue
		}
		here := gdbPlace{File: s.opened[p.module].file, Address: address}
		before = here
		if callee.File == here.File {
			here.Callee, here.Called = callee.Address, true
		}
		if !s.known[i] {
			asked, number = append(asked, here), append(number, i)
		}
	}
	s.engine = n.Version
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
	interrupted := true // the place is not a return address
	for i, p := range s.places {
		here := s.named[i]
		if p.scanned && s.isNoReturn(i) {
			continue
		}
		frames := here.Before
		switch {
		case interrupted:
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
		if len(frames) == 0 || p.function != "" && len(frames) == 1 && frames[0].Function == "" {
			frames = []gdbFrame{{Function: p.function}}
		}
		last := frames[len(frames)-1]
		if last.Function == signalReturn || len(here.At) > 0 && here.At[0].Function == signalReturn {
			handled, inner = true, ""
			s.add(signalHandler, gdbFrame{}, -1)
			interrupted = true
			continue
		}
		interrupted = false
		for _, f := range frames {
			s.addFrame(f, p.module)
		}
		if isMain(last) && p.module >= 0 && s.modules[p.module].program {
			break
		}
		inner = last.Function
	}
	return strings.Join(s.lines, "\n")
}

// isNoReturn reports whether a place is known to be no return address: it is not in code, or not behind a call.
func (s *addressStack) isNoReturn(i int) bool {
	module := s.places[i].module
	if module < 0 {
		return false
	}
	looked := s.known[i] || s.opened[module].file != ""
	after, known := s.named[i].AfterCall(s.machine)
	return looked && len(s.named[i].At) == 0 || known && !after
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
	after, known := s.named[i].AfterCall(s.machine)
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
	start uint64              // address of the first byte of the module
	code  []debuginfo.Segment // the executable ones
}

// complete reports whether all files of the module were found.
func (m openModule) complete() bool {
	return m.Executable != nil && m.Executable.Found && m.hasDWARF() && !lacks(m.Shared)
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
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(searches)
	for i, m := range stack.modules {
		if !stack.asks(i) {
			continue
		}
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
		if open.Executable == nil {
			continue // not needed
		}
		stack.modules[i] = open.Module
		if open.complete() {
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
	open := openModule{Module: m}
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
	first := true
	for _, s := range file.Segments {
		if s.Type != elf.PT_LOAD {
			continue
		}
		if first {
			open.start, first = s.Addr&^(pageSize-1), false
		}
		if s.Flags&elf.PF_X != 0 {
			open.code = append(open.code, s)
		}
	}
	return open, nil
}

func (m Module) hasDWARF() bool {
	return m.Executable != nil && m.Executable.HasDWARF || m.Debuginfo != nil && m.Debuginfo.Found
}

// address converts the offset of a place to an address of the file. It returns false if it cannot tell: of several
// executable segments, it is unclear which was mapped.
func (m openModule) address(p place) (uint64, bool) {
	start := m.start
	if p.id == "" {
		if len(m.code) != 1 {
			return 0, false
		}
		start = m.code[0].Addr &^ (pageSize - 1)
	}
	address := start + p.offset
	return address, address >= p.offset && slices.ContainsFunc(m.code, func(s debuginfo.Segment) bool {
		return (p.id == "" || s.Addr <= address) && address < s.Addr+s.MemSize
	})
}

// signalReturn is the function by which signal handlers return. Debuggers show it as a signal handler.
const signalReturn = "__restore_rt"

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
