package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/notify/webhook"
)

// signatureOf computes a signature as the specification describes it, without the library.
func signatureOf(t *testing.T, secret crash.Secret, r received) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(secret), "whsec_"))
	checktest.NoError(t, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + r.Body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// TestDeliver checks a whole request and what is stored about it.
func TestDeliver(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL + "/hook?key=s3cret")})
	f.publish(1, to)
	r.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("thank <you>")) })
	f.round()
	got := r.got()
	if len(got) != 1 || got[0].Method != http.MethodPost || got[0].Path != "/hook" {
		t.Fatalf("got %+v, want one request", got)
	}
	verifier, err := standardwebhooks.NewWebhook(string(to.Secret))
	checktest.NoError(t, err)
	if err := verifier.VerifyIgnoringTimestamp([]byte(got[0].Body), got[0].Header); err != nil {
		t.Error(err)
	}
	if err := verifier.VerifyIgnoringTimestamp([]byte(got[0].Body+" "), got[0].Header); err == nil {
		t.Error("a changed body passes")
	}
	if sent, want := got[0].Header.Get("webhook-signature"), signatureOf(t, to.Secret, got[0]); sent != want {
		t.Errorf("got signature %s, want %s", sent, want)
	}
	if sent, want := got[0].Header.Get("webhook-timestamp"), strconv.FormatInt(f.clock.Now().Unix(), 10); sent != want {
		t.Errorf("got time stamp %s, want %s", sent, want)
	}
	var body struct {
		Type      string
		Timestamp time.Time
		Data      struct{ Title, Text, Package, Release, Version, URL string }
	}
	checktest.NoError(t, json.Unmarshal([]byte(got[0].Body), &body))
	if body.Type != "problem.new" || !body.Timestamp.Equal(f.clock.Now()) || body.Data.Package != "zsh" ||
		body.Data.Text != "It is new." || body.Data.URL != "https://crashes.example.com/package/zsh" {
		t.Errorf("got %s", got[0].Body)
	}
	d := f.deliveries(to.ID)[0]
	if d.State != crash.DeliveryDelivered || string(d.ID) != got[0].Header.Get("webhook-id") || d.Payload != got[0].Body {
		t.Errorf("got delivery %+v", d)
	}
	if a := f.attempts(d); len(a) != 1 || a[0].Status != 200 || a[0].Answer != "thank <you>" || a[0].Problem != "" {
		t.Errorf("got attempts %+v", a)
	}
	if e := f.endpoint(to.ID); e.LastSuccess.IsZero() || e.SuccessStatus != 200 || e.Waiting != 0 {
		t.Errorf("got endpoint %+v", e)
	}
	if e, err := f.store.EndpointWithSecrets(t.Context(), to.ID); err != nil || e.Address != to.Address ||
		e.Secret != to.Secret {
		t.Errorf("the secrets differ: %v", err)
	}
	f.sends(r, 0)
}

// TestSchedule checks that a delivery is tried ten times with the same id and body, and that the
// endpoint is then switched off and its owner told.
func TestSchedule(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	people := people.New(f.store.Store)
	var owner, other crash.User
	for name, user := range map[string]*crash.User{"grace": &owner, "linus": &other} {
		var err error
		if *user, err = people.Add(t.Context(), "", name, crash.RoleAdmin, "correct horse battery"); err != nil {
			t.Fatal(err)
		}
	}
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL), Owner: owner.ID})
	f.publish(1, to)
	r.answers(status(http.StatusInternalServerError))
	var all []received
	for _, delay := range webhook.Schedule {
		if delay > 0 {
			f.clock.add(delay - time.Second)
			f.sends(r, 0)
			f.clock.add(time.Second)
		}
		all = append(all, f.sends(r, 1)...)
	}
	for _, one := range all {
		if one.Header.Get("webhook-id") != all[0].Header.Get("webhook-id") || one.Body != all[0].Body {
			t.Errorf("got %v, want the id and body of the first attempt, %v", one, all[0])
		}
	}
	e := f.endpoint(to.ID)
	if e.Disabled.IsZero() || !strings.Contains(e.DisabledWhy, "All 10 attempts") || e.FailureStatus != 500 ||
		e.Failures != 10 {
		t.Errorf("got endpoint %+v, want it switched off", e)
	}
	d := f.deliveries(to.ID)[0]
	if d.State != crash.DeliveryFailed || len(f.attempts(d)) != 10 {
		t.Errorf("got delivery %+v, want it failed", d)
	}
	checkTold(t, f, owner.ID)

	// A new event is not delivered to it, and nothing is sent any more.
	f.publish(1, to)
	f.clock.add(100 * time.Hour)
	f.round()
	if got := r.got(); len(got) != 0 || len(f.deliveries(to.ID)) != 1 {
		t.Errorf("got %d requests after it was switched off, want none", len(got))
	}
	if err := f.store.SendAgain(t.Context(), to.ID, d.ID, "ada"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("send again to an endpoint that is off: got %v, want a conflict", err)
	}

	// A person switches it on and sends the delivery again, with the same id.
	r.answers(nil)
	checktest.NoError(t, f.store.SwitchEndpoint(t.Context(), to.ID, true, "ada"))
	f.sends(r, 0)
	checktest.NoError(t, f.store.SendAgain(t.Context(), to.ID, d.ID, "ada"))
	f.round()
	if got := r.got(); len(got) != 1 || got[0].Header.Get("webhook-id") != string(d.ID) || got[0].Body != all[0].Body {
		t.Errorf("got %+v, want the delivery again", got)
	}
	if d := f.deliveries(to.ID)[0]; d.State != crash.DeliveryDelivered || d.Resent != 1 {
		t.Errorf("got %+v", d)
	}
}

