package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// subject is a server under measurement: a process of its own on a database, connected to a practice tracker.
type subject struct {
	url, ingest string
	signedIn    http.Header // of requests from a person's browser
	token       http.Header // of requests from an API client
	meter       meter
	counted     func(context.Context) error // waits until all reports are counted; nil: not waited for
	demo        demo
	environ     []string
	stops       []func() error
}

func startSubject(ctx context.Context, program, folder, databaseURL string) (_ *subject, err error) {
	s := &subject{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	practice, err := startPractice(ctx, "127.0.0.1:0", "", func(h http.Handler) http.Handler { return h })
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { practice.close(); return nil })
	var listen, ops string
	for _, a := range []*string{&listen, &s.ingest, &ops} {
		if *a, err = freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	s.url = "http://" + listen
	s.demo = demo{folder: folder, program: program, environ: append(os.Environ(),
		"MISHAP_DATABASE_URL="+databaseURL, "MISHAP_LISTEN="+listen, "MISHAP_BASE_URL="+s.url,
		"MISHAP_INGEST_LISTEN="+s.ingest, "MISHAP_OPS_LISTEN="+ops, "MISHAP_INGEST_RATE_PER_SYSTEM=0",
		"MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_API_RATE_PER_TOKEN=0", "MISHAP_READ_ARCHIVE=false")}
	if err := s.demo.remember(); err != nil {
		return nil, err
	}
	if err := s.demo.configure(practice, practice.Token(consumerKey)); err != nil {
		return nil, err
	}
	s.environ = s.demo.childEnvironment(practice)
	server, err := s.demo.start(ctx, s.environ)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, server.stop)
	if _, err := server.awaitReady(ctx); err != nil {
		return nil, err
	}
	if s.meter, err = newMeter(ctx, server.command.Process.Pid, databaseURL); err != nil {
		return nil, err
	}
	return s, s.enter(ctx)
}

// stop stops everything, what was started last first.
func (s *subject) stop() (err error) {
	for i := len(s.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, s.stops[i]())
	}
	s.stops = nil
	return err
}

// enter makes an account, signs in with it by the form and makes a token.
func (s *subject) enter(ctx context.Context) error {
	if err := s.demo.account(ctx, s.environ); err != nil {
		return err
	}
	create := exec.CommandContext(ctx, s.demo.program, "token", "create", demoAccount, "--name", "bench", "--config", s.demo.configFile())
	create.Env = s.environ
	token, err := create.Output()
	if err != nil {
		return fmt.Errorf("create a token: %w", err)
	}
	s.token = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}}
	client, err := newVisitor()
	if err != nil {
		return err
	}
	form, err := fetch(ctx, client, http.MethodGet, s.url+"/login", nil)
	if err != nil {
		return err
	}
	field := csrfField.FindSubmatch(form)
	if field == nil {
		return errors.New("the sign-in form holds no token")
	}
	values := url.Values{"csrf_token": {string(field[1])}, "username": {demoAccount}, "password": {s.demo.memory.Password}}
	if _, err := fetch(ctx, client, http.MethodPost, s.url+"/login", strings.NewReader(values.Encode())); err != nil {
		return err
	}
	base, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	var cookies []string
	for _, c := range client.Jar.Cookies(base) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	s.signedIn = http.Header{"Cookie": {strings.Join(cookies, "; ")}}
	return nil
}

// fetch makes one request, a form as its body, and returns the body of the answer.
func fetch(ctx context.Context, client *http.Client, method, address string, form io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, form)
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Referer", address)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: got status %d", address, resp.StatusCode)
	}
	return body, err
}

// measure adds one round of traffic to a result. Its processor time includes what the server does afterwards.
func (s *subject) measure(ctx context.Context, r *result, t traffic) error {
	used, began := s.meter.seconds(), time.Now()
	m, err := t.send(ctx)
	if err != nil {
		return err
	}
	if s.counted != nil {
		if err := s.counted(ctx); err != nil {
			return err
		}
	}
	r.seconds += time.Since(began).Seconds()
	s.settle(ctx)
	r.requests += float64(m.Requests)
	r.cpu += s.meter.seconds() - used
	r.bytes = m.BytesIn.Mean
	r.p50, r.p99 = append(r.p50, m.Latencies.P50), append(r.p99, m.Latencies.P99)
	return nil
}

// settle waits until the server and its PostgreSQL have been nearly idle for half a second, at most half a minute. It needs
// nothing from the server, so that it works with any version.
func (s *subject) settle(ctx context.Context) {
	used := s.meter.seconds()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 60 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := s.meter.seconds()
		if now-used <= 0.02 {
			return
		}
		used = now
	}
}
