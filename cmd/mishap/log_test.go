package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestOutageLog checks that messages about a database that is unavailable or full are logged once, and that
// others are kept.
func TestOutageLog(t *testing.T) {
	t.Parallel()
	const over = `"msg":"the database works again"`
	var said quietBuffer
	var o outage
	plain := newLog(&said, slog.LevelInfo)
	log, queue := o.logger(plain).With("part", "a"), o.queueLogger(plain)
	away := db.Classify(&pgconn.PgError{Code: "57P01", Message: "terminating connection"})
	for range 20 {
		log.Warn("request failed", "error", away)
		log.Warn("request failed", "error", away.(*crash.Error).Err) //nolint:errorlint,forcetypeassert // Classify made it
		queue.Error("Elector: Error attempting reelection", "err", "unexpected EOF")
		queue.Info("producer: Producer job counts", "num_completed_jobs", 15)
	}
	log.Warn("the tracker is away", "error",
		crash.Errorf(crash.Unavailable, "tracker_away", "The tracker does not answer."))
	if n := strings.Count(said.String(), "\n"); n != 2 || !strings.Contains(said.String(), "left out") ||
		!strings.Contains(said.String(), "tracker is away") {
		t.Errorf("got %d lines, want one about the database and one about the tracker:\n%s", n, said.String())
	}
	broken := func(context.Context) error { return errors.New("refused") }
	works := func(context.Context) error { return nil }
	soon, later := time.Now().Add(quietAway/2), time.Now().Add(2*quietAway)
	o.check(t.Context(), plain, soon, works)
	o.check(t.Context(), plain, later, broken)
	if strings.Contains(said.String(), over) {
		t.Errorf("the outage ended too early:\n%s", said.String())
	}
	o.check(t.Context(), plain, later, works)
	o.check(t.Context(), plain, later, works)
	if n := strings.Count(said.String(), over); n != 1 || !strings.Contains(said.String(), `"messages_left_out":59`) {
		t.Errorf("got %d lines about the end, want one:\n%s", n, said.String())
	}
	for range 3 {
		log.Error("cannot count", "error", db.Classify(&pgconn.PgError{Code: "53100", Message: "could not extend file"}))
	}
	o.check(t.Context(), plain, later, works)
	if n := strings.Count(said.String(), "make space"); n != 1 || strings.Count(said.String(), over) != 1 {
		t.Errorf("got %d lines about the full disk, want one without an end yet:\n%s", n, said.String())
	}
}

// TestMachineProblems checks that a problem of the machine is logged when it begins and ends.
func TestMachineProblems(t *testing.T) {
	t.Parallel()
	var said quietBuffer
	p := &machineProblems{log: newLog(&said, slog.LevelInfo), now: map[string]string{}}
	check := crash.HealthCheck{ID: "clock", Name: "Clock", Remedy: "correct the clock"}
	for _, problem := range []string{"", "11 s wrong", "12 s wrong", "", ""} {
		check.Problem = problem
		p.update(t.Context(), []crash.HealthCheck{check, {ID: "disk", Name: "Disk of data_dir"}})
	}
	if n := strings.Count(said.String(), "\n"); n != 2 || !strings.Contains(said.String(), "correct the clock") ||
		!strings.Contains(said.String(), "this is over: 12 s wrong") {
		t.Errorf("got %d lines, want the begin and the end:\n%s", n, said.String())
	}
}

// TestOutageIsLoggedOnce takes the database away from a server while visitors come, and gives it back.
// Load balancers ask meanwhile.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	p, addresses := serveProcess(t, []string{"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir()})
	if strings.Contains(p.said.String(), "Ctrl-C") {
		t.Errorf("start-up words without a terminal: %s", p.said)
	}
	before := len(p.said.String())
	dbtest.Refuse(t, database, true)
	for range 5 {
		statusAt(t, "http://"+addresses["listen"]+"/readyz")
		statusAt(t, "http://"+addresses["listen"]+"/")
	}
	p.until("further messages about the database are left out")
	dbtest.Refuse(t, database, false)
	p.until("the database works again")
	n := 0
	for line := range strings.Lines(p.said.String()[before:]) {
		if strings.Contains(line, "/readyz") || strings.Contains(line, "Producer job counts") {
			t.Errorf("got a line without an event: %s", line)
		}
		if !strings.Contains(line, `"msg":"request"`) {
			n++
		}
	}
	if n > 5 {
		t.Errorf("got %d lines about an outage, want at most 5:\n%s", n, p.said)
	}
}

// TestLogLevel checks that log_level decides which messages a server writes.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	environ, addresses := freeAddresses(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), built(t), "serve", noConfig(t))
	p := startCommand(t, append(environ, "MISHAP_DATABASE_URL="+dbtest.URL(t), "MISHAP_DATA_DIR="+t.TempDir(),
		"MISHAP_LOG_LEVEL=warn"), cmd)
	eventually(t, "the server is ready", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addresses["listen"])
		if err != nil {
			return false
		}
		_ = conn.Close()
		status, _, _ := statusAt(t, "http://"+addresses["listen"]+"/readyz")
		return status == http.StatusOK
	})
	if status := p.terminate(); status != exitOK || strings.Contains(p.said.String(), `"level":"INFO"`) {
		t.Errorf("got status %d and, with log_level = \"warn\":\n%s", status, p.said)
	}
}
