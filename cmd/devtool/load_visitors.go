package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// visitors are browsers and scripts that request one address, each from a loopback address of its own,
// so that the server's limits per address treat them as different people.
type visitors struct {
	address string
	number  int
	length  time.Duration
}

// loopback returns the address of a visitor.
func loopback(visitor int) net.IP { return net.IPv4(127, 1, byte(visitor>>8), byte(visitor)) } //nolint:gosec // 65,536

// request sends requests without a pause, and prints the answers by status. The server may refuse them.
func (v visitors) request(ctx context.Context, out io.Writer) error {
	var m vegeta.Metrics
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range v.number {
		group.Go(func() {
			attacker := vegeta.NewAttacker(vegeta.LocalAddr(net.IPAddr{IP: loopback(i)}), vegeta.Workers(1),
				vegeta.MaxWorkers(1))
			defer context.AfterFunc(ctx, func() { attacker.Stop() })()
			for r := range attacker.Attack(get(v.address, nil, false), vegeta.Rate{}, v.length, "") {
				mu.Lock()
				m.Add(r)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	m.Close()
	_, err := fmt.Fprintf(out, "%.0f/s, p99 %.2f ms, by status: %v\n", m.Rate, ms(m.Latencies.P99), m.StatusCodes)
	return err
}

// slowPart is how many bytes a slow visitor reads each second.
const slowPart = 512

// readSlowly requests the address once for each visitor, who reads the answer slowly. It prints the
// answers by status, and how many the server ended before their end, and when.
func (v visitors) readSlowly(ctx context.Context, out io.Writer) error {
	to, err := url.Parse(v.address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, v.length)
	defer cancel()
	var mu sync.Mutex
	statuses, cut := map[int]int{}, []time.Duration{}
	var group sync.WaitGroup
	for i := range v.number {
		group.Go(func() {
			status, after := readSlowly(ctx, to, loopback(i))
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
			if after > 0 {
				cut = append(cut, after)
			}
		})
	}
	group.Wait()
	fmt.Fprintf(out, "by status: %v, cut off: %d", statuses, len(cut))
	if len(cut) > 0 {
		fmt.Fprintf(out, ", after %.0f to %.0f s", slices.Min(cut).Seconds(), slices.Max(cut).Seconds())
	}
	_, err = fmt.Fprintln(out)
	return err
}

// readSlowly reads an answer slowly until ctx ends. It returns its status, and after which time the server
// closed the connection before the end of the answer, or 0.
func readSlowly(ctx context.Context, address *url.URL, from net.IP) (status int, cut time.Duration) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	conn, err := dialer.DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return 0, 0
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 * slowPart) // so that the kernel does not read much more
	}
	began := time.Now()
	request := "GET " + address.RequestURI() + " HTTP/1.1\r\nHost: " + address.Host + "\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, 0
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, slowPart), nil)
	if err != nil {
		return 0, 0
	}
	defer func() { _ = answer.Body.Close() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for part := make([]byte, slowPart); ; {
		switch _, err := io.ReadFull(answer.Body, part); {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return answer.StatusCode, 0
		case err != nil:
			return answer.StatusCode, time.Since(began)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
