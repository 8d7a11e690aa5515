// Package hooks receives the calls of trackers' webhooks, which say that an issue has changed.
package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/handlers/web"
	"mishap/tracker"
)

// PathTracker begins the addresses of webhooks. The name of a tracker follows.
const PathTracker = "/hooks/tracker/"

// maxBody is the size of the largest body, in bytes. The text of an issue has at most 1 MB in GitLab, and far less
// elsewhere. Changes of larger ones are found by asking the tracker.
const maxBody = 2 << 20

// Deps are what the handlers of this package use.
type Deps struct {
	Bugs  *bugs.Store
	Sites *tracker.Sites
}

// Receiver receives calls.
type Receiver struct {
	web *web.Kit
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, d Deps) *Receiver { return &Receiver{kit, d} }

var (
	errNoHook = crash.Errorf(crash.NotFound, "no_webhook", "There is no tracker of this name that has webhook_secret in "+
		"the configuration, and a kind that calls webhooks.")
	errTooLarge = crash.Errorf(crash.TooLarge, "too_large", "The body of this call is larger than %d MiB.", maxBody>>20)
)

// Receive receives a call of the tracker that the address names. If the call says that an issue has changed, its bug is
// read soon. Nothing else of the call has an effect. The answer is always JSON: result is "accepted", "known" for a
// call that came before, or "ignored" for a call about no known bug; errors have message.
func (s *Receiver) Receive(w http.ResponseWriter, r *http.Request) error {
	result, err := s.receive(w, r)
	if err == nil {
		return web.WriteJSON(w, http.StatusOK, map[string]string{"result": result})
	}
	a := web.AnswerTo(r, err)
	s.web.LogError(r, err, a)
	a.Headers(w)
	return web.WriteJSON(w, a.Status, map[string]string{"error": a.Code, "message": a.Message})
}

func (s *Receiver) receive(w http.ResponseWriter, r *http.Request) (result string, err error) {
	m, ok := s.Sites.Member(chi.URLParam(r, "name"))
	if !ok || m.Kind.Hook == nil || m.WebhookSecret == "" {
		return "", errNoHook
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return "", errTooLarge
	}
	if err != nil {
		return "", crash.Errorf(crash.Invalid, "bad_call", "The body of this call ended early.")
	}
	change, err := m.Kind.Hook(r.Header, body, m.WebhookSecret)
	if err != nil {
		return "", err
	}
	numbers, err := s.Sites.Numbered(r.Context(), m.Name, change.Project, change.Number)
	if err != nil || len(numbers) == 0 {
		return "ignored", err
	}
	sum := sha256.Sum256(body) // not every signature includes the id
	ids := []string{"id " + change.Call, "sha256 " + hex.EncodeToString(sum[:])}
	first, err := s.Bugs.ReceiveCall(r.Context(), m.Name, ids, numbers)
	if !first {
		return "known", err
	}
	return "accepted", err
}
