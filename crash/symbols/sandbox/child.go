package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// nobody is the user and group that the program gets if mishap runs as root.
const nobody = 65534

// reportTo is the file descriptor of the pipe to the parent. It closes when the program is executed.
const reportTo = 3

// Child confines this process and executes the program, if [Start] started this process for that. It
// returns if it did not.
func Child() {
	if os.Args[0] != childName || len(os.Args) != 2 {
		return
	}
	report := os.NewFile(reportTo, "report")
	unix.CloseOnExec(reportTo)
	_, _ = report.WriteString(child(os.Args[1], report).Error()) // the parent reads it
	os.Exit(1)
}

// child returns only if it fails.
func child(spec string, report *os.File) error {
	var c Command
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	runtime.LockOSThread() // seccomp applies to this thread, which executes the program
	filter, err := filter()
	if err != nil {
		return err
	}
	program := c.Program
	if !c.Probe {
		if program, err = filepath.EvalSymlinks(c.Program); err != nil {
			return err
		}
	}
	if err := os.Chdir(c.Dir); err != nil {
		return err
	}
	if err := restrictFiles(c.Dir); err != nil {
		return err
	}
	if err := dropRoot(c.Dir); err != nil {
		return err
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	if err := limit(c); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := install(filter); err != nil {
		return err
	}
	if c.Probe {
		_, _ = report.WriteString(probe(c.Dir)) // the parent reads it
		os.Exit(0)
	}
	args := append([]string{filepath.Base(c.Program)}, c.Args...)
	return execute(program, args, uint64(c.Memory)) //nolint:gosec // the configuration allows no negative value
}

// execute limits the address space and executes a program. Go's runtime reserves more than the limit,
// so it would crash if it needed memory between the two: they are bare system calls.
func execute(program string, args []string, memory uint64) error {
	path, err := syscall.BytePtrFromString(program)
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(environment)
	if err != nil {
		return err
	}
	space := syscall.Rlimit{Cur: memory, Max: memory}
	_, _, errno := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&space)), 0, 0, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	}
	return fmt.Errorf("execute %s: %w", program, errno)
}

// restrictFiles permits reading the system's programs and libraries, and the folder; nothing else.
// The rights that a newer kernel can restrict are restricted there: network and signals, too.
func restrictFiles(dir string) error {
	if _, err := ll.LandlockGetABIVersion(); err != nil {
		return fmt.Errorf("the kernel has no Landlock (Linux 5.13 or newer has it; lsm=landlock,… switches it on): %w", err)
	}
	err := landlock.V7.BestEffort().Restrict(
		landlock.RODirs("/usr", "/lib", "/lib32", "/lib64", "/bin").IgnoreIfMissing(),
		landlock.ROFiles("/etc/ld.so.cache").IgnoreIfMissing(),
		landlock.RWFiles("/dev/null"),
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, dir),
	)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// dropRoot gives up the rights of root.
func dropRoot(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)} {
		if err != nil {
			return fmt.Errorf("give up the rights of root: %w", err)
		}
	}
	if err := unix.Access(dir, unix.R_OK|unix.X_OK); err != nil {
		return fmt.Errorf("the user nobody cannot read the folder %s: %w", dir, err)
	}
	return nil
}

func dieWithParent() error {
	parent := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("the parent has ended")
	}
	return nil
}

func limit(c Command) error {
	seconds := uint64(c.CPU.Seconds())
	for resource, value := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 256, unix.RLIMIT_CPU: seconds,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("resource limit %d: %w", resource, err)
		}
	}
	return nil
}
