package ingest

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"mishap/crash"
)

// Limits of a ping.
const (
	maxPing        = 1 << 10 // bytes
	maxPingRelease = 100     // characters
)

var pingArchitecture = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

var errPing = crash.Errorf(crash.Invalid, "bad_ping",
	`Expected JSON with a release and an architecture, such as {"release":"Fedora 43","architecture":"amd64"}.`)

// isPing distinguishes a ping from a report of a machine that is called ping: reports are not JSON.
func isPing(r *http.Request, to pathKind) bool {
	if to != report && to != unknown || !strings.HasSuffix(r.URL.Path, "/ping") {
		return false
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// submitPing counts a machine that says that it is there.
func (h *handler) submitPing(w http.ResponseWriter, r *http.Request, _ path) (result, error) {
	body, err := newPacedBody(w, r, maxPing)
	if err != nil {
		return result{}, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return result{}, err
	}
	var p crash.Ping
	if err := json.Unmarshal(data, &p); err != nil {
		return result{}, errPing.Because(err)
	}
	release := string(p.Release)
	if release == "" || crash.Truncate(crash.OneLine(release), maxPingRelease) != release ||
		!pingArchitecture.MatchString(p.Architecture) {
		return result{}, errPing
	}
	if h.Doors != nil {
		h.Doors.CountPing(p)
	}
	return result{text: "Counted.", outcome: "stored"}, nil
}
