// Package symbols gives native crashes the names of their functions. It reads a core dump or the addresses
// of a stack, finds the programs, libraries and debug files by build-id, has gdb work out the stacks in a
// sandbox, and returns apport's fields. It stores nothing but files in folders; the packages above it
// decide which reports are symbolised and what becomes of the results.
package symbols

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/sandbox"
)

// Config is the configuration of a Symboliser.
type Config struct {
	Finder  *debuginfo.Finder
	Builds  Builds        // of modules whose build-id is in no core; nil: unknown
	Names   Names         // of places in builds; nil: none are stored
	WorkDir string        // folder for the files of jobs
	Core    int64         // the largest size of a core, in bytes, without empty pages
	Memory  int64         // of gdb, in bytes
	Time    time.Duration // of gdb
}

// Symboliser symbolises cores. Its methods may be called concurrently.
type Symboliser struct {
	Config

	mu       sync.Mutex
	confined bool // the sandbox was checked on this machine

	naming naming
}

// New returns a Symboliser. It removes the files that jobs of dead processes left behind.
func New(c Config) (*Symboliser, error) {
	dir, err := workDir(c.WorkDir)
	if err != nil {
		return nil, err
	}
	c.WorkDir = dir
	return &Symboliser{Config: c}, removeLeftovers(dir)
}

// Close ends the debugger, which stays for a minute after it has named addresses.
func (s *Symboliser) Close() error { return s.naming.close() }

// checkSandbox tries once what the sandbox forbids. Without a sandbox, gdb must not run.
func (s *Symboliser) checkSandbox(ctx context.Context, dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confined {
		return nil
	}
	err := sandbox.Check(ctx, dir)
	s.confined = err == nil
	return err
}

// Architectures returns the architectures of cores (Debian's names) that this machine can symbolise.
// The error is Unavailable if gdb is missing or cannot be confined.
func (s *Symboliser) Architectures(ctx context.Context) ([]string, error) {
	var all []string
	var first error
	for _, a := range debuginfo.Architectures {
		if _, err := FindDebugger(a.Name); err == nil {
			all = append(all, a.Name)
		} else if first == nil || a.Name == runtime.GOARCH {
			first = err
		}
	}
	if len(all) == 0 {
		return nil, first
	}
	dir, err := newFolder(s.WorkDir)
	if err != nil {
		return nil, err
	}
	return all, errors.Join(s.checkSandbox(ctx, dir), os.RemoveAll(dir))
}

// State says how far a crash is symbolised.
type State string

// The states.
const (
	Done    State = "done"    // all frames of StacktraceTop have names
	Partial State = "partial" // some have none
)

// Result is what became of a core.
type Result struct {
	State    State
	Fields   crash.Fields   // apport's fields of the stacks
	Grouping crash.Grouping // of the report with these fields
	Modules  []Module       // in the order of their addresses
	Threads  int            // in the core

	ByBuildIDs  bool   // there was no core, and the sender knew the builds
	Truncated   bool   // the end of the core is missing
	Incomplete  string // why a part of the stacks or of the names is missing; empty: unknown, or nothing is
	NoFileHelps bool   // no file could name the functions that have no name
	Engine      string // the debugger with its version
	Usage       sandbox.Usage
	Seconds     float64 // of the debugger
}

// Module is a program or library of the process, with the files that were found for it.
type Module struct {
	Path       string
	Start      uint64
	BuildID    debuginfo.BuildID // empty: unknown, so nothing could be found
	Executable *debuginfo.Result // nil: not looked for
	Debuginfo  *debuginfo.Result // nil: not looked for
	Shared     *debuginfo.Result // debug information shared with other files (dwz); nil: not needed
	Frames     int               // frames of the thread that crashed
	Unnamed    int               // of these, those that the signature needs and that have no name

	offset  uint64
	assumed bool // the build-id is that of the installed package, not from the core
	program bool
	deleted bool
	file    string // name of the executable in the job's folder
}

