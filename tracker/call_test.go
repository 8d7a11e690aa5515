package tracker

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestNothingLeavesTooLate checks that nothing is sent after the deadline for sending, whatever
// caused the delay.
func TestNothingLeavesTooLate(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	late := &boundedConn{Conn: ours, until: time.Now().Add(-time.Millisecond)}
	if n, err := late.Write([]byte("x")); n != 0 || !errors.Is(err, errSlowSending) {
		t.Errorf("got %d, %v, want nothing written", n, err)
	}
	// As after a suspend: only the wall clock has passed the deadline.
	asleep := &boundedConn{Conn: ours, until: time.Now().Round(0).Add(-time.Millisecond)}
	if n, err := asleep.Write([]byte("x")); n != 0 || !errors.Is(err, errSlowSending) {
		t.Errorf("by the wall clock: got %d, %v, want nothing written", n, err)
	}

	reached := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(s.Close)
	cfg := Config{URL: s.URL, APIURL: s.URL + "/devel", Timeout: 5 * time.Second}.WithDefaults()
	c := &Client{cfg: cfg, metrics: newMetrics(nil)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.exchange(newWriter(-time.Second), "create", req, -time.Second)
	if e := callError("create", err); e.Text != errSlowSending.Error() || e.Outcome == OutcomeDone {
		t.Errorf("got %v, want it cancelled", err)
	}
	select {
	case <-reached:
		t.Error("the request arrived")
	default:
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"my crash service": "my%20crash%20service", "a+b": "a%2Bb", "&secret": "%26secret", "-._~": "-._~", `"\`: "%22%5C",
		"é": "%C3%A9",
	} {
		if got := escape(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestEncodeList(t *testing.T) {
	t.Parallel()
	got := encodeList([]string{"noble", "24.10", "true", "NaN", "-Infinity", `"x"`, "[1]", " 7 ", "1e", "a,b", "<&>"})
	want := `["noble","\"24.10\"","\"true\"","\"NaN\"","\"-Infinity\"","\"\\\"x\\\"\"","\"[1]\"","\" 7 \"","1e","a,b","<&>"]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
