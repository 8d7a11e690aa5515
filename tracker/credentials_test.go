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

func (h *fixture) status(u *instance) crash.Connection {
	h.t.Helper()
	s, err := u.creds.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// TestWhichToken checks that a configured token takes precedence over the saved one. An instance
// without a token works as soon as any instance has been connected.
func TestWhichToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	bare, configured := h.instance(withoutToken), h.instance()
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" || !strings.Contains(err.Error(),
		"/admin/tracker") {
		t.Errorf("without a token: got %v, want tracker_credentials with the address of the page", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("without a token: got %+v, want not connected", s)
	}

	if _, err := configured.lp.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token ||
		got.Secret != h.cfg.Token.Secret {
		t.Errorf("after another instance used its token: got %v, %v, want its token", got, err)
	}
	if s := h.status(bare); s.Source != crash.FromDatabase || s.Account != "practice-person" || s.LastSuccess.IsZero() ||
		s.Person != "" {
		t.Errorf("after another instance used its token: got %+v", s)
	}

	connected := h.lp.Token(consumer)
	if err := bare.creds.SaveToken(ctx, connected, "ines"); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("after connecting: got %v, %v, want the new token", got, err)
	}
	if s := h.status(bare); s.Person != "ines" || s.Since.IsZero() || s.Context != "None" || !s.LastSuccess.IsZero() {
		t.Errorf("after connecting: got %+v", s)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token {
		t.Errorf("a configured instance after another has connected: got %v, %v, want its own token", got, err)
	}
	if err := configured.creds.SaveToken(ctx, connected, "theo"); err != nil {
		t.Fatal(err)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("a configured instance that has just connected: got %v, %v, want the new token", got, err)
	}

	if err := bare.creds.DeleteToken(ctx, "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" {
		t.Errorf("after forgetting: got %v, want tracker_credentials", err)
	}
}

// TestForgottenStaysForgotten checks that an instance with a configured token does not restore a
// token that a person removed.
func TestForgottenStaysForgotten(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if _, err := h.instance().lp.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	bare := h.instance(withoutToken)
	if err := bare.creds.DeleteToken(t.Context(), "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.instance().lp.Check(t.Context()); err != nil {
		t.Errorf("a configured instance: got %v, want no error", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("got %+v, want not connected", s)
	}
}

// TestNoCredentials checks that nothing is sent without credentials. The filing waits, states the
// reason, and continues when a person has connected.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance(withoutToken)
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
	if err := u.creds.SaveToken(t.Context(), h.lp.Token(consumer), "theo"); err != nil {
		t.Fatal(err)
	}
	h.until("the bug is filed", []*instance{u}, func() bool {
		return h.bucket(signature).Filing.State == crash.FilingFiled
	})
	h.wantOneBug(signature)
}

// TestHealthIsSavedRarely checks that health is saved when it changes, and otherwise once a minute.
func TestHealthIsSavedRarely(t *testing.T) {
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
			t.Errorf("%s: got %d writes, want %d", when, m.writes, want)
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

// TestCredentialsAreOfOneConsumer checks that another tracker or consumer has separate credentials.
func TestCredentialsAreOfOneConsumer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if err := h.instance().creds.SaveToken(t.Context(), h.cfg.Token, "ines"); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	for name, change := range map[string]func(*tracker.Config){
		"consumer": func(c *tracker.Config) { c.ConsumerKey = "another" },
		"tracker":  func(c *tracker.Config) { c.URL = elsewhere.URL },
	} {
		u := h.instance(withoutToken, change)
		if s := h.status(u); s.Source != crash.NotConnected {
			t.Errorf("another %s: got %+v, want not connected", name, s)
		}
	}
}
