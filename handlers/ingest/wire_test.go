package ingest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash/crashtest"
)

// dial opens a plain connection, on which a test sends exactly what whoopsie sends.
func (h *fixture) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func head(path string, length int, more ...string) string {
	lines := append([]string{
		"POST " + path + " HTTP/1.1", "Host: 127.0.0.1", "Accept: */*", "Content-Type: application/octet-stream",
		"X-Whoopsie-Version: 0.1.33pexip2", fmt.Sprintf("Content-Length: %d", length),
	}, more...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func write(t *testing.T, conn net.Conn, data []byte) {
	t.Helper()
	if _, err := conn.Write(data); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func readReply(t *testing.T, in *bufio.Reader) reply {
	t.Helper()
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	defer res.Body.Close() //nolint:errcheck // read to the end
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return reply{res.StatusCode, string(text), res.Header}
}

func TestWireDoubleSlash(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	conn, in := h.dial(t)
	document := crashtest.Native().BSON()
	write(t, conn, append([]byte(head("//machine", len(document))), document...))
	id := readReply(t, in).stored(t)
	if r := h.report(t, id); r.System != "machine" {
		t.Errorf("got machine %q", r.System)
	}
}

// TestWireExpect sends a body over 1 MiB as libcurl does.
func TestWireExpect(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	conn, in := h.dial(t)
	document := crashtest.Native(crashtest.Set("ProcMaps", strings.Repeat("x", 1<<19))).BSON()
	write(t, conn, []byte(head("/machine", len(document), "Expect: 100-continue")))
	if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v; want 100 Continue", line, err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("got %q, %v; want an empty line", line, err)
	}
	write(t, conn, document)
	readReply(t, in).stored(t)
}

// TestWireExpectTooLarge checks that the client gets the answer before it sends anything.
func TestWireExpectTooLarge(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, path := range []string{"/machine", h.coreOf(t)} {
		conn, in := h.dial(t)
		write(t, conn, []byte(head(path, 1<<30, "Expect: 100-continue")))
		if got := readReply(t, in); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %q, want 400", path, got.status, got.text)
		}
	}
}

// coreOf posts a report, requests its core, and returns the address for the core.
func (h *fixture) coreOf(t *testing.T) string {
	t.Helper()
	id := h.post(t, "/machine", body(crashtest.Native())).stored(t).String()
	h.ask(t, id, "machine")
	return "/" + id + "/submit-core/amd64/machine"
}

// TestWireTooLarge sends the whole body before it reads the answer, as many clients do, with and
// without a length.
func TestWireTooLarge(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	const size = 5 << 20
	conn, in := h.dial(t)
	write(t, conn, []byte(head("/machine", size)))
	write(t, conn, make([]byte, size))
	if got := readReply(t, in); got.status != http.StatusBadRequest {
		t.Errorf("got %d %q, want 400", got.status, got.text)
	}

	conn, in = h.dial(t)
	write(t, conn, []byte("POST /machine HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"))
	for range size >> 16 {
		write(t, conn, append([]byte("10000\r\n"), append(make([]byte, 1<<16), "\r\n"...)...))
	}
	write(t, conn, []byte("0\r\n\r\n"))
	if got := readReply(t, in); got.status != http.StatusBadRequest {
		t.Errorf("chunked: got %d %q, want 400", got.status, got.text)
	}
}

// TestWireMalformedChunks checks that a malformed body is refused permanently, but an incomplete
// one is not.
func TestWireMalformedChunks(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for name, c := range map[string]struct {
		body   string
		status int
		ends   bool // the machine sends no more; otherwise, the answer must not wait for its end
	}{
		"no hex digit":               {"zz\r\nabc\r\n0\r\n\r\n", http.StatusBadRequest, false},
		"a chunk that is too long":   {"3\r\nabcdef\r\n0\r\n\r\n", http.StatusBadRequest, false},
		"a length beyond all bounds": {"fffffffffffffffff\r\nabc", http.StatusBadRequest, false},
		"an endless length":          {strings.Repeat("0", 5000) + "\r\n", http.StatusBadRequest, false},
		"broken off":                 {"10000\r\nabc", http.StatusServiceUnavailable, true},
	} {
		conn, in := h.dial(t)
		write(t, conn, []byte("POST /machine HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+c.body))
		if c.ends {
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if got := readReply(t, in); got.status != c.status || got.text == "" {
			t.Errorf("%s: got %d %q, want %d and a message", name, got.status, got.text, c.status)
		}
	}
}

func TestWireChunked(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	document := crashtest.Native(crashtest.Set("ProcMaps", strings.Repeat("y", 300_000))).BSON()
	h.post(t, "/machine", io.MultiReader(bytes.NewReader(document))).stored(t) // the client does not know the length
}

// TestWireLimit checks that a report of exactly the size limit is accepted, but not one byte more.
func TestWireLimit(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	filler := 1<<20 - len(crashtest.Native(crashtest.Set("ProcMaps", "")).BSON())
	most := crashtest.Native(crashtest.Set("ProcMaps", strings.Repeat("z", filler))).BSON()
	if len(most) != 1<<20 {
		t.Fatalf("made %d bytes", len(most))
	}
	h.post(t, "/a", bytes.NewReader(most)).stored(t)
	h.post(t, "/b", io.MultiReader(bytes.NewReader(most))).stored(t)
	over := append(most, 0)
	if got := h.post(t, "/c", io.MultiReader(bytes.NewReader(over))); got.status != http.StatusBadRequest {
		t.Errorf("got %d %q, want 400", got.status, got.text)
	}
}

// TestWireKeepAlive sends several reports over one connection, including after refusals.
func TestWireKeepAlive(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	conn, in := h.dial(t)
	for i := range 3 {
		document := crashtest.Native(crashtest.Process(i)).BSON()
		write(t, conn, append([]byte(head("/machine", len(document))), document...))
		readReply(t, in).stored(t)
		write(t, conn, []byte(head("/machine", 4)+"junk"))
		readReply(t, in).want(t, 400, "Invalid BSON.")
	}
}