// checkTold checks that exactly one person has a notice about an endpoint that was switched off.
func checkTold(t *testing.T, f *fixture, want ...int64) {
	t.Helper()
	rows, err := f.store.Pool.Query(t.Context(), `select n.user_id from notices as n join events as e on e.id = n.event_id
		where e.kind = 'endpoint off' order by n.user_id`)
	checktest.NoError(t, err)
	var got []int64
	for rows.Next() {
		var id int64
		checktest.NoError(t, rows.Scan(&id))
		got = append(got, id)
	}
	slices.Sort(want)
	if rows.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("got notices for %v, %v, want %v", got, rows.Err(), want)
	}
}

// TestGone checks that 410 switches an endpoint off at once, and that all administrators are told if it
// has no owner.
func TestGone(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	people := people.New(f.store.Store)
	var admins []int64
	for name, role := range map[string]crash.Role{"grace": crash.RoleAdmin, "linus": crash.RoleAdmin,
		"ken": crash.RoleTriager} {
		user, err := people.Add(t.Context(), "", name, role, "correct horse battery")
		checktest.NoError(t, err)
		if role == crash.RoleAdmin {
			admins = append(admins, user.ID)
		}
	}
	to := f.hook(r)
	f.publish(2, to)
	r.answers(status(http.StatusGone))
	f.sends(r, 1)
	if e := f.endpoint(to.ID); e.Disabled.IsZero() || !strings.Contains(e.DisabledWhy, "410") || e.Waiting != 1 {
		t.Errorf("got %+v, want it switched off", e)
	}
	checkTold(t, f, admins...)
	r.answers(nil)
	checktest.NoError(t, f.store.SwitchEndpoint(t.Context(), to.ID, true, "ada"))
	f.sends(r, 1)
}

// TestRetryAfter checks that an endpoint is left alone as long as it asks, for all its deliveries, but
// no longer than a day.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header, body string
		want         time.Duration
	}{
		"seconds":  {"7200", "", 2 * time.Hour},
		"date":     {"Sun, 22 Nov 2026 13:30:00 GMT", "", 90 * time.Minute},
		"too long": {"99999999", "", 24 * time.Hour},
		"matrix":   {"", `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":600000}`, 10 * time.Minute},
		"nothing":  {"", "", 30 * time.Second},
		"past":     {"-5", "", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, r := newFixture(t), newReceiver(t)
			to := f.hook(r)
			f.publish(3, to)
			r.answers(func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(tt.body))
			})
			f.sends(r, 1)
			f.clock.add(tt.want - time.Second)
			f.sends(r, 0)
			r.answers(nil)
			f.clock.add(time.Second)
			f.sends(r, 3)
		})
	}
}

// TestPauseAfterFailures checks that a backlog does not flood an endpoint that fails.
func TestPauseAfterFailures(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.hook(r)
	f.publish(30, to)
	r.answers(status(http.StatusInternalServerError))
	for range 20 {
		f.round()
		f.clock.add(webhook.MaxPause)
	}
	if got := r.got(); len(got) != 20 {
		t.Errorf("got %d requests in 20 pauses, want 20", len(got))
	}
	r.answers(nil)
	f.round()
	if got := r.got(); len(got) == 0 {
		t.Error("got no requests after it works again")
	}
	if e := f.endpoint(to.ID); e.Failures != 0 {
		t.Errorf("got %d failures after a success, want 0", e.Failures)
	}
}

