package sender

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
)

// fileFields are the fields of apport's files that leave the machine. They exclude stacks with the values
// of variables, memory maps, logs, the environment, the command line, and names of people and folders.
var fileFields = [...]string{
	"ApportVersion", "Architecture", "AssertionMessage", "Date", "DistroRelease", "DuplicateSignature", "ErrorMessage",
	"ExecutablePath", "ExecutableTimestamp", "Failure", "InterpreterPath", "MachineType", "OopsText", "Package",
	"PackageArchitecture", "ProblemType", "Signal", "SignalName", "SourcePackage", "StacktraceTop", "Traceback",
}

const (
	filesDone   = "files.json"
	crashFile   = ".crash"
	maxFileText = 64 << 20 // of one file
)

// files are the crash reports that apport writes into a folder.
type files struct {
	folder string
	state  string
	done   map[string]string // name to stamp of the files that need no more attention
}

// openFiles reads which files were done before.
func openFiles(folder, state string) (*files, error) {
	f := &files{folder: folder, state: state, done: map[string]string{}}
	content, err := os.ReadFile(filepath.Join(state, filesDone))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil && json.Unmarshal(content, &f.done) != nil {
		f.done = map[string]string{} // servers store a report once
	}
	return f, err
}

// pending returns the names of files that are not done, and their stamps. It forgets files that are gone.
func (f *files) pending() (map[string]string, error) {
	entries, err := os.ReadDir(f.folder)
	if err != nil {
		return nil, err
	}
	todo, known := map[string]string{}, map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), crashFile) {
			continue
		}
		stamp := info.ModTime().UTC().Format("2006-01-02T15:04:05.000000000")
		if f.done[e.Name()] == stamp {
			known[e.Name()] = stamp
		} else {
			todo[e.Name()] = stamp
		}
	}
	f.done = known
	return todo, nil
}

// finish stores that a file needs no more attention.
func (f *files) finish(name, stamp string) error {
	f.done[name] = stamp
	content, err := json.Marshal(f.done)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(f.state, filesDone), content)
}

// read returns what leaves the machine of a file.
func (f *files) read(name string) (r report, err error) {
	place := filepath.Join(f.folder, name)
	file, err := apport.OpenFile(place)
	if err != nil {
		return r, err
	}
	defer file.Close() //nolint:errcheck // only read
	r.uid = unknownUser
	if info, err := file.Stat(); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			r.uid = int64(owner.Uid)
		}
	}
	all, binary, err := apport.Read(file, apport.Limits{Text: maxFileText, Decompressed: maxReport})
	if err != nil {
		return r, err
	}
	if slices.ContainsFunc(binary, func(b apport.Binary) bool { return apport.IsCore(b.Name) }) {
		r.core = place
	}
	r.fields = crash.Fields{}
	for _, field := range fileFields {
		if value, ok := all[field]; ok {
			r.fields[field] = value
		}
	}
	// The memory map stays here, so the signature is made here.
	if s := grouping.AddressSignature(all); s != "" {
		r.fields["StacktraceAddressSignature"] = s
	}
	if r.fields["Package"] == "" {
		return r, errNoPackage
	}
	return r, nil
}

// watch returns a file that reads whenever a file of the folder is complete.
func (f *files) watch() (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	events := os.NewFile(uintptr(fd), "inotify")
	// apport creates files that nobody may read, and changes their mode when they are complete.
	if _, err := unix.InotifyAddWatch(fd, f.folder, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ATTRIB|
		unix.IN_ONLYDIR); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "watch", Path: f.folder, Err: err}, events.Close())
	}
	return events, nil
}

// eventsSize is room for several events with the longest names.
const eventsSize = 16 * (int(unsafe.Sizeof(unix.InotifyEvent{})) + unix.NAME_MAX + 1)