// Job is one core that is being symbolised. Close removes its files.
type Job struct {
	s    *Symboliser
	dir  string
	core *sparseFile
}

const coreName = "core"

// emptyFactor is how many times larger a core may be with its empty pages. The stacks of threads, 8
// MiB each, are nearly empty. They cost no space, but time.
const emptyFactor = 16

// MaxUnpacked returns the largest size of a core with its empty pages, in bytes.
func (s *Symboliser) MaxUnpacked() int64 {
	return min(s.Core, math.MaxInt64/emptyFactor-1) * emptyFactor
}

// NewJob creates a folder for one core.
func (s *Symboliser) NewJob() (*Job, error) {
	dir, err := newFolder(s.WorkDir)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, coreName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(readableForNobody(file.Name(), 0o640), hold(file))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("folder of a job: %w", err), os.RemoveAll(dir))
	}
	return &Job{s: s, dir: dir, core: &sparseFile{file: file, data: s.Core, size: s.MaxUnpacked()}}, nil
}

// Core returns where to write the core. Writing fails with a TooLarge error above the configured
// size.
func (j *Job) Core() io.Writer { return j.core }

// Close removes the files of the job.
func (j *Job) Close() error {
	return errors.Join(j.core.file.Close(), os.RemoveAll(j.dir))
}

// Run symbolises the core or minidump, which belongs to a report with these fields. Errors: Invalid if the core
// cannot be read; Unprocessable if there is no stack in it; Unavailable if gdb is missing or cannot
// be confined.
func (j *Job) Run(ctx context.Context, report crash.Fields) (Result, error) {
	size, err := j.core.finish()
	if err != nil {
		return Result{}, err
	}
	if j.isDump() {
		return j.runDump(ctx, report)
	}
	core, err := ReadCore(j.core.file, size)
	if err != nil {
		return Result{}, err
	}
	r := Result{Threads: len(core.Threads), Truncated: core.Truncated}
	program, err := FindDebugger(core.Architecture)
	if err != nil {
		return r, err
	}
	if err := j.s.checkSandbox(ctx, j.dir); err != nil {
		return r, err
	}
	assumed, err := j.assumeBuilds(ctx, core, report)
	if err != nil {
		return r, err
	}
	if r.Modules, err = j.findFiles(ctx, core, assumed, packagesOf(report)); err != nil {
		return r, err
	}
	request := gdbRequest{Program: program, Dir: j.dir, Threads: len(core.Threads), Aborted: core.Signal == 6,
		Memory: j.s.Memory, Time: j.s.Time}
	placed := map[uint64]bool{}
	for _, m := range r.Modules {
		if m.file != "" && !placed[m.Start] {
			placed[m.Start] = true
			request.Modules = append(request.Modules, gdbModule{File: m.file, Offset: m.offset, Main: m.program})
		}
	}
	stack, err := runGDB(ctx, request)
	r.Engine, r.Usage, r.Seconds, r.Incomplete = stack.Version, stack.Usage, stack.Seconds, stack.Incomplete
	if err != nil {
		return r, err
	}
	r.render(core, stack, report)
	return r, nil
}