// TestLimit checks that an endpoint gets no more requests per minute than its limit, and then one
// summary of the rest.
func TestLimit(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL), PerMinute: 3})
	f.publish(40, to)
	f.sends(r, 3)
	f.clock.add(59 * time.Second)
	f.sends(r, 0)
	f.publish(1, to)
	f.clock.add(time.Second)
	got := f.sends(r, 1)
	var body struct {
		Type string
		Data struct {
			Title, Text string
			Events      []struct{ Type, Title, URL string }
		}
	}
	checktest.NoError(t, json.Unmarshal([]byte(got[0].Body), &body))
	if body.Type != "summary" || body.Data.Title != "38 more events" || !strings.Contains(body.Data.Text, "38 × new") ||
		len(body.Data.Events) != 20 || body.Data.Events[0].Type != "problem.new" || len(got[0].Body) > 20_000 {
		t.Errorf("got %s", got[0].Body)
	}
	states, err := f.store.DeliveryStates(t.Context(), to.ID)
	if err != nil || states[crash.DeliverySummarised] != 38 || states[crash.DeliveryDelivered] != 4 {
		t.Errorf("got %v, %v", states, err)
	}
	f.publish(1, to)
	f.round()
	if got := r.got(); len(got) != 1 || !strings.Contains(got[0].Body, "problem.new") {
		t.Errorf("got %+v, want a single event again", got)
	}
}

// TestStop checks that nothing leaves while a person has stopped notifications, and nothing is lost.
func TestStop(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.hook(r)
	for range 2 { // a second stop changes nothing
		checktest.NoError(t, f.store.SwitchNotifications(t.Context(), true, "grace"))
	}
	if stop, err := f.store.StopState(t.Context()); err != nil || stop.Person != "grace" ||
		!stop.Stopped.Equal(f.clock.Now()) {
		t.Errorf("got %+v, %v", stop, err)
	}
	f.publish(2, to)
	f.sends(r, 0)
	checktest.NoError(t, f.store.SwitchNotifications(t.Context(), false, "ada"))
	f.sends(r, 2)
	if stop, err := f.store.StopState(t.Context()); err != nil || !stop.Stopped.IsZero() {
		t.Errorf("got %+v, %v, want no stop", stop, err)
	}
}

// TestRotation checks that both secrets sign for a day after a rotation.
func TestRotation(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.hook(r)
	fresh := webhook.NewSecret()
	checktest.NoError(t, f.store.RotateSecret(t.Context(), to.ID, fresh, "ada"))
	f.publish(1, to)
	got := f.sends(r, 1)[0]
	want := signatureOf(t, fresh, got) + " " + signatureOf(t, to.Secret, got)
	if sent := got.Header.Get("webhook-signature"); sent != want {
		t.Errorf("got %s, want %s", sent, want)
	}
	for _, secret := range []crash.Secret{fresh, to.Secret} {
		verifier, err := standardwebhooks.NewWebhook(string(secret))
		checktest.NoError(t, err)
		if err := verifier.VerifyIgnoringTimestamp([]byte(got.Body), got.Header); err != nil {
			t.Error(err)
		}
	}
	f.clock.add(24 * time.Hour)
	f.publish(1, to)
	got = f.sends(r, 1)[0]
	if sent, want := got.Header.Get("webhook-signature"), signatureOf(t, fresh, got); sent != want {
		t.Errorf("a day later: got %s, want %s", sent, want)
	}
}

// TestMatrix checks the request to a homeserver, and that sending again is another transaction.
func TestMatrix(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Kind: crash.EndpointMatrix, Address: crash.Secret(r.URL + "/"),
		Channel: "!room:example.org",
		Secret:  "syt_token"})
	f.publish(1, to)
	r.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"event_id":"$x"}`)) })
	f.round()
	d := f.deliveries(to.ID)[0]
	checktest.NoError(t, f.store.SendAgain(t.Context(), to.ID, d.ID, "ada"))
	got := f.sends(r, 2)
	path := "/_matrix/client/v3/rooms/%21room:example.org/send/m.room.message/" + string(d.ID)
	for i, want := range []string{path, path + "-1"} {
		if got[i].Method != http.MethodPut || got[i].Path != want ||
			got[i].Header.Get("Authorization") != "Bearer syt_token" ||
			got[i].Header.Get("webhook-signature") != "" {
			t.Errorf("got %s %s %v, want PUT %s", got[i].Method, got[i].Path, got[i].Header, want)
		}
	}
}

// TestOtherPassword checks that an endpoint whose secrets cannot be decrypted fails with a message.
func TestOtherPassword(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.hook(r)
	dbtest.Exec(t, f.url, `update endpoints set address = encode('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'base64')`)
	f.publish(1, to)
	f.sends(r, 0)
	if e := f.endpoint(to.ID); !strings.Contains(e.FailureAnswer, "enter it again") {
		t.Errorf("got %+v", e)
	}
}

