package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mishap/crash/crashtest"
)

// traffic describes requests to a server.
type traffic struct {
	name      string
	next      func(context.Context) (*http.Request, error) // returns the next request; safe for concurrent use
	clients   int                                          // each sends its next request after an answer
	perSecond int                                          // fixed rate, in addition to that of the clients
	apart     bool                                         // each client has a loopback address of its own
	slow      bool                                         // clients send one request and read the answer slowly
}

const (
	slowPart    = 512              // bytes per second that a slow client reads
	answerLimit = 30 * time.Second // how long an answer may take
)

// answers are the results of traffic.
type answers struct {
	mu       sync.Mutex
	times    []float64 // ms of each request; sorted
	bytes    float64
	statuses map[int]int // number of answers by status; 0: no answer
	failed   int
	err      error         // of the last request that failed
	cut      []float64     // seconds after which the server ended slow answers before their end
	took     time.Duration // from the first request to the last answer
}

// percentile returns how many ms p of 100 requests took at most.
func (a *answers) percentile(p int) float64 {
	if len(a.times) == 0 {
		return 0
	}
	return a.times[len(a.times)*p/100]
}

func (a *answers) perSecond() float64 { return float64(len(a.times)) / a.took.Seconds() }

// send sends requests for the given time, and waits for the answers.
func (t traffic) send(ctx context.Context, length time.Duration) *answers {
	limit := length
	if !t.slow {
		limit += answerLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a := &answers{statuses: map[int]int{}}
	began := time.Now()
	var group sync.WaitGroup
	for i := range t.clients {
		group.Go(func() {
			c := t.client(i)
			defer c.CloseIdleConnections()
			for again := true; again && ctx.Err() == nil && time.Since(began) < length; again = !t.slow {
				t.request(ctx, c, a)
			}
		})
	}
	paced := t.client(0)
	defer paced.CloseIdleConnections()
	for n := range int(length.Seconds() * float64(t.perSecond)) {
		due := began.Add(time.Duration(n) * time.Second / time.Duration(t.perSecond))
		select {
		case <-time.After(time.Until(due)):
			group.Go(func() { t.request(ctx, paced, a) })
		case <-ctx.Done():
		}
	}
	group.Wait()
	a.took = time.Since(began)
	slices.Sort(a.times)
	return a
}

// client returns the HTTP client with the given number.
func (t traffic) client(number int) *http.Client {
	var dialer net.Dialer
	if t.apart {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 1, byte(number>>8), byte(number))} //nolint:gosec // 65,536
	}
	transport := &http.Transport{MaxIdleConnsPerHost: mostConnections}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && t.slow {
			_ = tcp.SetReadBuffer(4 * slowPart) // so that the kernel does not read much more
		}
		return conn, err
	}
	if t.slow {
		transport.ReadBufferSize = slowPart
	}
	return &http.Client{Transport: transport}
}

// request sends one request, reads its answer, and adds it to a.
func (t traffic) request(ctx context.Context, c *http.Client, a *answers) {
	began, status, read := time.Now(), 0, int64(0)
	req, err := t.next(ctx)
	var resp *http.Response
	if err == nil {
		resp, err = c.Do(req)
	}
	if err == nil {
		status = resp.StatusCode
		read, err = t.read(ctx, resp.Body)
		_ = resp.Body.Close()
	}
	took := time.Since(began)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times, a.bytes = append(a.times, ms(took)), a.bytes+float64(read)
	a.statuses[status]++
	if t.slow && status > 0 && err != nil && ctx.Err() == nil {
		a.cut = append(a.cut, took.Seconds())
	}
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("got status %d", status)
	}
	if err != nil {
		a.failed, a.err = a.failed+1, err
	}
}

// read reads an answer to its end.
func (t traffic) read(ctx context.Context, body io.Reader) (n int64, err error) {
	if !t.slow {
		return io.Copy(io.Discard, body)
	}
	for err == nil {
		if _, err = io.CopyN(io.Discard, body, slowPart); err == nil {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return 0, err
}

// get requests an address, compressed as browsers do. If uncached is true, it makes the address too
// long for the page cache; the page is the same.
func get(address string, header http.Header, uncached bool) func(context.Context) (*http.Request, error) {
	if uncached {
		mark := "?"
		if strings.Contains(address, "?") {
			mark = "&"
		}
		address += mark + "uncached=" + strings.Repeat("-", 2048)
	}
	return func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err == nil {
			req.Header.Set("Accept-Encoding", "gzip")
			maps.Copy(req.Header, header)
		}
		return req, err
	}
}

// reportsTo posts reports to the given address.
func reportsTo(address string, load *crashtest.Load) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		path, body := load.Next()
		return http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	}
}
