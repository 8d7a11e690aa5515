//go:build !linux

package embedded

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Only Linux can end a child with its parent. On other systems, the next start finds and ends
// orphans.
func stopWithParent(*syscall.SysProcAttr) {}
func dieWithParent(*syscall.SysProcAttr)  {}

func onOwnThread(fn func() error) error { return fn() }

// processes returns the processes of this home's server, which have its name in their command
// lines.
func (h home) processes() ([]int, error) {
	out, err := exec.Command("ps", "-axo", "pid=,uid=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.Contains(line, h.name()) || !strings.Contains(f[2], "postgres") ||
			f[1] != strconv.Itoa(int(h.account.uid)) {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func exchange(_, _ string) error { return errors.ErrUnsupported }
