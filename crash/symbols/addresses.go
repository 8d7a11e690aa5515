package symbols

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/symbols/addr"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/elffile"
)

// Builds knows which build of a program or library a machine had.
type Builds interface {
	// BuildsOf returns the build-ids of files of the machine that sent a report with these fields. It
	// leaves out a file unless it is certain which build it was.
	BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]elffile.BuildID, error)
}

// Namer names address signatures without cores. Its methods may be called concurrently.
type Namer struct {
	builds  Builds
	finder  *debuginfo.Finder
	workDir string
	modules *cache.Cache[struct{}]
}

// namerCache is the memory for files that were read, in bytes. Reading one takes up to a hundred
// thousand times longer than naming an address in it.
const namerCache = 128 << 20

// NewNamer returns a Namer, which places files in the folder while it opens them.
func NewNamer(builds Builds, finder *debuginfo.Finder, workDir string) (*Namer, error) {
	if err := os.MkdirAll(workDir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of jobs: %w", err)
	}
	return &Namer{builds, finder, workDir, cache.New[struct{}](namerCache)}, nil
}

// ErrUnknownBuilds is the error of address signatures with a program or library whose build is not
// known. The modules of the result say which.
var ErrUnknownBuilds = crash.Errorf(crash.Unprocessable, "unknown_builds",
	"It is not known which builds of the programs and libraries crashed.")

// place is one part of an address signature: an offset in a mapping of a file.
type place struct {
	path   string
	offset uint64
	module int // -1: no file, such as the kernel's own code
}

// Name names the functions of a report's address signature. It names none unless the exact builds of
// all files in it are known. It computes the fields and the grouping of the report, as [Job.Run]
// does with a core, except for what only a core holds. Errors: ErrUnknownBuilds; Unprocessable if the
// report has no address signature or an unknown architecture.
func (n *Namer) Name(ctx context.Context, report crash.Fields) (Result, error) {
	began := time.Now()
	places, signal, ok := parseAddresses(grouping.AddressSignature(report))
	if !ok {
		return Result{}, crash.Errorf(crash.Unprocessable, "no_addresses", "The report has no address signature.")
	}
	machine, class, ok := machineOf(builds.ArchitectureOf(report))
	if !ok {
		return Result{}, crash.Errorf(crash.Unprocessable, "unknown_architecture",
			"mishap does not know the architecture %q.", crash.Shorten(builds.ArchitectureOf(report), 50))
	}
	r := Result{Engine: "mishap"}
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
	builds, err := n.builds.BuildsOf(ctx, report, paths)
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
	opened := make([]*addr.Module, len(r.Modules))
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(searches)
	for i := range r.Modules {
		w := debuginfo.Wanted{ID: r.Modules[i].BuildID, Machine: machine, Class: class, Path: r.Modules[i].Path}
		if r.Modules[i].program {
			w.Packages = packagesOf(report)
		}
		group.Go(func() (err error) {
			opened[i], err = n.open(opening, &r.Modules[i], w)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	s := addressStack{places: places, modules: r.Modules, opened: opened}
	for i, m := range opened {
		if m != nil && len(m.Problems()) > 0 && r.Incomplete == "" {
			r.Incomplete = filepath.Base(r.Modules[i].Path) + ": " + strings.Join(m.Problems(), "; ")
		}
	}
	r.Fields = crash.Fields{"Stacktrace": s.render()}
	r.group(report, crash.Fields{"Signal": signal}, func(number int) int { return s.numbers[number] })
	if signal == "6" && report["AssertionMessage"] == "" && s.aborted() {
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
		path, hex, found := cutLast(parts[first-1], '+')
		offset, err := strconv.ParseUint(hex, 16, 64)
		if !found || err != nil || path == "" {
			break
		}
		places = append([]place{{path: path, offset: offset}}, places...)
		first--
	}
	if first < 2 || len(places) == 0 {
		return nil, "", false
	}
	if _, err := strconv.Atoi(parts[first-1]); err != nil {
		return nil, "", false
	}
	return places, parts[first-1], true
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// machineOf returns what ELF files of an architecture say.
func machineOf(architecture string) (elf.Machine, elf.Class, bool) {
	switch architecture {
	case "amd64":
		return elf.EM_X86_64, elf.ELFCLASS64, true
	case "i386":
		return elf.EM_386, elf.ELFCLASS32, true
	case "arm64":
		return elf.EM_AARCH64, elf.ELFCLASS64, true
	case "armhf":
		return elf.EM_ARM, elf.ELFCLASS32, true
	case "riscv64":
		return elf.EM_RISCV, elf.ELFCLASS64, true
	case "ppc64el":
		return elf.EM_PPC64, elf.ELFCLASS64, true
	case "s390x":
		return elf.EM_S390, elf.ELFCLASS64, true
	}
	return 0, 0, false
}

// openModule is a module in the cache, with the searches for its files.
type openModule struct {
	*addr.Module
	executable, debuginfo, shared *debuginfo.Result
}

// CachedBytes implements [cache.Sizer]. Units of debug information are read later; they need about as
// much again. The rest limits the number of open files.
func (m openModule) CachedBytes() int64 { return 2*m.Bytes() + 1<<20 }

// moduleKey identifies a module in the cache.
type moduleKey struct {
	id      elffile.BuildID
	machine elf.Machine
}

// open returns a module with its files, or nil if there are none. It caches complete modules only,
// because the missing files of others can arrive at any time.
func (n *Namer) open(ctx context.Context, m *Module, w debuginfo.Wanted) (*addr.Module, error) {
	key := moduleKey{w.ID, w.Machine}
	if found, ok := cache.Find[openModule](n.modules, struct{}{}, key); ok {
		m.Executable, m.Debuginfo, m.Shared = found.executable, found.debuginfo, found.shared
		return found.Module, nil
	}
	dir, err := os.MkdirTemp(n.workDir, jobPrefix)
	if err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next start removes it
	files := addr.Files{ID: w.ID}
	find := func(kind debuginfo.Kind, id elffile.BuildID) (*debuginfo.Result, *addr.Input, error) {
		one, to := w, filepath.Join(dir, string(kind)+string(id))
		one.Kind, one.ID = kind, id
		found, err := n.finder.Find(ctx, one, to)
		if err != nil || !found.Found {
			return &found, nil, err
		}
		in, err := openInput(to)
		return &found, in, err
	}
	if m.Executable, files.Executable, err = find(debuginfo.Executable, w.ID); err != nil {
		return nil, err
	}
	alt := m.Executable.Alt
	if !m.Executable.HasDWARF {
		if m.Debuginfo, files.Debuginfo, err = find(debuginfo.Debuginfo, w.ID); err != nil {
			return nil, err
		}
		alt = m.Debuginfo.Alt
	}
	if alt != "" {
		if m.Shared, files.Shared, err = find(debuginfo.Debuginfo, alt); err != nil {
			return nil, err
		}
	}
	if files.Executable == nil && files.Debuginfo == nil {
		return nil, nil
	}
	module, err := addr.Open(files, addr.DefaultLimits)
	if err != nil {
		return nil, nil // a damaged file names nothing; that is no reason to stop
	}
	if files.Executable != nil && len(module.Problems()) == 0 {
		cache.Put(n.modules, struct{}{}, key, openModule{module, m.Executable, m.Debuginfo, m.Shared})
	}
	return module, nil
}

// openInput opens a file that is removed while it is in use. The garbage collector closes it.
func openInput(name string) (*addr.Input, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("folder of a job: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &addr.Input{ReaderAt: file, Size: info.Size()}, nil
}
