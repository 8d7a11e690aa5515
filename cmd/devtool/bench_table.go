package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// line is something to measure on each server.
type line struct {
	name     string
	bound    time.Duration // limit of the 99th percentile; 0: none
	half     bool          // at half the rate that the line before reached
	traffic  []traffic     // sent at the same time, with a row each
	visitors *visitors     // disturb the traffic; nil: none
}

// visitors request one address while something else is measured.
type visitors struct {
	address string
	number  int
	slow    bool
}

// result holds the measurements of one traffic with one server. Processor time is that of all traffic of
// the line.
type result struct {
	requests, together, seconds, server, postgres, memory, bytes float64

	p50, p99 []float64 // ms, of each round
	failed   int
	err      error  // of one of the failed requests
	visitors string // what they report
}

func (r result) perSecond() float64  { return r.requests / r.seconds }
func (r result) serverMS() float64   { return r.server * 1000 / r.together }
func (r result) postgresMS() float64 { return r.postgres * 1000 / r.together }

// table measures each line with all servers alternately, so that other load on the machine affects all
// equally. It prints a row for each traffic and server, with ratios of the first server to the others.
func (b *bench) table(ctx context.Context, servers []*subject) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.NumCPU()/2, 1))) // leaves processors for the servers
	lines := make([][]line, len(servers))
	for i, s := range servers {
		var err error
		if lines[i], err = b.lines(b, ctx, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\n%10s %8s %8s %8s %10s %6s %6s   %s\n",
		"per second", "p50 ms", "p99 ms", "CPU ms", "PostgreSQL", "MB", "kB", "ratios: rate p50 p99 CPU")
	reached := 0.0
	for n, l := range lines[0] {
		if !strings.Contains(l.name+" ", b.only) || l.half && reached == 0 {
			continue
		}
		if l.half {
			l.traffic[0].perSecond = int(reached / 2)
		}
		results := make([][]result, len(servers))
		for round := range b.rounds + 1 {
			for turn := range servers {
				i := (turn + round) % len(servers)
				if round <= 1 { // the first round only warms up
					results[i] = make([]result, len(l.traffic))
				}
				if err := b.measure(ctx, servers[i], lines[i][n], results[i]); err != nil {
					return fmt.Errorf("%s %s: %w", l.name, servers[i].name, err)
				}
			}
		}
		reached = results[0][0].perSecond()
		for t := range l.traffic {
			for i, s := range servers {
				name := strings.Join(strings.Fields(l.name+" "+l.traffic[t].name+" "+s.name), " ")
				b.printRow(results[i][t], results[0][t], l, name)
			}
		}
	}
	return nil
}

// printRow prints a result and, unless it is the first server's, ratios of that to it.
func (b *bench) printRow(r, first result, l line, name string) {
	p99, ratios, notes := median(r.p99), "", ""
	if &r.p99[0] != &first.p99[0] {
		cpu := (first.serverMS() + first.postgresMS()) / (r.serverMS() + r.postgresMS())
		ratios = fmt.Sprintf("%.2f  %.2f  %.2f  %.2f", first.perSecond()/r.perSecond(),
			paired(first.p50, r.p50), paired(first.p99, r.p99), cpu)
	}
	if l.bound > 0 && p99 > ms(l.bound) {
		notes = fmt.Sprintf("OVER %.0f ms: ", ms(l.bound))
	}
	if r.failed > 0 {
		notes += fmt.Sprintf("%d FAILED (%v): ", r.failed, r.err)
	}
	fmt.Fprintf(b.out, "%10.0f %8.2f %8.2f %8.2f %10.2f %6.0f %6.1f   %-24s %s%s  %s\n", r.perSecond(), median(r.p50), p99,
		r.serverMS(), r.postgresMS(), r.memory, r.bytes/r.requests/1000, ratios, notes, name, r.visitors)
}

// measure adds one round of a line to the results of a server. The processor time includes later background
// work of the server.
func (b *bench) measure(ctx context.Context, s *subject, l line, results []result) error {
	stop := func() string { return "" }
	if l.visitors != nil {
		var err error
		if stop, err = b.disturb(ctx, *l.visitors); err != nil {
			return err
		}
	}
	before, together := s.processes.Used(), 0.0
	all := make([]*answers, len(l.traffic))
	var group sync.WaitGroup
	for i, t := range l.traffic {
		group.Go(func() { all[i] = t.send(ctx, b.length) })
	}
	group.Wait()
	report := stop()
	after := s.settle(ctx)
	for _, a := range all {
		together += float64(len(a.times))
	}
	for i, a := range all {
		if a.failed == len(a.times) {
			return errors.Join(ctx.Err(), a.err, errors.New("no request succeeded"))
		}
		r := &results[i]
		r.requests, r.together = r.requests+float64(len(a.times)), r.together+together
		r.seconds, r.bytes, r.memory = r.seconds+a.took.Seconds(), r.bytes+a.bytes, max(r.memory, after.Memory)
		r.server, r.postgres = r.server+after.Server-before.Server, r.postgres+after.PostgreSQL-before.PostgreSQL
		r.p50, r.p99 = append(r.p50, a.percentile(50)), append(r.p99, a.percentile(99))
		r.failed, r.visitors = r.failed+a.failed, report
		if a.err != nil {
			r.err = a.err
		}
	}
	return ctx.Err()
}

// disturb starts visitors. stop waits for their end and returns what they report. They are a process of
// their own with a lower priority, because in reality they are on other machines.
func (b *bench) disturb(ctx context.Context, v visitors) (stop func() string, err error) {
	var out strings.Builder
	c := exec.CommandContext(ctx, "nice", os.Args[0], "load", "--get", v.address,
		"--connections", strconv.Itoa(v.number), "--slow="+strconv.FormatBool(v.slow),
		"--for", (b.length + time.Second).String())
	c.Stdout, c.Stderr = &out, b.err
	return func() string {
		_ = c.Wait() // it has printed its error
		return strings.TrimSpace(out.String())
	}, c.Start()
}

// paired returns the median of the pairwise ratios of two lists, measured alternately.
func paired(a, against []float64) float64 {
	ratios := slices.Clone(a)
	for i := range ratios {
		ratios[i] /= against[i]
	}
	return median(ratios)
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
