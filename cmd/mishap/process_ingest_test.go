package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mishap/crash/crashtest"
)

// machines post distinct reports until they are stopped. Like whoopsie, each repeats a report until
// it gets 200, even if the server moves to another address.
type machines struct {
	address      atomic.Pointer[string]
	stopped      atomic.Bool
	acknowledged atomic.Int64 // reports
	refused      atomic.Int64 // permanent refusals
	sending      sync.WaitGroup
}

// start starts n machines. Each stops only after an acknowledged report, so the stored reports are
// known exactly.
func (m *machines) start(t *testing.T, n int) {
	for machine := range n {
		m.sending.Go(func() {
			for i := 0; !m.stopped.Load(); i++ {
				report := crashtest.Native(crashtest.Process(1+machine*100_000+i), crashtest.Set("DuplicateSignature",
					fmt.Sprint("fault ", i%7)))
				again := time.NewTicker(10 * time.Millisecond)
				for !m.done(t, machine, report) && t.Context().Err() == nil {
					<-again.C // the server may be unavailable for a while
				}
				again.Stop()
			}
		})
	}
}

// done posts a report once and reports whether it was acknowledged.
func (m *machines) done(t *testing.T, machine int, report crashtest.Report) bool {
	switch postTo(t, *m.address.Load(), fmt.Sprint("machine", machine), report) {
	case http.StatusOK:
		m.acknowledged.Add(1)
		return true
	case http.StatusBadRequest, http.StatusNotFound:
		m.refused.Add(1)
	}
	return false
}

// killRounds returns how often to kill the server and its PostgreSQL. "make hard" sets a higher
// number.
func killRounds(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("MISHAP_TEST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("MISHAP_TEST_KILLS: %v", err)
		}
		return max(4, n/10)
	}
	return 4
}

// TestKillUnderLoad repeatedly kills the server, its PostgreSQL or both with SIGKILL while reports
// arrive. At the end every report is stored once, and every count equals a recount.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	environ := []string{"MISHAP_DATA_DIR=" + dir, "MISHAP_INGEST_RATE_PER_SYSTEM=0"}
	p, addresses := serveProcess(t, environ, "--only", "ingest")
	m := &machines{}
	at := func(address string) { m.address.Store(&address) }
	at(addresses["ingest_listen"])
	m.start(t, 8)
	for round := range killRounds(t) {
		want := m.acknowledged.Load() + 60
		eventually(t, "more reports are acknowledged", func() bool { return m.acknowledged.Load() >= want })
		if round%2 == 0 {
			killPostgreSQL(t, dir)
		}
		if round%4 != 2 { // in the third round the server survives and restarts PostgreSQL
			p.kill()
			p, addresses = serveProcess(t, environ, "--only", "ingest")
			at(addresses["ingest_listen"])
		}
	}
	want := m.acknowledged.Load() + 60
	eventually(t, "more reports are acknowledged", func() bool { return m.acknowledged.Load() >= want })
	m.stopped.Store(true)
	m.sending.Wait()
	if n := m.refused.Load(); n > 0 {
		t.Errorf("got %d permanent refusals, want none", n)
	}
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d; it printed\n%s", status, p.said)
	}
	status, stdout, stderr := runIn(context.WithoutCancel(t.Context()), nil, environ, "check", "--all", noConfig(t))
	if status != exitOK || !strings.Contains(stdout, fmt.Sprintf(" %d reports", m.acknowledged.Load())) ||
		!strings.Contains(stdout, " 0 differences") {
		t.Errorf("check after %d acknowledged reports: got status %d, %q and %q", m.acknowledged.Load(), status, stdout,
			stderr)
	}
}

// killPostgreSQL kills all processes of the private PostgreSQL at once.
func killPostgreSQL(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "postgres", "*", "postmaster.pid"))
	if more, _ := filepath.Glob(filepath.Join(dir, "postgres", "postmaster.pid")); err == nil {
		files = append(files, more...)
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("got the files %v, %v; want PostgreSQL's postmaster.pid", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill PostgreSQL %d: %v", pid, err)
		}
	}
}
