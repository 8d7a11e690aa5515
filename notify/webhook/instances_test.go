package webhook_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/notify/webhook"
)

// TestTwoInstances checks that two instances send everything exactly once, and one request at a time to
// each endpoint.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	var receivers []*receiver
	var endpoints []crash.Endpoint
	for range 3 {
		r := newReceiver(t)
		var busy sync.Mutex
		r.answers(func(http.ResponseWriter, *http.Request) {
			if !busy.TryLock() {
				t.Error("an endpoint got two requests at the same time")
				return
			}
			defer busy.Unlock()
			for range 1000 {
				runtime.Gosched() // gives another request time to arrive
			}
		})
		receivers, endpoints = append(receivers, r), append(endpoints, f.add(crash.Endpoint{Address: crash.Secret(r.URL)}))
	}
	f.publish(25, endpoints...)
	var rounds sync.WaitGroup
	for _, one := range []*fixture{f, other} {
		rounds.Go(func() {
			for range 4 {
				if err := one.worker.Round(t.Context()); err != nil {
					t.Error(err)
				}
				one.worker.Wait()
			}
		})
	}
	rounds.Wait()
	f.round()
	for i, r := range receivers {
		ids := map[string]int{}
		for _, got := range r.got() {
			ids[got.Header.Get("webhook-id")]++
		}
		for id, n := range ids {
			if n != 1 {
				t.Errorf("receiver %d got %s %d times, want once", i, id, n)
			}
		}
		if len(ids) != 25 {
			t.Errorf("receiver %d got %d deliveries, want 25", i, len(ids))
		}
	}
}

// TestClaimSentMeanwhile stops an instance while it looks for an endpoint with a delivery, until another
// instance has sent the delivery. It checks that the first one then claims the delivery to another endpoint.
func TestClaimSentMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(newReceiver(t).URL)})
	second := f.add(crash.Endpoint{Address: crash.Secret(newReceiver(t).URL)})
	f.publish(1, to)
	other := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})

	// The first instance that looks at a delivery waits for lock -1, which the test holds.
	conn := dbtest.Connect(t, f.url)
	for _, sql := range []string{
		`create function first_waits() returns boolean language plpgsql volatile as $$ begin
			if pg_try_advisory_xact_lock(-2) then perform pg_advisory_xact_lock(-1); end if;
			return true;
		end $$`,
		"alter table deliveries rename to all_deliveries",
		"create view deliveries as select * from all_deliveries where first_waits()",
		"select pg_advisory_lock(-1)",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	type claimed struct {
		endpoint int64
		ok       bool
		err      error
	}
	done := make(chan claimed)
	go func() {
		claim, ok, err := f.store.ClaimDelivery(t.Context())
		done <- claimed{claim.To.ID, ok, err}
	}()
	for waits := false; !waits; {
		if err := conn.QueryRow(t.Context(), `select exists (select from pg_locks where not granted and
			locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()))`).Scan(
			&waits); err != nil {
			t.Fatal(err)
		}
	}
	other.round()
	if d := f.deliveries(to.ID)[0]; d.State != crash.DeliveryDelivered {
		t.Fatalf("got %+v, want it delivered by the other instance", d)
	}
	f.publish(1, second)
	if _, err := conn.Exec(t.Context(), "select pg_advisory_unlock(-1)"); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !got.ok || got.endpoint != second.ID || got.err != nil {
		t.Errorf("got %+v, want the delivery to %d claimed", got, second.ID)
	}
	f.publish(1, to)
	f.round()
	if d := f.deliveries(to.ID); len(d) != 2 || d[0].State != crash.DeliveryDelivered {
		t.Errorf("got %+v, want the next delivery delivered as usual", d)
	}
}

// TestDeadInstance checks that a delivery whose instance died is sent again with the same id, and that
// the attempt does not count.
func TestDeadInstance(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	f.publish(1, to)
	dead := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	claim, ok, err := dead.store.ClaimDelivery(t.Context())
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v", ok, err)
	}
	if _, err := dead.store.SavePayload(t.Context(), claim, dead.client.Payload(claim)); err != nil {
		t.Fatal(err)
	}
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Fatalf("got %d requests while the instance lives, want none", len(got))
	}
	dead.store.Close() // as after SIGKILL: the outcome is not stored
	var got []received
	for len(got) == 0 { // the server notices the end of the connection a little later
		f.round()
		got = r.got()
	}
	if len(got) != 1 || got[0].Header.Get("webhook-id") != string(claim.ID) {
		t.Errorf("got %+v, want the same delivery", got)
	}
	d := f.deliveries(to.ID)[0]
	a := f.attempts(d)
	if d.State != crash.DeliveryDelivered || d.Attempts != 0 || len(a) != 2 || a[1].Ended.IsZero() ||
		!strings.Contains(a[1].Problem, "stopped before it knew") {
		t.Errorf("got %+v with attempts %+v", d, a)
	}
}

// TestLostClaim checks that an instance that was taken for dead changes nothing any more.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	f.publish(1, to)
	slow := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	claim, ok, err := slow.store.ClaimDelivery(t.Context())
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v", ok, err)
	}
	f.clock.add(6 * time.Minute)
	f.round()
	if got := r.got(); len(got) != 1 {
		t.Fatalf("got %d requests after six minutes, want 1", len(got))
	}
	_, saveErr := slow.store.SavePayload(t.Context(), claim, "{}")
	finishErr := slow.store.FinishDelivery(t.Context(), claim, crash.DeliveryOutcome{State: crash.DeliveryFailed,
		Off: "x"})
	for _, err := range []error{saveErr, finishErr} {
		if crash.KindOf(err) != crash.Conflict {
			t.Errorf("got %v, want a conflict", err)
		}
	}
	if d := f.deliveries(to.ID)[0]; d.State != crash.DeliveryDelivered {
		t.Errorf("got %+v, want it delivered", d)
	}
}

// TestSlowEndpoint checks that an endpoint that does not answer delays neither others nor the round,
// and that the end of the worker interrupts it without losing the delivery.
func TestSlowEndpoint(t *testing.T) {
	t.Parallel()
	f, slow, quick := newFixture(t), newReceiver(t), newReceiver(t)
	arrived := make(chan bool, 10)
	slow.answers(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-r.Context().Done()
	})
	quickTold := make(chan bool, 10)
	quick.answers(func(http.ResponseWriter, *http.Request) { quickTold <- true })
	a, b := f.add(crash.Endpoint{Address: crash.Secret(slow.URL)}), f.add(crash.Endpoint{Address: crash.Secret(quick.URL)})
	f.publish(5, a)
	f.publish(5, b)
	if err := f.worker.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-arrived
	for range 5 {
		<-quickTold
	}
	if got := slow.got(); len(got) != 1 {
		t.Errorf("the slow endpoint got %d requests at the same time, want 1", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.worker.Close(ctx)
	if err := f.worker.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := f.deliveries(a.ID)[0]
	if attempts := f.attempts(d); d.State != crash.DeliveryWaiting || d.Attempts != 0 || len(attempts) != 1 ||
		!strings.Contains(attempts[0].Problem, "mishap was stopped") {
		t.Errorf("got %+v with attempts %+v, want it to wait", d, attempts)
	}
	slow.answers(nil)
	next := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	next.round()
	if got := slow.got(); len(got) != 5 || got[0].Header.Get("webhook-id") != string(d.ID) {
		t.Errorf("got %d requests, want all 5, the interrupted one first", len(got))
	}
}
