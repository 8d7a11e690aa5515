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

// machines post reports of their own until they are told to stop. Like whoopsie, each sends a
// report again until it is answered 200, wherever the server has come up meanwhile.
type machines struct {
	address      atomic.Pointer[string]
	stopped      atomic.Bool
	acknowledged atomic.Int64 // reports
	refused      atomic.Int64 // answers that say no for good
	sending      sync.WaitGroup
}

// start lets n of them send. Each stops after a report that is acknowledged, so that what is stored
// can be told exactly.
func (m *machines) start(t *testing.T, n int) {
	for machine := range n {
		m.sending.Go(func() {
			for i := 0; !m.stopped.Load(); i++ {
				report := crashtest.Native(crashtest.Process(1+machine*100_000+i), crashtest.Set("DuplicateSignature",
					fmt.Sprint("fault ", i%7)))
				again := time.NewTicker(10 * time.Millisecond)
				for !m.done(t, machine, report) && t.Context().Err() == nil {
					<-again.C // the server may be away for a while
				}
				again.Stop()
			}
		})
	}
}

// done posts a report once and says whether it is acknowledged.
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

// killRounds is how often the server and its PostgreSQL are killed; make hard asks for more.
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

// TestKillUnderLoad kills the server, its PostgreSQL or both with SIGKILL while reports come in,
// again and again; at the end every report is stored once and every count is what counting again
// gives.
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
		if round%4 != 2 { // in the third round the server lives on and starts PostgreSQL again
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
		t.Errorf("got %d answers that say no for good, want none", n)
	}
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d; it said\n%s", status, p.said)
	}
	status, stdout, stderr := runIn(context.WithoutCancel(t.Context()), nil, environ, "check", "--all", noConfig(t))
	if status != exitOK || !strings.Contains(stdout, fmt.Sprintf(" %d reports", m.acknowledged.Load())) ||
		!strings.Contains(stdout, " 0 differences") {
		t.Errorf("check after %d acknowledged reports: got status %d, %q and %q", m.acknowledged.Load(), status, stdout,
			stderr)
	}
}

// killPostgreSQL kills the private PostgreSQL, all its processes at once.
func killPostgreSQL(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "postgres", "*", "postmaster.pid"))
	if more, _ := filepath.Glob(filepath.Join(dir, "postgres", "postmaster.pid")); err == nil {
		files = append(files, more...)
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("got the files %v, %v; want the one of PostgreSQL", files, err)
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
