package ingest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
)

// pythonProgram dies of an exception that has a cause, with a secret in a local variable.
const pythonProgram = `
import sys, sentry_sdk
sentry_sdk.init(sys.argv[1], release="harbor@2.3-1", environment="fleet-a", server_name="buoy7")
def load(host):
    secret = "hunter" + "2"
    return int(host)
def main():
    try:
        load("north")
    except ValueError as e:
        raise KeyError("no harbor") from e
main()
`

// TestSentryPython sends an exception with Python's library, as Debian has it.
func TestSentryPython(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "python3-sentry-sdk")
	python := ""
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import sentry_sdk").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Fatal("Python's sentry_sdk is not installed: .ci/need sentry")
	}
	h := start(t, nil)
	p := h.addProject(t, "harbor", false)
	dsn := strings.Replace(h.URL, "://", "://"+p.Key()+"@", 1) + "/" + fmt.Sprint(p.Number)
	file := filepath.Join(t.TempDir(), "harbor")
	checktest.NoError(t, os.WriteFile(file, []byte(pythonProgram), 0o600))
	cmd := exec.CommandContext(t.Context(), python, file, dsn)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "KeyError: 'no harbor'") {
		t.Fatalf("got %v and %s, want the exception", err, out)
	}
	h.counted(t)
	b := dbtest.Must(h.store.Bucket(t.Context(), crash.BucketIDOf("harbor:KeyError:main:<module>")))(t)
	if b.Reports != 1 || b.Systems != 1 || b.Title != "harbor crashed with KeyError in main()" ||
		b.LastSeenVersion != "2.3-1" || b.ProblemType != "Crash" {
		t.Errorf("got %+v, want one crash in version 2.3-1", b)
	}
	if found := h.search(t, "hunter2"); len(found) > 0 {
		t.Errorf("a local variable is stored: %v", found)
	}
	checktest.NoError(t, h.doors.Flush(t.Context()))
	counts := dbtest.Must(h.doors.Activity(t.Context(), time.Now().AddDate(0, 0, -1)))(t)
	if len(counts) != 1 || counts[0].Outcome != "stored" || counts[0].Project != p.Number {
		t.Errorf("got counts %+v, want one report stored", counts)
	}
}
