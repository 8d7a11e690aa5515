package symbols

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

const jobPrefix = "mishap-job-"

// nobody is the user and group that gdb gets if mishap runs as root.
const nobody = 65534

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
	return errors.Join(os.Chown(path, 0, nobody), os.Chmod(path, mode))
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
		if m.offset, err = offsetOf(filepath.Join(j.dir, name), m.Start); err != nil {
			return err
		}
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
