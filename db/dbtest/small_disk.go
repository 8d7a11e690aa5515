package dbtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// unshared is an environment variable that marks a test which runs in a namespace of its own.
const unshared = "MISHAP_TEST_UNSHARED"

// SmallDisk mounts a file system of size bytes in memory and returns its directory. full fills it or
// makes space again. If mounting is not permitted, SmallDisk runs the test in a user namespace instead,
// with environ added to the environment, and returns false: the caller must then return.
func SmallDisk(t *testing.T, size int64, environ ...string) (folder string, full func(testing.TB, bool), ok bool) {
	t.Helper()
	folder = t.TempDir()
	err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=1777,size="+strconv.FormatInt(size, 10))
	if err != nil && os.Getenv(unshared) == "" {
		inNameSpace(t, environ)
		return "", nil, false
	}
	if err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	filler := filepath.Join(folder, "filler")
	return folder, func(t testing.TB, fill bool) {
		t.Helper()
		if !fill {
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			return
		}
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // the disk is supposed to be full
		for zeros := make([]byte, 1<<20); err == nil; {
			_, err = f.Write(zeros)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the small disk: %v", err)
		}
	}, true
}

// inNameSpace runs the test again in a namespace in which it can mount.
func inNameSpace(t *testing.T, environ []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", self,
		"-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), unshared+"=1"), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the test cannot mount a small disk, even in a user namespace: %v\n%s\n"+
			"Run it as root, or allow user namespaces.", err, out)
	}
}
