package ingest_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	sentrygo "github.com/getsentry/sentry-go"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/ingest"
)

func envelope(t testing.TB, name string) []byte {
	t.Helper()
	return dbtest.Must(os.ReadFile(filepath.Join("../../crash/format/sentry/testdata", name)))(t)
}

// addProject creates a project, and returns it with its key.
func (h *fixture) addProject(t *testing.T, name string, listed bool) crash.Project {
	t.Helper()
	number := dbtest.Must(h.doors.CreateProject(t.Context(), crash.Project{Name: name, Source: name, Listed: listed},
		"ada"))(t)
	for _, p := range dbtest.Must(h.doors.Projects(t.Context()))(t) {
		if p.Number == number {
			return p
		}
	}
	t.Fatal("the project is missing")
	return crash.Project{}
}

// sendEvent sends a request to the address of a project. The header has lines such as "Content-Encoding: gzip".
func (h *fixture) sendEvent(t *testing.T, path string, body []byte, header ...string) (
	status int, headers http.Header, members map[string]string,
) {
	t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, bytes.NewReader(body)))(t)
	for _, line := range header {
		if line == "" {
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := h.Client().Do(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to the end
	var got map[string]string
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatalf("%s: got status %d and no JSON: %v", path, answer.StatusCode, err)
	}
	return answer.StatusCode, answer.Header, got
}

func auth(key string) string {
	return "X-Sentry-Auth: Sentry sentry_version=7, sentry_client=tests/1, sentry_key=" + key
}

// TestSentryLibrary sends an error, a panic and a message with the real library for Go.
func TestSentryLibrary(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	p := h.addProject(t, "chartd", false)
	dsn := strings.Replace(h.URL, "://", "://"+p.Key()+"@", 1) + "/" + fmt.Sprint(p.Number)
	client := dbtest.Must(sentrygo.NewClient(sentrygo.ClientOptions{Dsn: dsn, Release: "chartd@0.9.1",
		Environment: "fleet-c", ServerName: "buoy9", AttachStacktrace: true}))(t)
	hub := sentrygo.NewHub(client, sentrygo.NewScope())
	hub.CaptureException(fmt.Errorf("chart: %w", errors.New("none")))
	func() {
		defer func() { hub.Recover(recover()) }()
		panic(errors.New("sunk"))
	}()
	hub.CaptureMessage("a message, which is no error")
	if !client.Flush(20 * time.Second) {
		t.Fatal("the library has not sent everything in time")
	}
	h.counted(t)
	for _, signature := range []string{
		"chartd:*fmt.wrapError:mishap/handlers/ingest_test.TestSentryLibrary",
		"chartd:*errors.errorString:mishap/handlers/ingest_test.func1:mishap/handlers/ingest_test.TestSentryLibrary",
	} {
		b, err := h.store.Bucket(t.Context(), crash.BucketIDOf(signature))
		if err != nil || b.Reports != 1 || b.Systems != 1 || b.SourcePackage != "chartd" ||
			b.LastSeenVersion != "0.9.1" {
			t.Errorf("%s: got %+v, %v; want one report of version 0.9.1", signature, b, err)
		}
	}
	checktest.NoError(t, h.doors.Flush(t.Context()))
	counts := dbtest.Must(h.doors.Activity(t.Context(), time.Now().AddDate(0, 0, -1)))(t)
	got := map[string]int64{}
	for _, c := range counts {
		checktest.Equal(t, "door", c.Door, crash.DoorSentry)
		checktest.Equal(t, "project", c.Project, p.Number)
		got[c.Outcome] = c.Requests
	}
	if got["stored"] != 2 || got["dropped"] != 1 {
		t.Errorf("got counts %v, want 2 stored, 1 dropped", got)
	}
	if used := dbtest.Must(h.doors.Projects(t.Context()))(t)[0].Keys[0].LastUsed; used.IsZero() {
		t.Error("the key was never used, want the time of the last use")
	}
}

// compressed returns a body in each encoding.
func compressed(t testing.TB, body []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"": body, "identity": body}
	for name, start := range map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) io.WriteCloser { return dbtest.Must(zstd.NewWriter(w))(t) },
	} {
		var b bytes.Buffer
		w := start(&b)
		dbtest.Must(w.Write(body))(t)
		checktest.NoError(t, w.Close())
		all[name] = b.Bytes()
	}
	return all
}

