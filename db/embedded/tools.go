package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mishap/crash"
)

// FindTool returns the path of a client program such as pg_dump for a server of this major version: of
// the same version or, if there is none, the oldest later one. It returns Unavailable, with what to
// install, if there is no such program.
func FindTool(ctx context.Context, name string, major int) (string, error) {
	dirs := append(candidates(ctx), filepath.SplitList(os.Getenv("PATH"))...)
	best, bestMajor, oldMajor := "", 0, 0
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		m := versionWord.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		found, err := strconv.Atoi(string(m[1]))
		switch {
		case err != nil:
		case found < major:
			oldMajor = max(oldMajor, found)
		case best == "" || found < bestMajor:
			best, bestMajor = path, found
		}
	}
	remedy := fmt.Sprintf("install the client programs of PostgreSQL %d or newer (Debian, Ubuntu: apt-get install "+
		"postgresql-client-%d)", major, major)
	switch {
	case best != "":
		return best, nil
	case oldMajor > 0:
		return "", crash.Errorf(crash.Unavailable, "old_tool", "The %s of this machine has version %d, and the server "+
			"needs version %d: %s.", name, oldMajor, major, remedy)
	}
	return "", crash.Errorf(crash.Unavailable, "no_tool", "The program %s was not found on this machine: %s.", name,
		remedy)
}

// Remove deletes a data directory with its private database, which must not run. The database may be in
// another directory, see openHome.
func Remove(dataDir string) error {
	elsewhere, err := os.ReadFile(filepath.Join(dataDir, "postgres.path"))
	if dir := strings.TrimSpace(string(elsewhere)); err == nil && filepath.Dir(dir) == sharedRoot {
		err = os.RemoveAll(dir)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dataDir))
}

// RunTool runs a client program, with additional environment variables, until it ends. The program
// and its children are killed if ctx ends. If this process is killed, the kernel kills the program. An
// error contains the program's last messages.
func RunTool(ctx context.Context, environ []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	dieWithParent(cmd.SysProcAttr)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := onOwnThread(cmd.Run); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := lastMessages(messages.Bytes())
		if strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, "No space left on device") {
			err = errors.Join(err, syscall.ENOSPC)
		}
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, text)
	}
	return out.Bytes(), nil
}
