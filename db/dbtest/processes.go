package dbtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// Processes are a server and the PostgreSQL that it uses, both on this machine.
type Processes struct{ server, postmaster int }

// Used is what processes have used so far.
type Used struct {
	Server, PostgreSQL float64 // seconds of processor time
	Memory             float64 // MB that the server holds now
}

// FindProcesses returns the processes of the server with a process number and of the PostgreSQL at
// a URL.
func FindProcesses(ctx context.Context, server int, databaseURL string) (Processes, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return Processes{}, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	backend, err := procfs.NewProc(int(conn.PgConn().PID()))
	if err != nil {
		return Processes{}, fmt.Errorf("PostgreSQL does not run on this machine: %w", err)
	}
	stat, err := backend.Stat()
	return Processes{server, stat.PPID}, err
}

// Used adds up what the processes have used. A backend that has ended is part of the postmaster's
// share.
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