// TestOldDeliveries checks that finished deliveries are deleted after a month, and waiting ones are not.
func TestOldDeliveries(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.hook(r)
	f.publish(2, to)
	f.round()
	checktest.NoError(t, f.store.SwitchEndpoint(t.Context(), to.ID, false, "ada"))
	off := f.hook(r)
	f.publish(1, off)
	f.clock.add(29 * 24 * time.Hour)
	for _, want := range []int{2, 0} {
		checktest.NoError(t, f.store.DeleteOldDeliveries(t.Context()))
		if got := len(f.deliveries(to.ID)); got != want {
			t.Errorf("got %d deliveries, want %d", got, want)
		}
		f.clock.add(48 * time.Hour)
	}
	if got := len(f.deliveries(off.ID)); got != 1 {
		t.Errorf("got %d waiting deliveries, want 1", got)
	}
}

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
		receivers, endpoints = append(receivers, r), append(endpoints, f.hook(r))
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
	to := f.hook(newReceiver(t))
	second := f.hook(newReceiver(t))
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
	to := f.hook(r)
	f.publish(1, to)
	dead := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	claim, ok, err := dead.store.ClaimDelivery(t.Context())
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v", ok, err)
	}
	if _, err := dead.store.SavePayload(t.Context(), claim, dead.client.Payload(claim)); err != nil {
		t.Fatal(err)
	}
	f.sends(r, 0)
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
	to := f.hook(r)
	f.publish(1, to)
	slow := newFixtureOn(t, f.url, f.clock, webhook.Config{Allow: loopback})
	claim, ok, err := slow.store.ClaimDelivery(t.Context())
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v", ok, err)
	}
	f.clock.add(6 * time.Minute)
	f.sends(r, 1)
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
	a, b := f.hook(slow), f.hook(quick)
	f.publish(5, a)
	f.publish(5, b)
	checktest.NoError(t, f.worker.Round(t.Context()))
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
	checktest.NoError(t, f.worker.Round(t.Context()))
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

// TestEmbargo checks that deliveries about an embargoed problem wait until the embargo is lifted:
// those that were never sent, those that failed, and summaries that name the problem.
func TestEmbargo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := newReceiver(t)
	e := f.hook(r)
	few := f.add(crash.Endpoint{Address: crash.Secret(r.URL + "/few"), PerMinute: 1})
	id := crash.BucketID{1}
	const sqlBucket = `
		insert into buckets (id, head, signature, rule, provisional, problem_type, title, executable, package,
			source_package, changed)
		values ($1, $1, 'x', 'stack', false, 'Crash', 'x', '', 'zsh', 'zsh', 0)`
	dbtest.Exec(t, f.url, sqlBucket, id[:])
	f.publish(1, few)
	f.round()
	r.answers(status(http.StatusInternalServerError))
	f.publish(2, e, few) // 4 and 5; the limit of endpoint few holds them back
	dbtest.Exec(t, f.url, `update events set bucket_id = $1 where title = 'zsh crashed 4'`, id[:])
	f.round()
	f.clock.add(61 * time.Second)
	f.round() // makes the summary; everything fails
	if first := bodies(r.got()); !strings.Contains(first, `"type":"summary"`) {
		t.Fatalf("got %s, want failed deliveries and a summary", first)
	}
	store := problems.New(f.store.Store)
	if _, err := store.Set(t.Context(), crash.Mark{Kind: crash.MarkEmbargo, Bucket: id, Person: "eve"}); err != nil {
		t.Fatal(err)
	}
	r.answers(nil)
	for range 20 {
		f.clock.add(10 * time.Minute)
		f.round()
	}
	during := bodies(r.got())
	for title, want := range map[string]int{"zsh crashed 4": 0, `"type":"summary"`: 0, "zsh crashed 5": 1} {
		if got := strings.Count(during, title); got != want {
			t.Errorf("during the embargo: got %d times %s, want %d, in\n%s", got, title, want, during)
		}
	}
	checktest.NoError(t, store.Lift(t.Context(), id, crash.MarkEmbargo, "eve"))
	for range 20 {
		f.clock.add(10 * time.Minute)
		f.round()
	}
	after := bodies(r.got())
	for title, want := range map[string]int{"zsh crashed 4": 2, `"type":"summary"`: 1, "zsh crashed 5": 1} {
		if got := strings.Count(after, title); got != want {
			t.Errorf("after the embargo: got %d times %s, want %d, in\n%s", got, title, want, after)
		}
	}
}

// bodies returns the bodies of requests.
func bodies(requests []received) string {
	var all strings.Builder
	for _, r := range requests {
		all.WriteString(r.Path + " " + r.Body + "\n")
	}
	return all.String()
}
