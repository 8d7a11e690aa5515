package proxies_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/proxies"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, " , ": 0, "127.0.0.0/8": 1, "127.0.0.0/8 ::1/128": 2, "10.1.2.3,fd00::/8,\t192.0.2.0/24": 3, "10.9.9.9/8": 1,
	} {
		if got, err := proxies.Parse(text); err != nil || len(got) != want {
			t.Errorf("%q: got %v, %v, want %d networks", text, got, err, want)
		}
	}
	for _, text := range []string{
		"localhost", "10.0.0.0/33", "10.0.0", "10.0.0.0/8; ::1", "0.0.0.0/0", "::/0", "fe80::1%eth0", "::ffff:10.0.0.0/104",
		"*",
	} {
		if got, err := proxies.Parse(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	const behindBoth = "127.0.0.0/8 ::1 10.0.0.0/8"
	for _, tt := range []struct{ trusted, peer, forwarded, want string }{
		{proxies.Loopback, "192.0.2.1:5", "", "192.0.2.1"},
		{proxies.Loopback, "192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{proxies.Loopback, "10.0.0.1:5", "198.51.100.7", "10.0.0.1"},
		{proxies.Loopback, "127.0.0.1:5", "", "127.0.0.1"},
		{proxies.Loopback, "127.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{proxies.Loopback, "[::1]:5", "203.0.113.9, 198.51.100.7", "198.51.100.7"},
		{proxies.Loopback, "127.0.0.1:5", "198.51.100.7, 10.0.0.1", "10.0.0.1"},
		{behindBoth, "127.0.0.1:5", "203.0.113.9, 198.51.100.7, 10.0.0.1", "198.51.100.7"},
		{behindBoth, "[::ffff:10.0.0.1]:5", "198.51.100.7", "198.51.100.7"},
		{proxies.Loopback, "127.0.0.1:5", "nonsense", "127.0.0.1"},
		{"", "127.0.0.1:5", "198.51.100.7", "127.0.0.1"},
		{proxies.Loopback, "[::ffff:192.0.2.1]:5", "", "192.0.2.1"},
		{proxies.Loopback, "[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{proxies.Loopback, "[2001:db8:1:2:ffff::]:5", "", "2001:db8:1:2::/64"},
		{proxies.Loopback, "[fe80::1%eth0]:5", "", "fe80::/64"},
		{"", "[fe80::1%eth0]:5", "", "fe80::/64"},
		{proxies.Loopback, "nonsense", "", ""},
	} {
		r := request(t, tt.peer)
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		var got string
		networks(t, tt.trusted).Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = proxies.Key(proxies.Client(r))
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
	checktest.Equal(t, "key of no address", proxies.Key(netip.Addr{}), "")
}

func TestSecure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trusted, peer, proto string
		tls, want            bool
	}{
		{proxies.Loopback, "127.0.0.1:1", "", false, false},
		{proxies.Loopback, "127.0.0.1:1", "https", false, true},
		{proxies.Loopback, "127.0.0.1:1", "HTTPS", false, true},
		{proxies.Loopback, "127.0.0.1:1", "http", false, false},
		{proxies.Loopback, "[::1]:1", "https", false, true},
		{proxies.Loopback, "192.168.1.1:1", "https", false, false},
		{"192.168.0.0/16", "192.168.1.1:1", "https", false, true},
		{"10.0.0.0/8", "[::ffff:10.0.0.1]:1", "https", false, true},
		{"", "127.0.0.1:1", "https", false, false},
		{proxies.Loopback, "192.0.2.1:1", "", true, true},
		{proxies.Loopback, "nonsense", "https", false, false},
	} {
		r := request(t, tt.peer)
		r.Header.Set("X-Forwarded-Proto", tt.proto)
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		checktest.Equal(t, fmt.Sprintf("%+v", tt), networks(t, tt.trusted).Secure(r), tt.want)
	}
}

func networks(t *testing.T, text string) proxies.Networks {
	t.Helper()
	n := dbtest.Must(proxies.Parse(text))(t)
	return n
}

func request(t *testing.T, peer string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", nil)
	r.RemoteAddr = peer
	return r
}
