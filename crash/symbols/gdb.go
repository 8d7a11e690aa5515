package symbols

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/sandbox"
)

// The limits of a stack. The outermost frames of a deep recursion cost minutes, so gdb is asked only
// for the innermost ones.
const (
	maxFrames       = 200 // of the thread that crashed
	maxThreadFrames = 64  // of another thread
	maxThreads      = 64
	maxOutput       = 16 << 20 // bytes
	maxInstructions = 16
)

// gdbRequest is a core with the files that belong to it.
type gdbRequest struct {
	Program string      // path of gdb
	Dir     string      // folder with the files, absolute; gdb can read nothing else of this kind
	Core    string      // name of the core in the folder
	Debug   string      // name of the folder with debug files, by build-id
	Modules []gdbModule // programs and libraries
	Threads int         // in the core
	Aborted bool        // the program aborted: look for a message

	NoDWARF bool // read no debug information, only tables of symbols

	Memory int64         // bytes of address space
	Time   time.Duration // in all
}

// gdbModule is a program or library that was loaded into the process.
type gdbModule struct {
	File   string // its name in the folder
	Offset uint64 // difference between addresses in the process and in the file
	Main   bool   // the program, not a library: it has the function at which stacks end
}

// gdbStack is what gdb found.
type gdbStack struct {
	Version      string // of gdb
	Threads      []gdbThread
	Registers    []gdbRegister    // of the thread that crashed
	Instructions []gdbInstruction // at the place of the crash
	AbortMessage string           // as gdb prints __abort_msg, with its address; empty: none
	GLibMessage  string           // the same of GLib's message

	Incomplete string // why something is missing; empty: nothing is
	Usage      sandbox.Usage
	Seconds    float64
}

// gdbThread is one thread. The one that crashed is number 1.
type gdbThread struct {
	Number int
	Target string // gdb's name: "LWP 4711"
	Frames []gdbFrame
}

// gdbFrame is one function call.
type gdbFrame struct {
	Address  uint64
	Function string   // "??" if unknown
	Args     []string // names of the arguments
	File     string   // source file
	Line     int
}

// gdbRegister is a general register.
type gdbRegister struct {
	Name, Value string // Value is hexadecimal
}

// gdbInstruction is one machine instruction.
type gdbInstruction struct {
	Address  uint64
	Function string // that contains it; may be empty
	Offset   string // in the function
	Text     string
}

// FindDebugger returns the path of a gdb that reads cores of an architecture (Debian's name). The error is
// Unavailable and says what to install.
func FindDebugger(architecture string) (string, error) {
	native := map[string][]string{"amd64": {"amd64", "i386"}, "arm64": {"arm64", "armhf"}}
	programs := []string{"gdb-multiarch"}
	if slices.Contains(native[runtime.GOARCH], architecture) {
		programs = []string{"gdb", "gdb-multiarch"}
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", crash.Errorf(crash.Unavailable, "no_debugger",
		"%s is not installed, so native crashes of %s get no function names; install it (apt-get install %s).",
		programs[0], architecture, programs[0])
}

// runGDB has gdb work out the stack. It returns a stack with a reason in Incomplete if gdb ended, or
// reached a limit, after it had found at least one frame. Errors: Unavailable (no_sandbox) if gdb
// cannot be confined; Unprocessable (debugger_failed) if it found nothing.
//
// If gdb refuses to show a stack because of the debug information, it runs once more without.
func runGDB(ctx context.Context, r gdbRequest) (gdbStack, error) {
	found, err := tryGDB(ctx, r)
	if known, ok := errors.AsType[*crash.Error](err); ok && !r.NoDWARF && strings.Contains(known.Message, badDWARF) {
		r.NoDWARF = true
		again, errAgain := tryGDB(ctx, r)
		if errAgain == nil {
			if again.Incomplete == "" {
				again.Incomplete = "gdb could not read the debug information, so inlined functions and lines are missing"
			}
			return again, nil
		}
	}
	return found, err
}

// badDWARF begins gdb's messages about debug information that it cannot read.
const badDWARF = "Dwarf Error"

func tryGDB(ctx context.Context, r gdbRequest) (gdbStack, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Time, fmt.Errorf("it took longer than %s", r.Time))
	defer cancel()
	start := time.Now()
	p, err := sandbox.Start(ctx, sandbox.Command{Program: r.Program, Args: gdbArguments(r), Dir: r.Dir, Memory: r.Memory,
		CPU: r.Time})
	if err != nil && ctx.Err() == nil {
		return gdbStack{}, err
	}
	if err != nil {
		return gdbStack{}, gdbFailed(context.Cause(ctx).Error())
	}
	s := newSession(p)
	var found gdbStack
	err = s.work(r, &found)
	found.Usage = p.Close()
	found.Seconds = time.Since(start).Seconds()
	if err != nil {
		why := err.Error()
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, context.Canceled) {
				return gdbStack{}, cause
			}
			why = cause.Error()
		}
		found.Incomplete = strings.ReplaceAll(why, r.Dir+"/", "")
	}
	if len(found.Threads) == 0 {
		return found, gdbFailed(found.Incomplete)
	}
	return found, nil
}

func gdbFailed(why string) error {
	return crash.Errorf(crash.Unprocessable, "debugger_failed", "gdb could not read the core: %s.",
		strings.TrimSuffix(why, "."))
}

// gdbArguments returns gdb's command line. The settings prevent gdb from running scripts out of files
// or folders, from downloading, and from using libraries of this machine.
func gdbArguments(r gdbRequest) []string {
	args := []string{"-nx", "-nh", "-q", "-i=mi3"}
	for _, set := range []string{
		"auto-load no", "debuginfod enabled off", "sysroot /nonexistent", "auto-solib-add off",
		"libthread-db-search-path /nonexistent", "confirm off", "width 0", "height 0", "history save off",
		// Cores do not hold the code; take it from the files. Without it gdb would show zeros.
		"trust-readonly-sections on",
		"debug-file-directory " + filepath.Join(r.Dir, r.Debug),
	} {
		args = append(args, "-iex", "set "+set)
	}
	if r.NoDWARF {
		args = append(args, "-readnever")
	}
	return args
}
