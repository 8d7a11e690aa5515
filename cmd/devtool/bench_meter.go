package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// meter reads the processor time and the memory of a server and its PostgreSQL, both on this machine.
type meter struct{ server, postmaster int }

func newMeter(ctx context.Context, server int, databaseURL string) (meter, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return meter{}, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	backend, err := procfs.NewProc(int(conn.PgConn().PID()))
	if err != nil {
		return meter{}, fmt.Errorf("PostgreSQL does not run on this machine: %w", err)
	}
	stat, err := backend.Stat()
	return meter{server: server, postmaster: stat.PPID}, err
}

// seconds returns the processor time used so far. The postmaster's share includes backends that have ended.
func (m meter) seconds() float64 {
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	processes, _ := procfs.AllProcs()
	var ticks float64
	for _, p := range processes {
		s, err := p.Stat()
		if err == nil && (s.PPID == m.postmaster || s.PID == m.postmaster || s.PID == m.server) {
			ticks += float64(s.UTime) + float64(s.STime) + float64(s.CUTime) + float64(s.CSTime)
		}
	}
	return ticks / ticksPerSecond
}

// memory returns the resident memory of the server in bytes, now and at its peak.
func (m meter) memory() (now, peak uint64, err error) {
	p, err := procfs.NewProc(m.server)
	if err != nil {
		return 0, 0, err
	}
	status, err := p.NewStatus()
	return status.VmRSS, status.VmHWM, err
}
