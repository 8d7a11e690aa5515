package dbtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// Processes are a server and its PostgreSQL, both on this machine.
type Processes struct{ server, postmaster int }

// Used is the resource usage of processes so far.
type Used struct {
	Server, PostgreSQL float64 // processor time in seconds
	Memory             float64 // present resident memory of the server in MB
}

// FindProcesses returns the processes of a server, given its process id, and of the PostgreSQL at
// databaseURL.
func FindProcesses(ctx context.Context, server int, databaseURL string) (Processes, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return Processes{}, err
	}
	defer conn.Close(ctx) //nolint:errcheck // its result does not matter
	backend, err := procfs.NewProc(int(conn.PgConn().PID()))
	if err != nil {
		return Processes{}, fmt.Errorf("PostgreSQL does not run on this machine: %w", err)
	}
	stat, err := backend.Stat()
	return Processes{server, stat.PPID}, err
}

// Used returns the total usage of the processes. Usage of ended backends is included in the
// postmaster's.
func (p Processes) Used() (u Used) {
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	processes, _ := procfs.AllProcs()
	for _, process := range processes {
		stat, err := process.Stat()
		if err != nil { // it has just ended
			continue
		}
		seconds := (float64(stat.UTime+stat.STime) + float64(stat.CUTime+stat.CSTime)) / ticksPerSecond
		switch {
		case stat.PID == p.server:
			u.Server, u.Memory = seconds, float64(stat.ResidentMemory())/1e6
		case stat.PID == p.postmaster, stat.PPID == p.postmaster:
			u.PostgreSQL += seconds
		}
	}
	return u
}
