package sender

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

// pingServer answers pings one after the other, and counts them.
type pingServer struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	bodies  []string
}

func (p *pingServer) start(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.String() != "/x/ping" || len(r.Cookies()) > 0 ||
			r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "mishap-send/test" ||
			len(p.bodies) == len(p.answers) {
			t.Errorf("ping %d: got %s %s, %v, %v", len(p.bodies), r.Method, r.URL, r.Header, err)
			return
		}
		p.bodies = append(p.bodies, string(body))
		p.answers[len(p.bodies)-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/x"
}

func (p *pingServer) want(t *testing.T, when string, n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	checktest.Equal(t, when, len(p.bodies), n)
	for _, body := range p.bodies {
		checktest.Equal(t, when, body, `{"release":"Debian 12","architecture":"amd64"}`)
	}
}

// TestPing checks that a ping is sent once a day, also over restarts, at different times, and again after a failure,
// but not for a day that has passed.
func TestPing(t *testing.T) {
	t.Parallel()
	busy, ok, no := status(503, "", "Retry-After", "7200"), status(200, "Counted."), status(400, "no")
	p := &pingServer{answers: []http.HandlerFunc{ok, busy, ok, no, busy, ok}}
	x := newFixture(t, p.start(t))
	var now time.Time
	x.Now = func() time.Time { return now }
	var s *Sender
	var state *pings
	restart := func() {
		s = dbtest.Must(New(x.Config))(t)
		state = dbtest.Must(s.openPings())(t)
	}
	restart()
	at := func(day int, clock string) time.Duration {
		now = dbtest.Must(time.Parse("2006-01-02 15:04:05", "2026-11-0"+string(rune('0'+day))+" "+clock))(t)
		return s.pingRound(t.Context(), state)
	}
	due := map[time.Duration]bool{}
	for day := 1; day <= 5; day++ {
		wait := at(day, "00:00:00")
		if wait <= 0 || wait > time.Hour {
			t.Errorf("got a wait of %v, want at most an hour", wait)
		}
		due[state.due.Sub(now)] = true
		if state.due.Before(now) || !state.due.Before(now.AddDate(0, 0, 1)) {
			t.Errorf("due at %v, want a time of the day %v", state.due, now)
		}
	}
	checktest.Equal(t, "times of day", len(due), 5)
	p.want(t, "at the start of days", 0)

	at(5, "23:59:59")
	p.want(t, "on the first day", 1)
	at(5, "23:59:59")
	restart()
	at(5, "23:59:59")
	p.want(t, "after a restart", 1)

	state.day, state.due = "2026-11-06", time.Date(2026, 11, 6, 10, 0, 0, 0, time.UTC)
	checktest.Equal(t, "wait", at(6, "09:15:00"), 45*time.Minute)
	p.want(t, "before it is due", 1)
	checktest.Equal(t, "wait after a failure", at(6, "10:00:00"), time.Hour)
	p.want(t, "busy", 2)
	checktest.Equal(t, "wait before Retry-After has passed", at(6, "11:30:00"), 30*time.Minute)
	p.want(t, "busy", 2)
	at(6, "12:00:00")
	p.want(t, "after Retry-After", 3)

	at(7, "23:59:59")
	at(7, "23:59:59")
	p.want(t, "refused for good", 4)

	at(8, "23:59:59")
	p.want(t, "busy at the end of the day", 5)
	at(9, "00:00:00")
	p.want(t, "the next day", 5)
	checktest.Equal(t, "failures of the next day", state.failures, 0)
	at(9, "23:59:59")
	p.want(t, "the end of the next day", 6)
}

// TestNoPing checks that a sender that may not say that the machine is there does not.
func TestNoPing(t *testing.T) {
	t.Parallel()
	url, bodies, done := server(t, stored) // fails on other requests
	x := newFixture(t, url, map[string]any{})
	now := time.Date(2026, 11, 5, 23, 59, 59, 999_999_999, time.UTC)
	x.Now = func() time.Time { return now }
	checktest.NoError(t, x.run(t, done))
	checktest.Equal(t, "requests", len(bodies()), 1)
}

// TestPingRealServer checks that mishap's own listener counts what a running sender says.
func TestPingRealServer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 5, 23, 59, 59, 999_999_999, time.UTC)
	db := dbtest.OpenAt(t, dbtest.URL(t), now)
	counts := doors.New(db)
	handler := dbtest.Must(ingest.New(ingest.Deps{Store: symbols.New(db), Doors: counts, MaxBytes: 1 << 20}))(t)
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		close(done) // twice would panic
	}))
	t.Cleanup(s.Close)
	x := newFixture(t, s.URL)
	x.Now, x.Ping = func() time.Time { return now }, true
	x.Machine.Release = "A & B <7>"
	checktest.NoError(t, x.run(t, done))
	checktest.NoError(t, counts.Flush(context.WithoutCancel(t.Context())))
	got := dbtest.Must(counts.Pings(t.Context(), crash.Midnight(now)))(t)
	if len(got) != 1 || got[0] != (crash.PingCount{Release: "A & B <7>", Machines: 1}) {
		t.Errorf("got %v: %s", got, x.log)
	}
}
