package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// cpuMeter adds up the processor time of this process and of all processes of a PostgreSQL on this machine.
type cpuMeter struct{ postmaster string }

func newCPUMeter(ctx context.Context, pool *pgxpool.Pool) (cpuMeter, error) {
	var backend int
	if err := pool.QueryRow(ctx, "select pg_backend_pid()").Scan(&backend); err != nil {
		return cpuMeter{}, err
	}
	fields, ok := processFields(strconv.Itoa(backend))
	if !ok {
		return cpuMeter{}, fmt.Errorf("PostgreSQL's process %d is not on this machine", backend)
	}
	return cpuMeter{postmaster: fields[1]}, nil
}

// used is the time used so far. A backend that has ended is contained in its parent's figures.
func (m cpuMeter) used() time.Duration {
	var ticks int64
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		pid := filepath.Base(p)
		fields, ok := processFields(pid)
		if ok && (fields[1] == m.postmaster || pid == m.postmaster || pid == strconv.Itoa(os.Getpid())) {
			for _, i := range []int{11, 12, 13, 14} { // own and children's, user and system
				if pid == strconv.Itoa(os.Getpid()) && i > 12 {
					continue
				}
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				ticks += n
			}
		}
	}
	const perSecond = 100 // USER_HZ, the same on every machine that runs Linux
	return time.Duration(ticks) * time.Second / perSecond
}

// processFields are the fields of /proc/<pid>/stat that follow the name (proc(5)): state, parent, …
func processFields(pid string) ([]string, bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return nil, false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	return fields, len(fields) > 15
}
