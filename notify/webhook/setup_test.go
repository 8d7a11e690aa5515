package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/webhook"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// received is one request that a receiver got.
type received struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// receiver is a program that gets events. It answers 200 until a test says otherwise.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
	answer   http.HandlerFunc
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.requests = append(r.requests, received{req.Method, req.URL.EscapedPath(), req.Header.Clone(), string(body)})
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
	}
}

// answers sets what the receiver answers from now on.
func (r *receiver) answers(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = h
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// got returns the requests since the last call.
func (r *receiver) got() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests := r.requests
	r.requests = nil
	return requests
}

// fixture is a store with a worker.
type fixture struct {
	t      *testing.T
	clock  *clock
	url    string
	store  *events.Store
	worker *webhook.Worker
	client *webhook.Client
	events int
}

// loopback permits to send to this machine, as the configuration can.
var loopback = func() webhook.Networks {
	n, err := crash.ParseNetworks("127.0.0.0/8 ::1")
	if err != nil {
		panic(err)
	}
	return n
}()

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, dbtest.URL(t), newClock(), webhook.Config{Allow: loopback})
}

// newFixtureOn returns an instance on a database.
func newFixtureOn(t *testing.T, url string, c *clock, config webhook.Config) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: c, url: url,
		store: events.New(dbtest.OpenConfig(t, db.Config{URL: url, Now: c.Now}))}
	config.Now, config.BaseURL, config.Version = c.Now, "https://crashes.example.com", "1.0"
	f.client = webhook.NewClient(config)
	var err error
	if f.worker, err = webhook.NewWorker(f.store, f.client, dbtest.Log(t), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		f.worker.Close(ctx)
	})
	return f
}

// add adds an endpoint with the limit of 600 requests a minute.
func (f *fixture) add(e crash.Endpoint) crash.Endpoint {
	f.t.Helper()
	if e.Kind == "" {
		e.Kind = crash.EndpointWebhook
	}
	if e.Kind == crash.EndpointWebhook && e.Secret == "" {
		e.Secret = webhook.NewSecret()
	}
	if e.PerMinute == 0 {
		e.PerMinute = 600
	}
	if e.Name == "" {
		f.events++
		e.Name = fmt.Sprint("endpoint ", f.events)
	}
	if wrong := webhook.CheckSettings(&e, true); len(wrong) > 0 {
		f.t.Fatalf("settings: %v", wrong)
	}
	var err error
	if e.ID, err = f.store.SaveEndpoint(f.t.Context(), e, "ada"); err != nil {
		f.t.Fatal(err)
	}
	return e
}

// hook adds a webhook of a receiver.
func (f *fixture) hook(r *receiver) crash.Endpoint {
	f.t.Helper()
	return f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
}

// sends runs a round and returns the requests that the receiver got, of which there must be n.
func (f *fixture) sends(r *receiver, n int) []received {
	f.t.Helper()
	f.round()
	got := r.got()
	if len(got) != n {
		f.t.Fatalf("got %d requests, want %d", len(got), n)
	}
	return got
}

// publish publishes new events for endpoints.
func (f *fixture) publish(n int, endpoints ...crash.Endpoint) {
	f.t.Helper()
	var to crash.Recipients
	for _, e := range endpoints {
		to.Endpoints = append(to.Endpoints, e.ID)
	}
	for range n {
		f.events++
		err := f.store.InTx(f.t.Context(), func(tx pgx.Tx) error {
			_, err := f.store.Publish(f.t.Context(), tx, crash.Event{
				Edge: fmt.Sprint("new:", f.events), Kind: crash.EventNew, Title: fmt.Sprint("zsh crashed ", f.events),
				Package: "zsh", Source: "zsh", Release: "Ubuntu 26.04", Version: "5.9-1", Machines: 4, Text: "It is new.",
			}, to)
			return err
		})
		checktest.NoError(f.t, err)
	}
}

// round runs a round of the worker and waits for its requests.
func (f *fixture) round() {
	f.t.Helper()
	checktest.NoError(f.t, f.worker.Round(f.t.Context()))
	f.worker.Wait()
}

// endpoint returns the present state of an endpoint.
func (f *fixture) endpoint(id int64) crash.Endpoint {
	f.t.Helper()
	e, err := f.store.Endpoint(f.t.Context(), id)
	checktest.NoError(f.t, err)
	return e
}

// deliveries returns the deliveries of an endpoint, oldest first.
func (f *fixture) deliveries(id int64) []crash.Delivery {
	f.t.Helper()
	list, err := f.store.Deliveries(f.t.Context(), events.DeliveryFilter{Endpoint: id, Limit: 1000})
	checktest.NoError(f.t, err)
	slices.Reverse(list)
	return list
}

// attempts returns the attempts of a delivery, newest first.
func (f *fixture) attempts(d crash.Delivery) []crash.DeliveryAttempt {
	f.t.Helper()
	_, attempts, err := f.store.Delivery(f.t.Context(), d.Endpoint, d.ID)
	checktest.NoError(f.t, err)
	return attempts
}
