package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/db"
)

// Each figure is measured several times, in turns with what it is compared with, so that whatever else the machine does
// meanwhile falls on all alike.
const (
	benchRounds = 3
	benchLength = 4 * time.Second
	paceLength  = 6 * time.Second
	mostLoad    = 128 // connections
)

// variant is one of the handlers that are compared.
type variant int

const (
	inserts      variant = iota // one packed body per row and transaction
	transactions                // the handler as it is, the least stored in a transaction for each report
	shared                      // the same in shared transactions
	nothing                     // the handler as it is, with nothing stored
	everything                  // the handler as it is
	variants     = 5
)

// comparison runs the same loads against all variants.
type comparison struct {
	store     *db.Store
	pool      *pgxpool.Pool
	meter     cpuMeter
	sender    *sender
	addresses [variants]string
	out       io.Writer
}

// figure is what one variant did under one load.
type figure struct {
	reports      float64
	seconds, cpu float64 // until everything was counted; cpu of all processes of the server
	p50, p99     time.Duration
}

func (f figure) perSecond() float64 { return f.reports / f.seconds }
func (f figure) cpuMS() float64     { return f.cpu * 1000 / f.reports }

// measure adds one run to a figure. It ends when everything that was sent is counted, and what that took is in it.
func (c *comparison) measure(ctx context.Context, f *figure, v variant, o loadOrder) error {
	o.Address = c.addresses[v]
	used, began := c.meter.used(), time.Now()
	result, err := c.sender.load(o)
	if err != nil {
		return err
	}
	if v == everything {
		if err := c.store.WaitCounted(ctx); err != nil {
			return err
		}
	}
	f.reports += float64(result.Reports)
	f.seconds += time.Since(began).Seconds()
	f.cpu += (c.meter.used() - used).Seconds()
	f.p50, f.p99 = max(f.p50, result.P50), max(f.p99, result.P99) // of the rounds, the worst
	return nil
}

func (c *comparison) run(ctx context.Context) error {
	t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, strings.Join([]string{"connections", "stored and counted", "p50 ms", "p99 ms", "nothing stored",
		"the least, shared", "the least, each", "one-row inserts", "of nothing", "of shared", "of each", "of inserts"}, "\t")+"\t")
	var most float64
	for _, connections := range []int{1, 8, 32, mostLoad} {
		var figures [variants]figure
		for round := range benchRounds {
			for i := range variants {
				v := variant((i + 2*round) % variants) // what one leaves to be done in the background does not always fall on the same
				if err := c.measure(ctx, &figures[v], v, loadOrder{Connections: connections, Length: benchLength}); err != nil {
					return err
				}
			}
		}
		real := figures[everything]
		_, _ = fmt.Fprintf(t, "%d\t%.0f/s, CPU %.3f ms\t%.2f\t%.2f\t", connections, real.perSecond(), real.cpuMS(), ms(real.p50), ms(real.p99))
		besides := []figure{figures[nothing], figures[shared], figures[transactions], figures[inserts]}
		for _, f := range besides {
			_, _ = fmt.Fprintf(t, "%.0f/s, %.3f\t", f.perSecond(), f.cpuMS())
		}
		for _, f := range besides {
			_, _ = fmt.Fprintf(t, "%.2f\t", real.perSecond()/f.perSecond())
		}
		_, _ = fmt.Fprintln(t)
		most = real.perSecond()
		if _, err := c.pool.Exec(ctx, forgetLeast); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	// A new server makes each file of its write-ahead log first; one that has run for a while takes old ones, as after this.
	if _, err := c.pool.Exec(ctx, "checkpoint"); err != nil { // a role of one's own may not be allowed to
		_, _ = fmt.Fprintf(c.out, "\nThe server would make no checkpoint, so it may still be making its log's files: %v\n", err)
	}
	var half figure
	if err := c.measure(ctx, &half, everything, loadOrder{Connections: mostLoad, Length: paceLength, PerSecond: most / 2}); err != nil {
		return err
	}
	now, peak := residentMemory()
	_, err := fmt.Fprintf(c.out, "\nAt half of the last load, %.0f/s: p50 %.2f ms, p99 %.2f ms, CPU %.3f ms. Memory of the server: %d MB, at its peak %d MB.\n",
		half.perSecond(), ms(half.p50), ms(half.p99), half.cpuMS(), now>>20, peak>>20)
	return err
}

// residentMemory is that of this process in bytes, now and at its peak; 0 where that cannot be told.
func residentMemory() (now, peak int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kB int64
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "VmRSS":
			_, _ = fmt.Sscan(value, &kB)
			now = kB << 10
		case "VmHWM":
			_, _ = fmt.Sscan(value, &kB)
			peak = kB << 10
		}
	}
	return now, peak
}
