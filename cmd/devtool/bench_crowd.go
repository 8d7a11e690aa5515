package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// visitors are how many ask at once.
const visitors = 8

// asking is how a page is asked for.
type asking struct {
	path     string
	signedIn bool // by somebody with an account
	anew     bool // each time under another address, so that nothing that is kept of the page helps
}

// crowded is what many who ask at once saw.
type crowded struct {
	took      timings
	perSecond float64
	bytes     int64 // of one answer, compressed
}

// crowd asks for a page over and over, from several connections.
func (s *site) crowd(ctx context.Context, a asking, rounds int) (crowded, error) {
	client := s.asker(a)
	defer client.CloseIdleConnections()
	if _, err := s.crowdRound(ctx, client, a, visitors, visitors*8); err != nil { // does not count
		return crowded{}, err
	}
	began := time.Now()
	found, err := s.crowdRound(ctx, client, a, visitors, rounds)
	found.perSecond = float64(len(found.took)) / time.Since(began).Seconds()
	return found, err
}

// alone asks for a page over and over, over one connection.
func (s *site) alone(ctx context.Context, a asking, rounds int) (timings, error) {
	client := s.asker(a)
	defer client.CloseIdleConnections()
	found, err := s.crowdRound(ctx, client, a, 1, rounds)
	return found.took, err
}

func (s *site) asker(a asking) *http.Client {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: visitors, DisableCompression: true}}
	if a.signedIn {
		client.Jar = s.client.Jar
	}
	return client
}

func (s *site) crowdRound(ctx context.Context, client *http.Client, a asking, connections, rounds int) (crowded, error) {
	var c crowded
	address := a.path
	if strings.HasPrefix(address, "/") {
		address = s.url + address
	}
	mark := "?nth="
	if strings.Contains(address, "?") {
		mark = "&nth="
	}
	parts := make([]crowded, connections)
	group, ctx := errgroup.WithContext(ctx)
	for i := range connections {
		group.Go(func() error {
			for range max(rounds/connections, 1) {
				this := address
				if a.anew {
					this += mark + strconv.FormatInt(s.anew.Add(1), 10)
				}
				began := time.Now()
				n, err := compressed(ctx, client, this, nil)
				if err != nil {
					return err
				}
				parts[i].took, parts[i].bytes = append(parts[i].took, time.Since(began)), n
			}
			return nil
		})
	}
	err := group.Wait()
	for _, part := range parts {
		c.took, c.bytes = append(c.took, part.took...), part.bytes
	}
	return c, err
}

// compressed fetches something as browsers do, without unpacking it, and returns how many bytes it has. What is read goes to
// to as well when that is not nil.
func compressed(ctx context.Context, client *http.Client, address string, to io.Writer) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: got status %d", address, resp.StatusCode)
	}
	if to == nil {
		to = io.Discard
	}
	return io.Copy(to, resp.Body)
}
