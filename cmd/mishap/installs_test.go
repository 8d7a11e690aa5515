package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash/checktest"
	"mishap/db/dbtest"
)

// TestInstallsCommand imports numbers of machines, replaces them, and refuses a wrong file as a whole.
func TestInstallsCommand(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	today := time.Now().UTC().Format(time.DateOnly)
	file := filepath.Join(t.TempDir(), "machines.csv")
	write := func(lines ...string) {
		t.Helper()
		checktest.NoError(t, os.WriteFile(file, []byte("day,release,machines\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	}
	stored := func() map[string]string {
		t.Helper()
		return dbtest.Lines(t, p.url, `select concat_ws(' ', day, release, source), machines::text from installs`)
	}
	write(today+",Ubuntu 24.04,1204311", today+",Arch,7")
	wantOutput(t, p.environ, []string{"installs", "import", file, "--source", "update server"},
		"Imported 2 numbers of 1 day, "+today+" to "+today+".")
	checktest.Equal(t, "imported", len(stored()), 2)
	write(today + ",Ubuntu 24.04,1300000")
	mustRun(t, p.environ, "installs", "import", file)
	if got := stored(); len(got) != 1 || got[today+" Ubuntu 24.04 machines.csv"] != "1300000" {
		t.Errorf("got %v, want only the last number of the day", got)
	}
	write(today+",Ubuntu 24.04,5", "tomorrow,Arch,1")
	wantRefusal(t, p.environ, `line 3: "tomorrow" is not a day`, "installs", "import", file)
	wantRefusal(t, p.environ, "no such file", "installs", "import", file+".gone")
	if got := stored(); len(got) != 1 || got[today+" Ubuntu 24.04 machines.csv"] != "1300000" {
		t.Errorf("got %v, want what was imported before the wrong file", got)
	}
	records := mustRun(t, p.environ, "audit")
	if n := strings.Count(records, "installs.import"); n != 2 {
		t.Errorf("got %d records of imports, want 2: %s", n, records)
	}
}