// TestSentryForms sends what libraries have sent: with the key in each place, in each encoding, to each address.
func TestSentryForms(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	p := h.addProject(t, "harbor", false)
	at := func(rest string) string { return fmt.Sprintf("/api/%d/%s", p.Number, rest) }
	id := func(n int) string { return fmt.Sprintf("%032x", n) }
	n := 0
	python := func() []byte {
		n++
		return bytes.ReplaceAll(envelope(t, "python.json"), []byte("ef58b317f8f94fe0b8d96a23abbc32f9"), []byte(id(n)))
	}
	for _, rest := range []string{"store/", "store", "store/?x=1"} {
		status, _, got := h.sendEvent(t, at(rest), python(), auth(p.Key()))
		if status != http.StatusOK || got["id"] != id(n) {
			t.Errorf("%s: got %d %v, want the id of the event", rest, status, got)
		}
	}
	for encoding := range compressed(t, nil) {
		status, _, got := h.sendEvent(t, at("store/"), compressed(t, python())[encoding], auth(p.Key()),
			"Content-Encoding: "+encoding)
		if status != http.StatusOK || got["id"] != id(n) {
			t.Errorf("encoding %q: got %d %v, want the id of the event", encoding, status, got)
		}
	}
	drkonqi := bytes.ReplaceAll(envelope(t, "drkonqi.envelope"), []byte("0123456789abcdef0123456789abcdef"),
		[]byte(p.Key()))
	for name, c := range map[string]struct {
		path   string
		body   []byte
		header string
	}{
		"Node":             {at("envelope/?sentry_version=7&sentry_key=" + p.Key()), envelope(t, "node.envelope"), ""},
		"Go":               {at("envelope/"), envelope(t, "go.envelope"), auth(p.Key())},
		"a panic of Go":    {at("envelope/"), envelope(t, "go-panic.envelope"), auth(p.Key())},
		"DrKonqi":          {at("envelope/"), drkonqi, ""},
		"native, a prefix": {"/crashes" + at("envelope"), envelope(t, "native.envelope"), auth(p.Key())},
		"an older header": {at("envelope/"), envelope(t, "harbor.envelope"),
			"Authorization: Sentry sentry_key=" + p.Key()},
	} {
		for _, outcome := range []string{"new", "again"} {
			status, _, got := h.sendEvent(t, c.path, c.body, c.header)
			if status != http.StatusOK || len(got["id"]) != 32 {
				t.Errorf("%s, %s: got %d %v, want the id of the event", name, outcome, status, got)
			}
		}
	}
	h.counted(t)
	labels := map[string]string{"door": "sentry", "outcome": "repeated", "reason": ""}
	h.wantMetric(t, "mishap_ingest_reports_total", labels, 6)
	labels["outcome"], labels["reason"] = "stored", "bucketed"
	h.wantMetric(t, "mishap_ingest_reports_total", labels, float64(n)+6)
	checktest.NoError(t, h.doors.Flush(t.Context()))
	i := slices.IndexFunc(dbtest.Must(h.doors.Activity(t.Context(), time.Now().AddDate(0, 0, -1)))(t),
		func(c crash.DoorCount) bool { return c.Outcome == "lost" && c.Requests == 6 })
	if i < 0 {
		t.Error("the reports that clients say they lost are not counted")
	}
	if found := h.search(t, "hunter2"); len(found) > 0 {
		t.Errorf("a local variable is stored: %v", found)
	}
}