func packagesOf(report crash.Fields) []string {
	var names []string
	for _, field := range []string{"Package", "SourcePackage"} {
		if name, _, _ := strings.Cut(strings.TrimSpace(report[field]), " "); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (r *Result) render(core *Core, stack gdbStack, report crash.Fields) {
	for i := range stack.Threads {
		stack.Threads[i].Frames = untilUnknown(core, stack.Threads[i].Frames)
	}
	moduleOf := func(number int) int {
		at := core.ModuleAt(stack.Threads[0].Frames[number].Address)
		return slices.IndexFunc(r.Modules, func(m Module) bool { return at != nil && m.Start == at.Start })
	}
	for number := range stack.Threads[0].Frames {
		if i := moduleOf(number); i >= 0 {
			r.Modules[i].Frames++
		}
	}
	r.Fields = crash.Fields{
		"Stacktrace":       renderFrames(core, stack.Threads[0].Frames),
		"ThreadStacktrace": renderThreads(core, stack.Threads),
		"Registers":        renderRegisters(stack.Registers),
		"Disassembly":      renderInstructions(stack.Instructions, stack.Threads[0].Frames[0].Address),
	}
	if message := assertion(stack); message != "" {
		r.Fields["AssertionMessage"] = message
	}
	r.group(report, crash.Fields{"Signal": strconv.Itoa(core.Signal), "ExecutablePath": core.Executable}, moduleOf)
}

// group computes StacktraceTop, the grouping and the state from the new fields, those of the report
// and what else is known. moduleOf returns the index of the module that a frame of Stacktrace is in, or
// -1.
func (r *Result) group(report, known crash.Fields, moduleOf func(number int) int) {
	all := crash.Fields{"ProblemType": "Crash", crash.SymbolisedBy: "mishap"}
	for _, fields := range []crash.Fields{known, report, r.Fields} {
		for name, value := range fields {
			if value != "" {
				all[name] = value
			}
		}
	}
	frames, top := grouping.Cause(all)
	r.Fields["StacktraceTop"], all["StacktraceTop"] = top, top
	r.Grouping = grouping.SignatureOf(all)
	r.State = Done
	outside := false
	for _, f := range frames {
		if f.Function == signalHandler || f.Named() {
			continue
		}
		r.State = Partial
		if i := moduleOf(f.Number); i >= 0 {
			r.Modules[i].Unnamed++
		} else {
			outside = true
		}
	}
	if len(frames) == 0 {
		r.State = Partial
	}
	if r.State == Done || slices.ContainsFunc(r.Modules, Module.couldName) {
		return
	}
	r.NoFileHelps = true
	switch {
	case r.Incomplete != "":
	case outside:
		r.Incomplete = "no file can help: the program was at an address that is in no file"
	case len(frames) == 0:
		r.Incomplete = "no file can help: the stack has only functions that end the program or belong to a runtime"
	default:
		r.Incomplete = "no file can help: some functions have no name in the files that were found"
	}
}

// couldName reports whether a file of the module that was not found could name a function: the
// program or library, without which the stack may be wrong, or its debug file.
func (m Module) couldName() bool {
	return m.Frames > 0 && (m.BuildID == "" || lacks(m.Executable)) || m.Unnamed > 0 && (lacks(m.Debuginfo) ||
		lacks(m.Shared))
}

func lacks(found *debuginfo.Result) bool { return found != nil && !found.Found }

// Describe returns the modules of a result with the searches for their files, for people and
// programs.
func (r Result) Describe() []crash.SymbolModule {
	modules := make([]crash.SymbolModule, len(r.Modules))
	for i, m := range r.Modules {
		modules[i] = crash.SymbolModule{Path: m.Path, BuildID: string(m.BuildID), Frames: m.Frames,
			Executable: describe(m.Executable), Debuginfo: describe(m.Debuginfo), Shared: describe(m.Shared)}
		for _, found := range []*debuginfo.Result{m.Executable, m.Debuginfo} {
			if found != nil && found.Alt != "" {
				modules[i].SharedID = string(found.Alt)
			}
		}
	}
	return modules
}

func describe(r *debuginfo.Result) *crash.SymbolSearch {
	if r == nil {
		return nil
	}
	return &r.SymbolSearch
}

const jobPrefix = "mishap-job-"

// workDir creates the folder of jobs. If mishap runs as root, gdb runs as nobody. If that user cannot
// reach the folder, workDir returns another one.
func workDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("folder of jobs: %w", err)
	}
	if os.Geteuid() != 0 || reachable(dir) {
		return dir, nil
	}
	return "/var/tmp", nil
}

func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		above := filepath.Dir(dir)
		if above == dir {
			return true
		}
		dir = above
	}
}

