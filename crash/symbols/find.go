package symbols

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// debugDir is the folder of debug files, by build-id, in the folder of a job.
const debugDir = "debug"

// searches is how many files are searched at once.
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

// findFiles finds the files of all modules and places them in the job's folder.
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
		if m.offset, err = offsetOf(filepath.Join(j.dir, name), m.Start); err != nil {
			return err
		}
	}
	return j.findSymbols(ctx, m, w)
}

// findSymbols finds the debug information of a module and what that shares with other files.
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

// offsetOf returns the difference between addresses in the process and in a verified file whose first
// byte is at start.
func offsetOf(name string, start uint64) (offset uint64, err error) {
	in, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("folder of a job: %w", err)
	}
	defer in.Close() //nolint:errcheck // only read
	f, err := debuginfo.OpenELF(in)
	if err != nil {
		return 0, fmt.Errorf("folder of a job: %w", err)
	}
	return start - f.FirstAddress(), nil
}

// findDebuginfo places debug information where gdb looks for it: .build-id/xx/rest.debug.
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

// debugFile returns the name in a job's folder of a file with debug information.
func debugFile(id debuginfo.BuildID) string {
	return filepath.Join(debugDir, ".build-id", string(id[:2]), string(id[2:])+".debug")
}