// TestSentryRefusals checks the answers to what is refused.
func TestSentryRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	p, other := h.addProject(t, "harbor", false), h.addProject(t, "reef", false)
	checktest.NoError(t, h.doors.RevokeKey(t.Context(), other.Number, other.Key(), "ada"))
	address := fmt.Sprintf("/api/%d/envelope/", p.Number)
	body := envelope(t, "go.envelope")
	bomb := compressed(t, make([]byte, 40<<20))
	key, encoding := auth(p.Key()), func(name string) string { return "Content-Encoding: " + name }
	closed := fmt.Sprintf("/api/%d/envelope/", other.Number)
	deep := append([]byte("{}\n{\"type\":\"event\"}\n"), bytes.Repeat([]byte("["), 100_000)...)
	for name, c := range map[string]struct {
		path   string
		body   []byte
		header []string
		status int
		text   string
	}{
		"no key":             {address, envelope(t, "node.envelope"), nil, 403, "no key"},
		"a wrong key":        {address, body, []string{auth(strings.Repeat("0", 32))}, 403, "no project with this number"},
		"a wrong DSN":        {address, body, nil, 403, "no project with this number"},
		"another project":    {"/api/999/envelope/", body, []string{key}, 403, "no project with this number"},
		"the key of another": {closed, body, []string{key}, 403, "no project"},
		"a revoked key":      {closed, body, []string{auth(other.Key())}, 403, "no project"},
		"no envelope":        {address, []byte("x"), []string{key}, 400, "no JSON object"},
		"deep":               {address, deep, []string{key}, 400, "levels"},
		"an encoding":        {address, body, []string{key, encoding("compress")}, 415, "not supported"},
		"no gzip":            {address, body, []string{key, encoding("gzip")}, 400, "cannot be uncompressed"},
		"no zstd":            {address, body, []string{key, encoding("zstd")}, 400, "cannot be uncompressed"},
		"no brotli":          {address, body, []string{key, encoding("br")}, 400, "cannot be uncompressed"},
		"a bomb, gzip":       {address, bomb["gzip"], []string{key, encoding("gzip")}, 413, "larger than the limit"},
		"a bomb, deflate":    {address, bomb["deflate"], []string{key, encoding("deflate")}, 413, "larger than the limit"},
		"a bomb, brotli":     {address, bomb["br"], []string{key, encoding("br")}, 413, "larger than the limit"},
		"a bomb, zstd":       {address, bomb["zstd"], []string{key, encoding("zstd")}, 413, "larger than the limit"},
		"too large":          {address, make([]byte, 2<<20), []string{key}, 413, "larger than the limit"},
	} {
		status, header, got := h.sendEvent(t, c.path, c.body, c.header...)
		if status != c.status || !strings.Contains(got["detail"], c.text) || header.Get("X-Sentry-Error") != got["detail"] ||
			header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got %d %v, want %d with %q", name, status, got, c.status, c.text)
		}
	}
	h.wantAlive(t)
}

// TestSentryLimits checks that clients are asked to pause while their reports are still accepted, and that what is
// over the limit is refused.
func TestSentryLimits(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.RatePerAddress = 8 })
	p := h.addProject(t, "harbor", false)
	var asked, refused int
	for i := range 12 {
		body := fmt.Sprintf(`{"event_id":"%032x","timestamp":1764583872,"exception":[{"type":"E"}]}`, i)
		status, header, _ := h.sendEvent(t, fmt.Sprintf("/api/%d/store/", p.Number), []byte(body), auth(p.Key()))
		pause := header.Get("X-Sentry-Rate-Limits")
		switch {
		case status == http.StatusOK && pause != "":
			asked++
		case status == http.StatusTooManyRequests && pause != "" && header.Get("Retry-After") == "60":
			refused++
		case status != http.StatusOK:
			t.Errorf("got status %d", status)
		}
	}
	// The limit's minute may change meanwhile.
	if asked == 0 || refused == 0 {
		t.Errorf("got %d answers that ask to pause and %d refusals, want some of both", asked, refused)
	}
}

// TestClosedDoors checks that nothing is lost at a closed door of a client that tries again, and the answers at others.
func TestClosedDoors(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	p := h.addProject(t, "harbor", true)
	all := func() (statuses [3]int) {
		statuses[0] = h.post(t, "/machine", bytes.NewReader(nil)).status
		statuses[1] = h.sendRaw(t, form("/reports/new/", "{}")).status
		statuses[2], _, _ = h.sendEvent(t, fmt.Sprintf("/api/%d/store/", p.Number), []byte("{}"), auth(p.Key()))
		return statuses
	}
	checktest.Equal(t, "open", all(), [3]int{400, 400, 200})
	for _, door := range crash.Doors {
		checktest.NoError(t, h.doors.SetDoor(t.Context(), door, true, "ada"))
	}
	checktest.Equal(t, "closed", all(), [3]int{503, 400, 403})
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "abrt", "outcome": "refused", "reason": "closed"}, 1)
	for _, door := range crash.Doors {
		checktest.NoError(t, h.doors.SetDoor(t.Context(), door, false, "ada"))
	}
	checktest.Equal(t, "open again", all(), [3]int{400, 400, 200})
}

// TestProjectList checks the list of projects that DrKonqi reads.
func TestProjectList(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	list := func() string {
		return h.send(t, http.MethodGet, "/_drkonqi_static/0/dsns.json", nil).text
	}
	checktest.Equal(t, "no project", list(), "{}\n")
	p := h.addProject(t, "kompass", true)
	h.addProject(t, "harbor", false)
	checktest.Equal(t, "list", list(), fmt.Sprintf(`{"kompass":{"project":"kompass","key":"%s","index":"%d"}}`+"\n",
		p.Key(), p.Number))
}