// newFolder creates the folder of a job, which only this user and the debugger can read.
func newFolder(dir string) (string, error) {
	folder, err := os.MkdirTemp(dir, jobPrefix)
	if err == nil {
		err = readableForNobody(folder, 0o750)
	}
	if err != nil {
		return "", fmt.Errorf("folder of a job: %w", err)
	}
	return folder, nil
}

// readableForNobody gives the group nobody access, if gdb is going to run as that user.
func readableForNobody(path string, mode fs.FileMode) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.Chown(path, 0, sandbox.Nobody), os.Chmod(path, mode))
}

// leftoverAge is the age at which a folder without a core is that of a process that died.
const leftoverAge = 24 * time.Hour

// hold locks the core of a job, so that others see that its process lives.
func hold(core *os.File) error {
	if err := syscall.Flock(int(core.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

func unheld(folder string) bool {
	core, err := os.Open(filepath.Join(folder, coreName))
	if err != nil {
		return false
	}
	defer core.Close() //nolint:errcheck // only read
	return hold(core) == nil
}

// removeLeftovers removes the folders of processes that died. They hold cores that are not
// encrypted.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("folder of jobs: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), jobPrefix) {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if folder := filepath.Join(dir, e.Name()); time.Since(info.ModTime()) >= leftoverAge || unheld(folder) {
			_ = os.RemoveAll(folder) // tried again the next time
		}
	}
	return nil
}

// sparseFile writes a core without the blocks that hold only zeros, which are most of some cores.
type sparseFile struct {
	file  *os.File
	data  int64 // bytes that may still be written, without blocks of zeros
	size  int64 // bytes that may still be written in all
	at    int64
	block []byte // the end of what was written, less than a block
}

const blockSize = 4096

var errLargeCore = crash.Errorf(crash.TooLarge, "core_too_large", "The core is larger than core_max_bytes permits.")

// Write implements io.Writer. It fails with a TooLarge error above the size limit.
func (f *sparseFile) Write(b []byte) (int, error) {
	if int64(len(b)) > f.size {
		return 0, errLargeCore
	}
	f.size -= int64(len(b))
	n := len(b)
	for len(f.block)+len(b) >= blockSize {
		part := b[:blockSize-len(f.block)]
		b = b[len(part):]
		if len(f.block) > 0 {
			part = append(f.block, part...)
		}
		if err := f.writeBlock(part); err != nil {
			return 0, err
		}
		f.block = f.block[:0]
	}
	f.block = append(f.block, b...)
	return n, nil
}

func (f *sparseFile) writeBlock(b []byte) error {
	at := f.at
	f.at += int64(len(b))
	if isZero(b) {
		return nil
	}
	if int64(len(b)) > f.data {
		return errLargeCore
	}
	f.data -= int64(len(b))
	if _, err := f.file.WriteAt(b, at); err != nil {
		return fmt.Errorf("write the core: %w", err)
	}
	return nil
}

var zeros [blockSize]byte

func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// finish writes the rest, sets the size of the file and returns it.
func (f *sparseFile) finish() (int64, error) {
	if err := f.writeBlock(f.block); err != nil {
		return 0, err
	}
	f.block = nil
	if err := f.file.Truncate(f.at); err != nil {
		return 0, fmt.Errorf("write the core: %w", err)
	}
	return f.at, nil
}

const debugDir = "debug"

const searches = 8

// assumeBuilds returns the build-ids of modules that the core does not hold, by path. A truncated core
// lacks the first pages of some modules, and one that a debugger has written lacks them all.
func (j *Job) assumeBuilds(ctx context.Context, core *Core, report crash.Fields) (map[string]debuginfo.BuildID,
	error) {
	var paths []string
	for _, m := range core.Modules {
		if m.BuildID == "" && !m.Deleted {
			paths = append(paths, m.Path)
		}
	}
	if len(paths) == 0 || j.s.Builds == nil {
		return nil, nil
	}
	return j.s.Builds.BuildsOf(ctx, report, paths)
}

