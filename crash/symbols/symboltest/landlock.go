package symboltest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// childName is the name by which the program recognises that it is to run another one without
// Landlock.
const childName = "mishap-without-landlock"

// WithoutLandlock returns a command that runs a program as on a kernel without Landlock. TestMain
// must call [Child].
func WithoutLandlock(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = append([]string{childName, program}, args...)
	return cmd
}

// Child runs the program, if [WithoutLandlock] started this process for that. It returns if it did
// not.
func Child() {
	if os.Args[0] != childName {
		return
	}
	runtime.LockOSThread() // seccomp applies to this thread, which executes the program
	err := withoutLandlock()
	if err == nil {
		err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// withoutLandlock makes the kernel answer as one that does not know Landlock.
func withoutLandlock() error {
	const unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, // the number of the system call
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	all := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // four
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&all)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}
