package tracker_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

func withoutToken(c *tracker.Config) { c.Token = crash.AccessToken{} }

func (h *house) status(u *unit) crash.Connection {
	h.t.Helper()
	s, err := u.creds.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// The configuration's token comes first, then the one that the database remembers; a unit without
// one works as soon as any unit has been authorised.
func TestWhichToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	bare, configured := h.unit(withoutToken), h.unit()
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" || !strings.Contains(err.Error(),
		"/admin/tracker") {
		t.Errorf("nothing known: got %v, want tracker_credentials with the address of the page", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("nothing known: got %+v, want not connected", s)
	}

	if _, err := configured.lp.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token ||
		got.Secret != h.cfg.Token.Secret {
		t.Errorf("after another unit's use: got %v, %v, want its token", got, err)
	}
	if s := h.status(bare); s.Source != crash.FromDatabase || s.Account != "practice-person" || s.LastSuccess.IsZero() ||
		s.Person != "" {
		t.Errorf("after another unit's use: got %+v", s)
	}

	connected := h.lp.Token(consumer)
	if err := bare.creds.Remember(ctx, connected, "ines"); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("after connecting: got %v, %v, want the new token", got, err)
	}
	if s := h.status(bare); s.Person != "ines" || s.Since.IsZero() || s.Context != "None" || !s.LastSuccess.IsZero() {
		t.Errorf("after connecting: got %+v", s)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token {
		t.Errorf("a configured unit, after another has connected: got %v, %v, want its own token", got, err)
	}
	if err := configured.creds.Remember(ctx, connected, "theo"); err != nil {
		t.Fatal(err)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("a configured unit that has just connected: got %v, %v, want the new token", got, err)
	}

	if err := bare.creds.Forget(ctx, "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" {
		t.Errorf("after forgetting: got %v, want tracker_credentials", err)
	}
}

// A token that was forgotten is not brought back by a unit that still has it in its configuration.
func TestForgottenStaysForgotten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if _, err := h.unit().lp.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	bare := h.unit(withoutToken)
	if err := bare.creds.Forget(t.Context(), "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.unit().lp.Check(t.Context()); err != nil {
		t.Errorf("a configured unit: got %v, want it to work", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("got %+v, want not connected", s)
	}
}

// Without credentials nothing is sent; the filing waits, says why, and goes on by itself when
// somebody has connected.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit(withoutToken)
	signature := h.problem(1)
	_, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
	if crash.KindOf(err) != crash.Unavailable || codeOf(err) != "tracker_credentials" {
		t.Errorf("got %v, want tracker_credentials", err)
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
	if f := h.bucket(signature).Filing; f.State != crash.FilingQueued || f.Problem != "tracker_credentials" ||
		f.Reason == "" {
		t.Errorf("got %+v, want it queued with the reason", f)
	}
	if err := u.creds.Remember(t.Context(), h.lp.Token(consumer), "theo"); err != nil {
		t.Fatal(err)
	}
	h.until("the bug is filed", []*unit{u}, func() bool { return h.bucket(signature).Filing.State == crash.FilingFiled })
	h.wantOneBug(signature)
}

// Credentials that the tracker calls dead are not used again until a harmless call shows that they
// live, and connecting anew wakes what waits.
func TestDeadCredentials(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit(withoutToken)
	token := h.lp.Token(consumer)
	if err := u.creds.Remember(t.Context(), token, "theo"); err != nil {
		t.Fatal(err)
	}
	h.lp.Revoke(token.Token)
	for i := range 3 {
		_, err := u.filer.CreateBug(t.Context(), h.problem(i), tracker.Options{Wait: patience})
		if codeOf(err) != "tracker_credentials" || !strings.Contains(err.Error(), "Expired token") {
			t.Errorf("got %v, want tracker_credentials with the tracker's words", err)
		}
	}
	if got := len(h.lp.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("got %d bugs sent, want 1: with dead credentials nothing is sent", got)
	}
	if got := len(h.lp.Requests(trackertest.OpMe)); got != 1 {
		t.Errorf("got %d probes, want 1 for the whole queue", got)
	}
	if s := h.status(u); !s.Dead || !strings.Contains(s.LastError, "Expired token") || s.LastErrorAt.IsZero() {
		t.Errorf("got %+v, want it dead, with the reason", s)
	}
	if err := u.creds.Remember(t.Context(), h.lp.Token(consumer), "theo"); err != nil {
		t.Fatal(err)
	}
	if s := h.status(u); s.Dead {
		t.Errorf("after connecting: got %+v, want it alive", s)
	}
	h.until("all are filed", []*unit{u}, func() bool { return len(h.lp.Bugs()) == 3 })
}

// A credential that only seemed dead is found alive when somebody presses again.
func TestRevivedCredentials(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit()
	signature := h.problem(1)
	h.lp.Fail(trackertest.OpCreate, trackertest.UnknownToken)
	if _, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience}); codeOf(
		err) != "tracker_credentials" {
		t.Errorf("got %v, want tracker_credentials", err)
	}
	if r, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience}); err != nil ||
		r.State != crash.FilingFiled {
		t.Errorf("pressed again: got %+v, %v, want it filed", r.Filing, err)
	}
	if h.status(u).Dead {
		t.Error("got dead credentials, want them alive")
	}
}

// A missing permission is a refusal and no reason to give up the credentials.
func TestPermissionIsNotCredentials(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit(func(c *tracker.Config) { c.Token = h.lp.TokenOf(consumer, "READ_PUBLIC") })
	_, err := u.filer.CreateBug(t.Context(), h.problem(1), tracker.Options{Wait: patience})
	if crash.KindOf(err) != crash.Refused || !strings.Contains(err.Error(), "launchpad.AnyPerson") {
		t.Errorf("got %v, want it refused with the tracker's words", err)
	}
	if h.status(u).Dead {
		t.Error("got dead credentials, want them alive")
	}
}

// Health is written down when it changes, and otherwise once a minute.
func TestHealthIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := newMemory()
	lp := trackertest.New(t)
	cfg := tracker.Config{
		URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Token: lp.Token(consumer), Timeout: patience,
		Now: func() time.Time { return now },
	}
	c := tracker.NewClient(cfg, tracker.NewCredentials(cfg, m))
	check := func(want int, when string) {
		t.Helper()
		_, _ = c.Check(t.Context())
		if m.writes != want {
			t.Errorf("%s: got %d writings, want %d", when, m.writes, want)
		}
	}
	check(1, "first success")
	check(1, "second success")
	lp.Fail(trackertest.OpMe, trackertest.Error500)
	check(2, "first failure")
	lp.Fail(trackertest.OpMe, trackertest.Error500)
	check(2, "the same failure again")
	now = now.Add(time.Minute)
	check(3, "a minute later")
	lp.Fail(trackertest.OpMe, trackertest.ExpiredToken)
	check(4, "dead")
	check(5, "alive again")
}

// Another tracker or another consumer has other credentials.
func TestCredentialsAreOfOneConsumer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if err := h.unit().creds.Remember(t.Context(), h.cfg.Token, "ines"); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	for name, change := range map[string]func(*tracker.Config){
		"consumer": func(c *tracker.Config) { c.ConsumerKey = "another" },
		"tracker":  func(c *tracker.Config) { c.URL = elsewhere.URL },
	} {
		u := h.unit(withoutToken, change)
		if s := h.status(u); s.Source != crash.NotConnected {
			t.Errorf("another %s: got %+v, want not connected", name, s)
		}
	}
}
