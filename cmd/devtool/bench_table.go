package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// kind is one kind of traffic. All subjects get the same.
type kind struct {
	name  string
	bound time.Duration // limit of the 99th percentile; 0: none
	traffic
}

// result holds the measurements of a subject with one kind of traffic.
type result struct {
	requests, seconds, server, postgres, memory, bytes float64
	p50, p99                                           []float64 // ms, of each round
}

func (r result) perSecond() float64  { return r.requests / r.seconds }
func (r result) serverMS() float64   { return r.server * 1000 / r.requests }
func (r result) postgresMS() float64 { return r.postgres * 1000 / r.requests }

// table sends each kind of traffic to all subjects alternately, so that other load on the machine
// affects all equally. It prints a line for each kind and subject, with ratios of the first subject
// to the others. It returns the first subject's last result.
func (b *bench) table(
	ctx context.Context, subjects []*subject, kindsOf func(*subject) ([]kind, error),
) (first result, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.NumCPU()/2, 1))) // leaves processors for the servers
	kinds := make([][]kind, len(subjects))
	for i, s := range subjects {
		if kinds[i], err = kindsOf(s); err != nil {
			return first, err
		}
	}
	fmt.Fprintf(b.out, "\n%10s %8s %8s %8s %10s %6s %6s   %s\n",
		"per second", "p50 ms", "p99 ms", "CPU ms", "PostgreSQL", "MB", "kB", "ratios: rate p50 p99 CPU")
	for k, kind := range kinds[0] {
		if !strings.Contains(kind.name, b.only) {
			continue
		}
		results := make([]result, len(subjects))
		for round := range b.rounds + 1 {
			if round == 1 {
				clear(results) // the first round only warms up
			}
			for turn := range subjects {
				i := (turn + round) % len(subjects)
				kinds[i][k].length = b.length
				if err := subjects[i].measure(ctx, &results[i], kinds[i][k].traffic); err != nil {
					return first, fmt.Errorf("%s %s: %w", kind.name, subjects[i].name, err)
				}
			}
		}
		first = results[0]
		for i, r := range results {
			p99, ratios, over := median(r.p99), "", ""
			if i > 0 {
				cpu := (first.serverMS() + first.postgresMS()) / (r.serverMS() + r.postgresMS())
				ratios = fmt.Sprintf("%.2f  %.2f  %.2f  %.2f", first.perSecond()/r.perSecond(),
					paired(first.p50, r.p50), paired(first.p99, r.p99), cpu)
			}
			if kind.bound > 0 && p99 > ms(kind.bound) {
				over = fmt.Sprintf("OVER %.0f ms: ", ms(kind.bound))
			}
			fmt.Fprintf(b.out, "%10.0f %8.2f %8.2f %8.2f %10.2f %6.0f %6.1f   %-24s %s%s  %s\n",
				r.perSecond(), median(r.p50), p99, r.serverMS(), r.postgresMS(), r.memory, r.bytes/1000, ratios, over, kind.name,
				subjects[i].name)
		}
	}
	return first, nil
}

// paired returns the median of the pairwise ratios of two lists, measured alternately.
func paired(a, against []float64) float64 {
	ratios := slices.Clone(a)
	for i := range ratios {
		ratios[i] /= against[i]
	}
	return median(ratios)
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
