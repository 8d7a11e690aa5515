package events_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
	"mishap/notify/webhook"
)

// outlets are a relay and a receiver of webhooks, which get what rules report.
type outlets struct {
	world *world
	relay *mailtest.Server
	hook  *httptest.Server

	mu     sync.Mutex
	bodies map[string][]string // by webhook-id
}

// newOutlets starts the outlets, adds an endpoint to all rules, and confirms an address of everyone.
func newOutlets(t *testing.T, w *world) *outlets {
	t.Helper()
	o := &outlets{world: w, relay: mailtest.New(t), bodies: map[string][]string{}}
	o.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.mu.Lock()
		defer o.mu.Unlock()
		id := r.Header.Get("webhook-id")
		o.bodies[id] = append(o.bodies[id], string(body))
	}))
	t.Cleanup(o.hook.Close)
	e := crash.Endpoint{Name: "hook", Kind: crash.EndpointWebhook, Address: crash.Secret(o.hook.URL),
		Secret: webhook.NewSecret(), PerMinute: 600}
	if wrong := webhook.CheckSettings(&e, true); len(wrong) > 0 {
		t.Fatalf("settings: %v", wrong)
	}
	id, err := events.New(w.store).AddEndpoint(t.Context(), e, "ada")
	if err != nil {
		t.Fatal(err)
	}
	w.exec(t, `update rules set actions = jsonb_set(actions, '{endpoints}', to_jsonb(array[$1::bigint]))`, id)
	w.exec(t, `insert into mail_settings (user_id, address, confirmed) select id, name || '@example.org', $1 from users`,
		w.now())
	return o
}

// send lets all instances send what is due, at the same time, until nothing is left.
func (o *outlets) send(t *testing.T) {
	t.Helper()
	relay, err := mishapmail.ParseRelay(o.relay.URL, "off")
	if err != nil {
		t.Fatal(err)
	}
	allow, err := crash.ParseNetworks("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	var rounds []func() error
	for _, s := range o.world.stores {
		mailer, err := mishapmail.New(mishapmail.Config{Relay: relay, From: "crashes@example.org",
			BaseURL: "https://crashes.example.org", Log: dbtest.Log(t), Now: o.world.now,
			Registerer: prometheus.NewRegistry()}, events.New(s))
		if err != nil {
			t.Fatal(err)
		}
		worker, err := webhook.NewWorker(events.New(s), webhook.NewClient(webhook.Config{Allow: allow,
			BaseURL: "https://crashes.example.org", Version: "1.0", Now: o.world.now}), dbtest.Log(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, func() error { return mailer.Round(t.Context()) }, func() error {
			err := worker.Round(t.Context())
			worker.Wait()
			return err
		})
	}
	for waiting := []string{"?"}; len(waiting) > 0; { // the server notices the death of an instance a little later
		var all sync.WaitGroup
		for _, round := range rounds {
			all.Go(func() {
				if err := round(); err != nil {
					t.Errorf("%s: %v", o.world.now().Format(time.DateTime), err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
		waiting = o.world.lines(t, `
			select 'mail ' || id from mails where state in ('waiting', 'sending')
			union all select 'delivery ' || id from deliveries where state not in ('delivered', 'dead')`)
	}
}

// die lets an instance claim a mail and a delivery, and ends it before it can send them, like SIGKILL.
// It reports whether there was something to claim.
func (o *outlets) die(t *testing.T, s *db.Store) bool {
	t.Helper()
	mails := events.New(s)
	if err := mails.PlanMails(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err := mails.ClaimMail(t.Context())
	if err != nil && crash.KindOf(err) != crash.NotFound {
		t.Fatal(err)
	}
	_, claimed, errDelivery := events.New(s).ClaimDelivery(t.Context())
	if errDelivery != nil {
		t.Fatal(errDelivery)
	}
	s.Close()
	return err == nil && claimed
}

// check compares what arrived with the notices: each comes once by mail, and each event once to the
// endpoint.
func (o *outlets) check(t *testing.T) {
	t.Helper()
	var mails []string
	ids := map[string]int{}
	for _, m := range o.relay.Mails() {
		read, err := mail.ReadMessage(strings.NewReader(m.Raw))
		if err != nil {
			t.Fatal(err)
		}
		_, subject, found := strings.Cut(read.Header.Get("Subject"), ": ") // without the kind, if it names that
		if !found {
			subject = read.Header.Get("Subject")
		}
		date, err := read.Header.Date()
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, fmt.Sprintf("%s %s to %s", date.UTC().Format("02"), subject, m.To))
		if ids[read.Header.Get("Message-Id")]++; ids[read.Header.Get("Message-Id")] > 1 {
			t.Errorf("got %s twice", mails[len(mails)-1])
		}
	}
	wantLines(t, "mails", mails, o.world.lines(t, `
		select to_char(e.at at time zone 'utc', 'DD') || ' ' || e.title || ' to ' || u.name || '@example.org'
		from events as e join notices as n on n.event_id = e.id join users as u on u.id = n.user_id`)...)

	kinds := map[string]crash.EventKind{}
	for _, kind := range crash.EventKinds {
		kinds[webhook.EventType(kind)] = kind
	}
	var bodies []string
	for id, got := range o.bodies {
		var body struct {
			Type      string
			Timestamp time.Time
			Data      struct{ Title string }
		}
		if err := json.Unmarshal([]byte(got[0]), &body); err != nil || len(got) != 1 {
			t.Errorf("%s: got %d requests, %v: %s", id, len(got), err, got[0])
		}
		bodies = append(bodies, fmt.Sprintf("%s %s %s", body.Timestamp.UTC().Format("02"), kinds[body.Type],
			body.Data.Title))
	}
	wantLines(t, "webhooks", bodies, o.world.lines(t,
		`select to_char(at at time zone 'utc', 'DD') || ' ' || kind || ' ' || title from events`)...)
}
