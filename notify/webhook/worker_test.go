package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/notify/webhook"
)

// signatureOf computes a signature as the specification describes it, without the library.
func signatureOf(t *testing.T, secret crash.Secret, r received) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(secret), "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal([]byte(got[0].Body), &body); err != nil {
		t.Fatal(err)
	}
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
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Errorf("got %d requests after the success, want none", len(got))
	}
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
	for i, delay := range webhook.Schedule {
		if delay > 0 {
			f.clock.add(delay - time.Second)
			f.round()
			if got := r.got(); len(got) != 0 {
				t.Fatalf("attempt %d: came before its time", i)
			}
			f.clock.add(time.Second)
		}
		f.round()
		got := r.got()
		if len(got) != 1 {
			t.Fatalf("attempt %d: got %d requests, want 1", i, len(got))
		}
		all = append(all, got...)
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
	if err := f.store.EnableEndpoint(t.Context(), to.ID, "ada"); err != nil {
		t.Fatal(err)
	}
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Errorf("got %d requests, want none: the delivery has failed", len(got))
	}
	if err := f.store.SendAgain(t.Context(), to.ID, d.ID, "ada"); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		if role == crash.RoleAdmin {
			admins = append(admins, user.ID)
		}
	}
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	f.publish(2, to)
	r.answers(status(http.StatusGone))
	f.round()
	if got := r.got(); len(got) != 1 {
		t.Errorf("got %d requests, want 1", len(got))
	}
	if e := f.endpoint(to.ID); e.Disabled.IsZero() || !strings.Contains(e.DisabledWhy, "410") || e.Waiting != 1 {
		t.Errorf("got %+v, want it switched off", e)
	}
	checkTold(t, f, admins...)
	r.answers(nil)
	if err := f.store.EnableEndpoint(t.Context(), to.ID, "ada"); err != nil {
		t.Fatal(err)
	}
	f.round()
	if got := r.got(); len(got) != 1 {
		t.Errorf("got %d requests after it was switched on, want the one that waited", len(got))
	}
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
			to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
			f.publish(3, to)
			r.answers(func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(tt.body))
			})
			f.round()
			if got := r.got(); len(got) != 1 {
				t.Fatalf("got %d requests, want 1", len(got))
			}
			f.clock.add(tt.want - time.Second)
			f.round()
			if got := r.got(); len(got) != 0 {
				t.Errorf("got %d requests too early, want none", len(got))
			}
			r.answers(nil)
			f.clock.add(time.Second)
			f.round()
			if got := r.got(); len(got) != 3 {
				t.Errorf("got %d requests, want all 3", len(got))
			}
		})
	}
}

// TestPauseAfterFailures checks that a backlog does not flood an endpoint that fails.
func TestPauseAfterFailures(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
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
	f.round()
	if got := r.got(); len(got) != 3 {
		t.Fatalf("got %d requests in the first minute, want 3", len(got))
	}
	f.clock.add(59 * time.Second)
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Fatalf("got %d more requests in the first minute, want none", len(got))
	}
	f.publish(1, to)
	f.clock.add(time.Second)
	f.round()
	got := r.got()
	if len(got) != 1 {
		t.Fatalf("got %d requests in the second minute, want one summary", len(got))
	}
	var body struct {
		Type string
		Data struct {
			Title, Text string
			Events      []struct{ Type, Title, URL string }
		}
	}
	if err := json.Unmarshal([]byte(got[0].Body), &body); err != nil {
		t.Fatal(err)
	}
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
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	for range 2 { // a second stop changes nothing
		if err := f.store.Stop(t.Context(), "grace"); err != nil {
			t.Fatal(err)
		}
	}
	if stop, err := f.store.StopState(t.Context()); err != nil || stop.Person != "grace" ||
		!stop.Stopped.Equal(f.clock.Now()) {
		t.Errorf("got %+v, %v", stop, err)
	}
	f.publish(2, to)
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Errorf("got %d requests while stopped, want none", len(got))
	}
	if err := f.store.Resume(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	f.round()
	if got := r.got(); len(got) != 2 {
		t.Errorf("got %d requests, want both", len(got))
	}
	if stop, err := f.store.StopState(t.Context()); err != nil || !stop.Stopped.IsZero() {
		t.Errorf("got %+v, %v, want no stop", stop, err)
	}
}

// TestRotation checks that both secrets sign for a day after a rotation.
func TestRotation(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	fresh := webhook.NewSecret()
	if err := f.store.RotateSecret(t.Context(), to.ID, fresh, "ada"); err != nil {
		t.Fatal(err)
	}
	f.publish(1, to)
	f.round()
	got := r.got()[0]
	want := signatureOf(t, fresh, got) + " " + signatureOf(t, to.Secret, got)
	if sent := got.Header.Get("webhook-signature"); sent != want {
		t.Errorf("got %s, want %s", sent, want)
	}
	for _, secret := range []crash.Secret{fresh, to.Secret} {
		verifier, err := standardwebhooks.NewWebhook(string(secret))
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.VerifyIgnoringTimestamp([]byte(got.Body), got.Header); err != nil {
			t.Error(err)
		}
	}
	f.clock.add(24 * time.Hour)
	f.publish(1, to)
	f.round()
	got = r.got()[0]
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
	if err := f.store.SendAgain(t.Context(), to.ID, d.ID, "ada"); err != nil {
		t.Fatal(err)
	}
	f.round()
	got := r.got()
	if len(got) != 2 {
		t.Fatalf("got %d requests, want 2", len(got))
	}
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
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	dbtest.Exec(t, f.url, `update endpoints set address = encode('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'base64')`)
	f.publish(1, to)
	f.round()
	if got := r.got(); len(got) != 0 {
		t.Errorf("got %d requests, want none", len(got))
	}
	if e := f.endpoint(to.ID); !strings.Contains(e.FailureAnswer, "enter it again") {
		t.Errorf("got %+v", e)
	}
}

// TestOldDeliveries checks that finished deliveries are deleted after a month, and waiting ones are not.
func TestOldDeliveries(t *testing.T) {
	t.Parallel()
	f, r := newFixture(t), newReceiver(t)
	to := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	f.publish(2, to)
	f.round()
	if err := f.store.DisableEndpoint(t.Context(), to.ID, "ada"); err != nil {
		t.Fatal(err)
	}
	off := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	f.publish(1, off)
	f.clock.add(29 * 24 * time.Hour)
	for _, want := range []int{2, 0} {
		if err := f.store.DeleteOldDeliveries(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(f.deliveries(to.ID)); got != want {
			t.Errorf("got %d deliveries, want %d", got, want)
		}
		f.clock.add(48 * time.Hour)
	}
	if got := len(f.deliveries(off.ID)); got != 1 {
		t.Errorf("got %d waiting deliveries, want 1", got)
	}
}
