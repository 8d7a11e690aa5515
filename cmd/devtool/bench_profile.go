package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// profiled has the server write down for ten seconds how it spends its time; what comes back waits for that and keeps it in a
// file.
func (s *site) profiled(ctx context.Context, file string) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- s.profile(ctx, file) }()
	return func() error { return <-done }
}

func (s *site) profile(ctx context.Context, file string) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.ops+"/debug/pprof/profile?seconds=10", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: got status %d", resp.StatusCode)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}
