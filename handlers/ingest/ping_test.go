package ingest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/handlers/ingest"
)

// ping sends a ping, with the type of its body.
func (h *fixture) ping(t *testing.T, path, kind, body string) reply {
	t.Helper()
	req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, text(body)))(t)
	req.Header.Set("Content-Type", kind)
	res, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to the end
	answer := dbtest.Must(io.ReadAll(res.Body))(t)
	return reply{res.StatusCode, string(answer), res.Header}
}

// TestPing checks which pings are counted and which refused, and that a machine called ping still reports.
func TestPing(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	other := &fixture{store: h.store, data: t.TempDir()}
	other.serve(t, func(d *ingest.Deps) { d.Registerer = nil })
	const good, kind = `{"release":"Fedora 43","architecture":"amd64"}`, "application/json"
	for range 3 {
		h.ping(t, "/ping", kind, good).want(t, http.StatusOK, "Counted.")
	}
	other.ping(t, "/a/prefix//ping", kind+"; charset=utf-8", good).want(t, http.StatusOK, "Counted.")
	h.ping(t, "/ping", kind, `{"release":"Grün 1 \u0026 <x>","architecture":"riscv64","more":1}`).
		want(t, http.StatusOK, "Counted.")
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "release=x", "an array": "[]", "no release": `{"architecture":"amd64"}`,
		"a number":               `{"release":7,"architecture":"amd64"}`,
		"no architecture":        `{"release":"Fedora 43"}`,
		"two lines":              `{"release":"Fedora\n43","architecture":"amd64"}`,
		"a zero":                 `{"release":"Fedora\u000043","architecture":"amd64"}`,
		"blanks":                 `{"release":" ","architecture":"amd64"}`,
		"a long release":         `{"release":"` + strings.Repeat("x", 101) + `","architecture":"amd64"}`,
		"an odd architecture":    `{"release":"Fedora 43","architecture":"am d"}`,
		"more than one document": good + good,
	} {
		if got := h.ping(t, "/ping", kind, body); got.status != http.StatusBadRequest ||
			!strings.HasPrefix(got.text, "Expected JSON with a release") {
			t.Errorf("%s: got %d %q, want 400", name, got.status, got.text)
		}
	}
	h.ping(t, "/ping", kind, `{"x":"`+strings.Repeat("x", 1<<10)+`"}`).
		want(t, http.StatusBadRequest, "The body is larger than the limit of 1024 bytes.")
	h.post(t, "/ping", body(crashtest.Native())).stored(t) // a machine
	h.send(t, http.MethodGet, "/ping", nil).want(t, http.StatusNotFound, "Not found.")
	checktest.NoError(t, h.doors.SetDoor(t.Context(), crash.DoorWhoopsie, true, "ada"))
	if got := h.ping(t, "/ping", kind, good); got.status != http.StatusServiceUnavailable {
		t.Errorf("a closed door: got %d %q, want 503", got.status, got.text)
	}

	for _, s := range []*doors.Store{h.doors, other.doors, h.doors} {
		checktest.NoError(t, s.Flush(t.Context()))
	}
	got := dbtest.Must(h.doors.Pings(t.Context(), crash.Midnight(h.store.Now())))(t)
	if len(got) != 2 || got[0] != (crash.PingCount{Release: "Fedora 43", Machines: 4}) ||
		got[1] != (crash.PingCount{Release: "Grün 1 & <x>", Machines: 1}) {
		t.Errorf("got %v, want 4 of Fedora 43 by two instances, and another one", got)
	}
	h.wantMetric(t, "mishap_ingest_pings_total", map[string]string{"outcome": "stored"}, 4)
	for _, c := range dbtest.Must(h.doors.Activity(t.Context(), today.AddDate(-1, 0, 0)))(t) {
		if c.Requests != 1 || c.Outcome != "stored" {
			t.Errorf("got %+v among the reports of the door, want only that of the machine called ping", c)
		}
	}
}

// TestPingRate checks that the limit of an address covers pings.
func TestPingRate(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.RatePerAddress = 2 })
	busy := 0
	for range 9 { // of two minutes, if one ends meanwhile
		got := h.ping(t, "/ping", "application/json", `{"release":"Fedora 43","architecture":"amd64"}`)
		if got.status == http.StatusServiceUnavailable {
			busy++
		}
	}
	if busy < 5 {
		t.Errorf("got %d refusals of 9, want 5 at least", busy)
	}
}
