package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash/crashtest"
)

// reportPool holds reports of realistic size and variety, ready to be sent again and again, each time as another crash.
type reportPool struct {
	bodies [][]byte
	place  []int // where in the body the number of the process stands
	sent   atomic.Uint64
}

const (
	poolReports   = 2000
	poolBuckets   = 500
	poolMachines  = 50_000
	poolBodyBytes = 20 << 10
	processMark   = "Pid:\t00000000"
)

// newReportPool makes reports of some 20 kB: few problems have most of the reports, versions and releases vary.
func newReportPool(now time.Time) *reportPool {
	r := rand.New(rand.NewPCG(20, 26)) //nolint:gosec // the same each time
	zipf := rand.NewZipf(r, 1.2, 4, poolBuckets-1)
	p := &reportPool{}
	for range poolReports {
		report := crashtest.Native(
			crashtest.At(now.AddDate(0, 0, -int(r.ExpFloat64()*2))), // most are sent on the day, some later
			crashtest.Version(fmt.Sprintf("1.%d.%d-%dubuntu1", r.IntN(3), r.IntN(4), 1+r.IntN(2))),
			crashtest.Set("DistroRelease", []string{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"}[r.IntN(3)]),
			crashtest.Set("Architecture", []string{"amd64", "amd64", "amd64", "arm64"}[r.IntN(4)]),
			crashtest.Set("ProcStatus", "Name:\ttidewatch\n"+processMark+"\n"),
		)
		report["StacktraceTop"] = fmt.Sprintf("tide_step_%d (row=0x0) at parse.c:88\n%s", zipf.Uint64(), report["StacktraceTop"])
		report["ProcMaps"] += maps(r, (poolBodyBytes-len(report.BSON()))*2/3)
		report["Dependencies"] = dependencies(r, poolBodyBytes-len(report.BSON()))
		body := report.BSON()
		p.bodies = append(p.bodies, body)
		p.place = append(p.place, bytes.Index(body, []byte(processMark))+len(processMark)-8)
	}
	return p
}

// maps are lines of /proc/PID/maps, as long as is asked for; they pack well, as real ones do.
func maps(r *rand.Rand, length int) string {
	var b strings.Builder
	for at := uint64(0x7f0000000000); b.Len() < length; at += 0x5000 {
		fmt.Fprintf(&b, "\n%x-%x r--p 00000000 08:02 %d                    /usr/lib/x86_64-linux-gnu/libreef-%d.so.%d", at, at+0x4000,
			1_310_000+r.IntN(900), r.IntN(40), r.IntN(4))
	}
	return b.String()
}

// dependencies is a list of packages and versions as long as is asked for, which packs less well.
func dependencies(r *rand.Rand, length int) string {
	var b strings.Builder
	for b.Len() < length {
		fmt.Fprintf(&b, "lib%c%c%c%d %d.%d.%d-%dubuntu%d.%d\n", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26), r.IntN(90),
			r.IntN(9), r.IntN(40), r.IntN(9), r.IntN(9), r.IntN(4), r.IntN(30))
	}
	return b.String()[:max(length, 0)]
}

// next returns a request for the next crash, made in buf.
func (p *reportPool) next(buf []byte) []byte {
	n := p.sent.Add(1)
	i := int(n % poolReports)
	buf = fmt.Appendf(buf[:0], "POST /%0128x HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n", n%poolMachines, len(p.bodies[i]))
	at := len(buf) + p.place[i]
	buf = append(buf, p.bodies[i]...)
	copy(buf[at:], fmt.Sprintf("%08x", uint32(n))) //nolint:gosec // only to differ
	return buf
}

// loadOrder is a load: reports over that many connections, each waiting for its answer, for as long as is said.
type loadOrder struct {
	Address     string
	Connections int
	Length      time.Duration
	PerSecond   float64 // reports over all connections; 0: as many as are taken
}

// loadResult is what a server did under load.
type loadResult struct {
	Reports  int
	Took     time.Duration
	P50, P99 time.Duration // from when a report was due to be sent until its answer was read
	Fault    string        `json:",omitempty"`
}

func (r loadResult) perSecond() float64 { return float64(r.Reports) / r.Took.Seconds() }

// load sends reports, each a crash of its own.
func (p *reportPool) load(ctx context.Context, o loadOrder) (loadResult, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Length)
	defer cancel()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		fault error
	)
	began := time.Now()
	for i := range o.Connections {
		wg.Go(func() {
			took, err := p.sender(ctx, o, i)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took...)
			if err != nil && fault == nil {
				fault = err
			}
		})
	}
	wg.Wait()
	result := loadResult{Reports: len(times), Took: time.Since(began)}
	if fault != nil || len(times) == 0 {
		return result, fault
	}
	slices.Sort(times)
	result.P50, result.P99 = times[len(times)/2], times[len(times)*99/100]
	return result, nil
}

// sender is one of the connections. With a rate, it waits until each report is due, and a server that is slow does not
// shift what is due then.
func (p *reportPool) sender(ctx context.Context, o loadOrder, number int) (took []time.Duration, err error) {
	conn, err := new(net.Dialer).DialContext(context.WithoutCancel(ctx), "tcp", o.Address)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing is left to say
	in := bufio.NewReader(conn)
	var buf []byte
	due := time.Now()
	var pace time.Duration
	if o.PerSecond > 0 {
		pace = time.Duration(float64(o.Connections) / o.PerSecond * float64(time.Second))
		due = due.Add(pace * time.Duration(number) / time.Duration(o.Connections))
	}
	for ctx.Err() == nil {
		if pace > 0 {
			pause(ctx, time.Until(due))
		} else {
			due = time.Now()
		}
		if buf = p.next(buf); ctx.Err() != nil {
			break
		}
		if err := exchange(conn, in, buf); err != nil {
			return took, err
		}
		took = append(took, time.Since(due))
		due = due.Add(pace)
	}
	return took, nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// exchange sends a request and reads its answer.
func exchange(conn net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %d %s", res.StatusCode, text)
	}
	return nil
}
