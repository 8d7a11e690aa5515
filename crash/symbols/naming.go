package symbols

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// openModule is a module with its files.
type openModule struct {
	Module
	machine elf.Machine
	code    *debuginfo.Segment // nil: none, or several, so that it is unclear which was mapped
}

// moduleKey identifies a build.
type moduleKey struct {
	id      debuginfo.BuildID
	machine elf.Machine
}

// name finds the files of the modules of a stack, and names its places.
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

// start starts gdb unless it runs.
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

// close ends gdb when it has named the addresses of a report.
func (n *naming) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stop()
}

// stop ends gdb.
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

// hasDWARF reports whether debug information of the module was found.
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