func (j *Job) findFiles(ctx context.Context, core *Core, assumed map[string]debuginfo.BuildID,
	packages []string) ([]Module, error) {
	modules := make([]Module, len(core.Modules))
	first := map[debuginfo.BuildID]int{} // a library can be loaded twice
	same := make([]int, len(modules))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(searches)
	for i, m := range core.Modules {
		modules[i] = Module{Path: m.Path, Start: m.Start, BuildID: m.BuildID, offset: m.Offset, program: m.Program,
			deleted: m.Deleted}
		same[i] = i
		if m.BuildID == "" && !m.Deleted {
			modules[i].BuildID = assumed[m.Path]
			modules[i].assumed = modules[i].BuildID != ""
		}
		id := modules[i].BuildID
		if id == "" {
			continue
		}
		if before, ok := first[id]; ok {
			same[i] = before
			continue
		}
		first[id] = i
		w := debuginfo.Wanted{ID: id, Machine: core.Machine, Class: core.Class, Path: m.Path}
		if m.Program {
			w.Packages = packages
		}
		group.Go(func() error { return j.findModule(ctx, &modules[i], w, i) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, of := range same {
		if of != i {
			m, found := &modules[i], modules[of]
			m.Executable, m.Debuginfo, m.Shared, m.file = found.Executable, found.Debuginfo, found.Shared, found.file
			if m.assumed {
				m.offset = m.Start - (found.Start - found.offset)
			}
		}
	}
	return modules, nil
}

// findModule finds the executable of one module, its debug information and what that shares with
// other files. Without the executable, gdb cannot unwind the stack, so the others are of no use.
func (j *Job) findModule(ctx context.Context, m *Module, w debuginfo.Wanted, number int) error {
	w.Kind = debuginfo.Executable
	name := fmt.Sprintf("m%d", number)
	executable, err := j.s.Finder.Find(ctx, w, filepath.Join(j.dir, name))
	if err != nil {
		return err
	}
	m.Executable = &executable
	if !executable.Found {
		return nil
	}
	m.file = name
	if m.assumed {
		file, err := j.headers(name)
		if err != nil {
			return err
		}
		m.offset = m.Start - file.FirstAddress()
	}
	return j.findSymbols(ctx, m, w)
}

func (j *Job) findSymbols(ctx context.Context, m *Module, w debuginfo.Wanted) (err error) {
	alt := m.Executable.Alt
	if !m.Executable.HasDWARF {
		if m.Debuginfo, err = j.findDebuginfo(ctx, w); err != nil {
			return err
		}
		alt = m.Debuginfo.Alt
	}
	if alt != "" {
		w.ID = alt
		m.Shared, err = j.findDebuginfo(ctx, w)
	}
	return err
}

// headers reads the headers of a verified file in the job's folder.
func (j *Job) headers(name string) (*debuginfo.ELF, error) {
	in, err := os.Open(filepath.Join(j.dir, name))
	if err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	defer in.Close() //nolint:errcheck // only read
	f, err := debuginfo.OpenELF(in)
	if err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	return f, nil
}

func (j *Job) findDebuginfo(ctx context.Context, w debuginfo.Wanted) (*debuginfo.Result, error) {
	w.Kind = debuginfo.Debuginfo
	to := filepath.Join(j.dir, debugFile(w.ID))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	// Several modules may share one file, so each search writes under a name of its own.
	temp, err := os.MkdirTemp(j.dir, "search-")
	if err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	file := filepath.Join(temp, "debuginfo")
	found, err := j.s.Finder.Find(ctx, w, file)
	if err == nil && found.Found {
		err = os.Rename(file, to)
	}
	return &found, err
}

func debugFile(id debuginfo.BuildID) string {
	return filepath.Join(debugDir, ".build-id", string(id[:2]), string(id[2:])+".debug")
}
