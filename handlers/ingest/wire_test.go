package ingest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
)

// dial opens a plain connection, on which a test sends exactly what whoopsie sends.
func (h *fixture) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	conn := dbtest.Must(d.DialContext(t.Context(), "tcp", h.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	checktest.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
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
			checktest.NoError(t, conn.(*net.TCPConn).CloseWrite())
		}
		if got := readReply(t, in); got.status != c.status || got.text == "" {
			t.Errorf("%s: got %d %q, want %d and a message", name, got.status, got.text, c.status)
		}
	}
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

// signatures maps the samples to the signatures that they get when newer whoopsies send them. These
// come from apport 2.36, or from our own rule if apport gives none. Empty means that the report has
// no signature. bare is the signature with whoopsie 0.1.33, which drops more fields.
var signatures = map[string]struct{ modern, bare string }{
	"_usr_bin_tidewatch.1000": both(
		"/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"),
	"_usr_bin_tidewatch.1001": both(
		"/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"),
	"_usr_bin_quillpad.1000": both("/usr/bin/quillpad:ERROR:../src/buffer.c:120:buffer_take: " +
		"assertion failed (buf->ref > 0): (ADDR)"),
	"_usr_bin_harbor-sync.0":    both("/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load"),
	"_usr_bin_harbor-sync.1000": both("/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load"),
	"_usr_bin_żeglarz.1000": {"/usr/bin/żeglarz:OSError(28):główna:zapisz",
		"/usr/bin/żeglarz:OSError:główna:zapisz"},
	"_usr_bin_lumen-shell.1000":         both("address"),
	"_usr_libexec_reefd.117":            both("/usr/libexec/reefd:index-rebuild-needed"),
	"brigwifi-dkms.0":                   both("package:brigwifi-dkms:2.0-1ubuntu3\n"),
	"susres.2026-02-03_06:07:08.123456": both("suspend/resume:Marlin Corp. SeaBook 14:M14ET29W (1.17 )"),
	"linux-image-6.8.0-41-generic.3f1b77aa": {"kernel:NULL pointer dereference:brig_tx_done [brigwifi]:brig_irq " +
		"[brigwifi]:__handle_irq_event_percpu:handle_irq_event", ""},
	"linux-image-5.15.0-97-generic.77aa01": {"kernel NULL pointer dereference:brig_tx_done+0x62/0x110 " +
		"[brigwifi]:brig_irq+0x41/0x80 [brigwifi]:handle_irq_event_percpu+0x4c/0x190", ""},
	"linux-image-7.0.0-12-generic-202607010203": both(""),
}

func both(signature string) struct{ modern, bare string } {
	return struct{ modern, bare string }{signature, signature}
}

// TestSamples posts the bytes of real daemons, each from its own machine, and checks their
// grouping.
func TestSamples(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, file := range samples(t, "*.bson") {
		name := strings.TrimSuffix(filepath.Base(file), ".bson")
		t.Run(name, func(t *testing.T) {
			body := dbtest.Must(os.ReadFile(file))(t)
			r := h.report(t, h.post(t, "/"+name, bytes.NewReader(body)).stored(t))
			if string(r.System) != name || r.Fields["Package"] == "" {
				t.Errorf("got system %q, Package %q", r.System, r.Fields["Package"])
			}
			crashName, modern := strings.CutSuffix(name, ".modern")
			want := signatures[crashName].modern
			if !modern {
				want = signatures[strings.TrimSuffix(name, ".v0133")].bare
			}
			h.wantBucket(t, r, want)
		})
	}
}

func (h *fixture) wantBucket(t *testing.T, r crash.StoredReport, signature string) {
	t.Helper()
	if r.Bucket == nil {
		if signature != "" || r.Unbucketed == "" {
			t.Errorf("got no bucket (%q), want %q", r.Unbucketed, signature)
		}
		return
	}
	h.counted(t)
	b := dbtest.Must(h.store.Bucket(t.Context(), *r.Bucket))(t)
	if signature == "address" {
		signature = r.AddressSignature
		if !b.Provisional {
			t.Error("got a final bucket, want a provisional one")
		}
	}
	if signature == "" || !strings.HasPrefix(b.Signature, signature) {
		t.Errorf("got bucket %q, want %q", b.Signature, signature)
	}
	if b.ID != crash.BucketIDOf(b.Signature) {
		t.Errorf("bucket %q has the id %s", b.Signature, b.ID)
	}
}

// TestSamplesOnce sends all samples from one machine, as two versions of its daemon would: each
// crash counts once.
func TestSamplesOnce(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	first := map[string]crash.OopsID{}
	for _, file := range samples(t, "_usr_bin_tidewatch.*.bson") {
		body := dbtest.Must(os.ReadFile(file))(t)
		id := h.post(t, "/one-machine", bytes.NewReader(body)).stored(t)
		crashName := strings.Join(strings.Split(filepath.Base(file), ".")[:2], ".")
		if known, ok := first[crashName]; ok && known != id {
			t.Errorf("%s: got id %s, want that of the first sending, %s", file, id, known)
		}
		first[crashName] = id
	}
	h.counted(t)
	b := dbtest.Must(h.store.Bucket(t.Context(), crash.BucketIDOf(signatures["_usr_bin_tidewatch.1000"].modern)))(t)
	if b.Reports != 2 || b.Systems != 1 || b.LowestVersion != "1.4.2-1ubuntu0.1" || b.HighestVersion != "1.4.9-2" ||
		b.LowestRelease != "Ubuntu 22.04" || b.HighestRelease != "Ubuntu 24.04" || b.HighestVersionRelease != "Ubuntu 24.04" {
		t.Errorf("got %+v", b)
	}
}

func TestSampleCores(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, file := range samples(t, "*.core.txt") {
		report := dbtest.Must(os.ReadFile(strings.TrimSuffix(file, ".core.txt") + ".modern.bson"))(t)
		coreText := dbtest.Must(os.ReadFile(file))(t)
		id := h.post(t, "/machine", bytes.NewReader(report)).stored(t)
		h.ask(t, id.String(), "machine")
		h.post(t, "/"+id.String()+"/submit-core/amd64/machine", bytes.NewReader(coreText)).want(t, http.StatusOK, id.String())
		if kept := h.core(t, id); kept != string(coreText) {
			t.Errorf("%s: got %d bytes, want the %d that were sent", file, len(kept), len(coreText))
		}
	}
}

// core returns the stored core of a report.
func (h *fixture) core(t *testing.T, id crash.OopsID) string {
	t.Helper()
	in := dbtest.Must(openCores(t, h.data).Open(t.Context(), id))(t)
	defer in.Close() //nolint:errcheck // only read
	b := dbtest.Must(io.ReadAll(in))(t)
	return string(b)
}
