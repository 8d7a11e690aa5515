// Package symboltest makes crashing programs for tests, with their cores and debug files, and runs
// Debian's debuginfod on them.
package symboltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mishap/crash/checktest"
	"mishap/crash/symbols/sandbox"
)

//go:embed make.sh
var script []byte

//go:embed testdata/quay.cc testdata/quay.sh
var quay embed.FS

// built is the folder with all programs. It is made once for all packages of "make test", and else once
// per process.
var built struct {
	once sync.Once
	dir  string
	own  bool // of this process, which removes it
	err  error
}

// Main runs the tests of a package that symbolises: it makes the process usable as a sandbox, and
// removes the programs at the end.
func Main(m *testing.M) {
	sandbox.Child()
	status := m.Run()
	if built.own {
		_ = os.RemoveAll(built.dir) // a temporary folder
	}
	os.Exit(status)
}

// Programs returns the folder that make.sh describes.
func Programs(t testing.TB) string {
	t.Helper()
	checktest.Needs(t, "compilers, gdb and debuginfod")
	built.once.Do(func() {
		for _, tool := range []string{"gcc", "g++", "go", "objcopy", "dwz", "gdb", "debuginfod"} {
			if _, err := exec.LookPath(tool); err != nil {
				built.err = fmt.Errorf("%s is missing; on Debian and Ubuntu: "+
					"sudo apt-get install gcc g++ libc6-dev binutils dwz gdb debuginfod", tool)
				return
			}
		}
		if built.dir = os.Getenv(checktest.Programs); built.dir != "" {
			built.err = makeOnce(built.dir)
		} else if built.dir, built.err = Folder(); built.err == nil {
			built.own = true
			built.err = makePrograms(built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// makeOnce makes the programs in a folder, unless another process has. It waits for one that does.
func makeOnce(dir string) (err error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	if err := makePrograms(dir); err != nil {
		return err
	}
	return os.WriteFile(complete, nil, 0o600)
}

func makePrograms(dir string) error {
	file := filepath.Join(dir, "make.sh")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(context.Background(), "bash", file, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("make.sh: %w\n%s", err, out)
	}
	return nil
}

// Quay returns a folder with a program of 21 bugs that quay.sh has built in five ways, and its cores.
func Quay(t testing.TB) string {
	t.Helper()
	checktest.Needs(t, "compilers and gdb")
	for _, tool := range []string{"g++", "clang++", "ld.lld", "gdb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing; on Debian and Ubuntu: sudo apt-get install g++ clang lld gdb", tool)
		}
	}
	dir := TempDir(t)
	for _, name := range []string{"quay.cc", "quay.sh"} {
		b, err := quay.ReadFile("testdata/" + name)
		checktest.NoError(t, err)
		checktest.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	script := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "quay.sh"), dir)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("quay.sh: %v\n%s", err, out)
	}
	return dir
}

// Folder makes a temporary folder that every user can enter, because gdb runs as nobody if the tests
// run as root. The caller removes it.
func Folder() (string, error) {
	dir, err := os.MkdirTemp("", "mishap-symbols-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// TempDir is Folder for one test.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := Folder()
	checktest.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Core returns the core of a program.
func Core(t testing.TB, name string) []byte {
	t.Helper()
	return Read(t, filepath.Join(Programs(t), "cores", name+".core"))
}

// Read returns the content of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	checktest.NoError(t, err)
	return b
}

// BuildID returns the build-id of an original program.
func BuildID(t testing.TB, name string) string {
	t.Helper()
	f, err := elf.Open(filepath.Join(Programs(t), "original", name))
	checktest.NoError(t, err)
	defer f.Close()   //nolint:errcheck // only read
	const header = 16 // of the note
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil || len(note) <= header {
		t.Fatalf("%s has no build-id: %v", name, err)
	}
	return hex.EncodeToString(note[header:])
}

// frameAddress matches the address of a frame.
var frameAddress = regexp.MustCompile(`(?m)^#\d+ +0x(\w+) `)

// TinyAddresses returns the address signature of a stack of tiny, whose code is mapped at 0x401000.
func TinyAddresses(t testing.TB, stack string) string {
	t.Helper()
	signature, last := "/usr/bin/tiny:11", ""
	for _, m := range frameAddress.FindAllStringSubmatch(stack, -1) {
		address, err := strconv.ParseUint(m[1], 16, 64)
		checktest.NoError(t, err)
		if m[1] != last { // inlined functions have one address
			signature += fmt.Sprintf(":/usr/bin/tiny+%x", address-0x401000)
		}
		last = m[1]
	}
	return signature
}

// Crash writes an apport report of a program with this core, and returns the name of the file.
func Crash(t *testing.T, name string, core []byte) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "ProblemType: Crash\nArchitecture: amd64\nDate: %s\nDistroRelease: Debian 12\nPackage: tide 1.0\n"+
		"ExecutablePath: /usr/bin/%s\nSignal: 11\nCoreDump: base64\n", time.Now().Format(time.ANSIC), name)
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = w.Write(core)
	_ = w.Close()
	const header = 10
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), 1<<20)
		if len(rest) == packed.Len() {
			n = header
		}
		b.WriteString(" " + base64.StdEncoding.EncodeToString(rest[:n]) + "\n")
		rest = rest[n:]
	}
	file := filepath.Join(t.TempDir(), name+".crash")
	checktest.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// Debuginfod runs Debian's debuginfod with options and folders, waits until it has indexed these
// programs, and returns its address.
func Debuginfod(t *testing.T, programs []string, args ...string) string {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	checktest.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	checktest.NoError(t, free.Close())
	args = append([]string{"-p", strconv.Itoa(port), "-d", filepath.Join(t.TempDir(), "index")}, args...)
	cmd := exec.CommandContext(t.Context(), "debuginfod", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=") // or it would ask others
	checktest.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://127.0.0.1:" + strconv.Itoa(port)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, name := range programs {
		if _, err := os.Stat(filepath.Join(Programs(t), "original", name)); err != nil {
			continue // not built on this machine
		}
		known := address + "/buildid/" + BuildID(t, name) + "/debuginfo"
		for tries := 0; !serves(t, known); tries++ {
			if tries == 1200 {
				t.Fatalf("debuginfod %s has not indexed %s in two minutes:\n%s", strings.Join(args, " "), name, said.String())
			}
			<-tick.C
		}
	}
	return address
}

func serves(t *testing.T, address string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	checktest.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
