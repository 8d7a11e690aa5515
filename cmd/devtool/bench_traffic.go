package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"mishap/crash/crashtest"
)

// traffic is what clients send for a while.
type traffic struct {
	next        vegeta.Targeter // makes the next request
	connections int             // each sends again as soon as it has its answer, unless there is a rate
	perSecond   int             // at a fixed rate requests are sent when they are due, however slow the answers are
	requests    uint64          // with 0 the length decides
	length      time.Duration
}

// send sends the traffic and waits for all answers. An answer that is not a success is an error.
func (t traffic) send(ctx context.Context) (vegeta.Metrics, error) {
	options := []func(*vegeta.Attacker){vegeta.Connections(t.connections), vegeta.Workers(uint64(t.connections))}
	if t.perSecond == 0 {
		options = append(options, vegeta.MaxWorkers(uint64(t.connections)))
	}
	attacker := vegeta.NewAttacker(options...)
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	rate := vegeta.Rate{Freq: t.perSecond, Per: time.Second}
	pace := vegeta.PacerFunc(func(elapsed time.Duration, sent uint64) (time.Duration, bool) {
		if t.requests > 0 && sent >= t.requests {
			return 0, true
		}
		return rate.Pace(elapsed, sent)
	})
	var m vegeta.Metrics
	for r := range attacker.Attack(t.next, pacer{pace, rate}, t.length, "") {
		m.Add(r)
	}
	m.Close()
	if len(m.Errors) > 0 {
		return m, errors.New(m.Errors[0])
	}
	return m, ctx.Err()
}

// pacer stops after a number of requests.
type pacer struct {
	vegeta.PacerFunc
	rate vegeta.Rate
}

// Rate implements vegeta.Pacer.
func (p pacer) Rate(elapsed time.Duration) float64 { return p.rate.Rate(elapsed) }

// get asks for an address, compressed as browsers do. A fresh request differs from all others, so that no cached page answers it.
func get(address string, header http.Header, fresh bool) vegeta.Targeter {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept-Encoding", "gzip")
	mark := "?nth="
	if strings.Contains(address, "?") {
		mark = "&nth="
	}
	return func(t *vegeta.Target) error {
		t.Method, t.URL, t.Header = http.MethodGet, address, header
		if fresh {
			t.URL += mark + fmt.Sprint(requestNumber.Add(1))
		}
		return nil
	}
}

// requestNumber numbers fresh requests and reports.
var requestNumber atomic.Uint64

// sampleBodies makes reports of some 20 kB, of which few problems have most.
func sampleBodies() (bodies [][]byte) {
	volume := crashtest.Volume{Reports: poolReports, Problems: poolBuckets, Machines: poolMachines, Days: 4, Padding: 6000, Now: time.Now()}
	var maps strings.Builder
	for at := 0x7f0000000000; maps.Len() < 12_000; at += 0x5000 {
		fmt.Fprintf(&maps, "%x-%x r--p 00000000 08:02 %d                    /usr/lib/x86_64-linux-gnu/libreef-%d.so.%d\n",
			at, at+0x4000, 1_310_000+at%877, at/0x5000%41, at%5)
	}
	for r := range volume.All() {
		r.Fields["ProcMaps"], r.Fields["ProcStatus"] = maps.String(), "Name:\ttidewatch\n"+processMark+"\n"
		bodies = append(bodies, crashtest.Report(r.Fields).BSON())
	}
	return bodies
}

// posts sends the bodies in turn, each time as another crash: with another process number.
func posts(address string, bodies [][]byte) vegeta.Targeter {
	return func(t *vegeta.Target) error {
		n := requestNumber.Add(1)
		body := bytes.Clone(bodies[n%uint64(len(bodies))])
		at := bytes.Index(body, []byte(processMark)) + len(processMark) - 8
		copy(body[at:], fmt.Sprintf("%08x", uint32(n))) //nolint:gosec // only to differ
		t.Method, t.URL, t.Body = http.MethodPost, fmt.Sprintf("http://%s/%0128x", address, n%poolMachines), body
		return nil
	}
}

// result is what a subject did with the same traffic in several rounds.
type result struct {
	requests, seconds, cpu, bytes float64
	p50, p99                      []time.Duration // of each round
}

func (r result) perSecond() float64     { return r.requests / r.seconds }
func (r result) cpuMS() float64         { return r.cpu * 1000 / r.requests }
func (r result) median() time.Duration  { return middle(r.p50) }
func (r result) slowest() time.Duration { return middle(r.p99) }

// middle returns the median of a list.
func middle[T time.Duration | float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
