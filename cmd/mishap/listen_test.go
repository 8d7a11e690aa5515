package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"mishap/handlers/ingest"
)

// TestDoubtfulLengthClosesTheConnection sends a request with both Content-Length and Transfer-Encoding, and
// another one behind it, to each kind of server. Only the first may be answered.
func TestDoubtfulLengthClosesTheConnection(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.URL.Path)
	})
	log := slog.New(slog.DiscardHandler)
	for name, server := range map[string]*http.Server{"web": webServer(h, log), "ops": opsServer(h, log),
		"ingest": ingest.NewServer(closing(h))} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		send := func(text string) string {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			answers, err := io.ReadAll(bufio.NewReader(conn))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return string(answers)
		}
		const next = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		const first = "POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n"
		got := send(first + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next)
		if strings.Count(got, "HTTP/1.1 ") != 1 || !strings.Contains(got, "Connection: close") ||
			!strings.HasSuffix(got, "/first") {
			t.Errorf("%s: got %q, want one answer and the end of the connection", name, got)
		}
		got = send(first + "\r\nabcdef" + next)
		if strings.Count(got, "HTTP/1.1 200") != 2 {
			t.Errorf("%s: got %q, want two answers on one connection", name, got)
		}
	}
}
