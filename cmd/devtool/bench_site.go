package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// site is a mishap under measurement, with a practice tracker and a bare handler beside it.
type site struct {
	url     string
	ingest  string       // the address that takes reports
	ops     string       // the address of the ops side
	bare    string       // a handler that does nothing
	anew    atomic.Int64 // counts what is asked for anew, so that no address comes twice
	tracker *stopwatch
	client  *http.Client
	demo    demo
	stops   []func() error
}

// stopwatch adds up how long a handler works.
type stopwatch struct{ nanoseconds atomic.Int64 }

func (s *stopwatch) time(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		h.ServeHTTP(w, r)
		s.nanoseconds.Add(int64(time.Since(began)))
	})
}

func (s *stopwatch) reset()                { s.nanoseconds.Store(0) }
func (s *stopwatch) worked() time.Duration { return time.Duration(s.nanoseconds.Load()) }

// startSite starts the real server on a database, connected to a practice tracker of its own.
func startSite(ctx context.Context, program, folder, databaseURL string) (_ *site, err error) {
	s := &site{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.client, err = newVisitor(); err != nil {
		return nil, err
	}
	bare, stopBare, err := listen(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }))
	if err != nil {
		return nil, err
	}
	s.bare = "http://" + bare
	s.stops = append(s.stops, func() error { stopBare(); return nil })

	s.tracker = &stopwatch{}
	practice, err := startPractice(ctx, "127.0.0.1:0", "", s.tracker.time)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { practice.close(); return nil })
	var address string
	for _, a := range []*string{&address, &s.ingest, &s.ops} {
		if *a, err = freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	s.url = "http://" + address
	s.demo = demo{folder: filepath.Join(folder, "site"), program: program, environ: []string{
		"MISHAP_DATABASE_URL=" + databaseURL, "MISHAP_LISTEN=" + address, "MISHAP_BASE_URL=" + s.url,
		"MISHAP_INGEST_LISTEN=" + s.ingest, "MISHAP_OPS_LISTEN=" + s.ops,
		"MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_API_RATE_PER_TOKEN=0", "MISHAP_READ_ARCHIVE=false",
	}}
	return s, s.serve(ctx, practice)
}

func (s *site) serve(ctx context.Context, practice *practice) error {
	if err := s.demo.remember(); err != nil {
		return err
	}
	if err := s.demo.configure(practice, practice.Token(consumerKey)); err != nil {
		return err
	}
	environ := s.demo.childEnvironment(practice)
	server, err := s.demo.start(ctx, environ)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, server.stop)
	if _, err := server.awaitReady(ctx); err != nil {
		return err
	}
	return s.demo.account(ctx, environ)
}

// stop stops everything, what was started last first.
func (s *site) stop() error {
	var err error
	for len(s.stops) > 0 {
		last := len(s.stops) - 1
		err = errors.Join(err, s.stops[last]())
		s.stops = s.stops[:last]
	}
	return err
}

// freeAddress is an address of this machine that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// newVisitor is a client that keeps cookies and looks at redirects.
func newVisitor() (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (s *site) get(ctx context.Context, address string) error {
	_, err := s.page(ctx, address)
	return err
}

func (s *site) page(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	status, body, err := s.send(req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: got status %d", address, status)
	}
	return body, err
}

func (s *site) send(req *http.Request) (status int, body string, err error) {
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}

var csrfField = regexp.MustCompile(`name="csrf_token" value="([^"]+)"`)

// signIn signs in with the demo account, by the form.
func (s *site) signIn(ctx context.Context) error {
	form, err := s.page(ctx, s.url+"/login")
	if err != nil {
		return err
	}
	token := csrfField.FindStringSubmatch(form)
	if token == nil {
		return errors.New("the sign-in form holds no token")
	}
	values := url.Values{"csrf_token": {token[1]}, "username": {demoAccount}, "password": {s.demo.memory.Password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/login", strings.NewReader(values.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Referer", s.url+"/login")
	status, _, err := s.send(req)
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("sign in: got status %d", status)
	}
	return err
}

// create presses Create for a problem, as a script does.
func (s *site) create(ctx context.Context, signature string) (status int, err error) {
	body, err := json.Marshal(map[string]string{"signature": url.PathEscape(signature)})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/1.0/create-bug-report/", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	base, err := url.Parse(s.url)
	if err != nil {
		return 0, err
	}
	for _, c := range s.client.Jar.Cookies(base) {
		if c.Name == "csrftoken" {
			req.Header.Set("X-CSRFToken", c.Value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Referer", s.url+"/")
	status, _, err = s.send(req)
	return status, err
}
