package ingest

import (
	"net/http"
	"time"

	"github.com/go-chi/httprate"

	"mishap/crash"
	"mishap/handlers/proxies"
)

// limit limits requests per minute by a key; nil is no limit.
type limit struct{ *httprate.RateLimiter }

func newLimit(perMinute int) *limit {
	if perMinute <= 0 {
		return nil
	}
	none := httprate.WithResponseHeaders(httprate.ResponseHeaders{})
	return &limit{httprate.NewRateLimiter(perMinute, time.Minute, none)}
}

func (l *limit) exceeded(w http.ResponseWriter, r *http.Request, key string) bool {
	return l != nil && l.OnLimit(w, r, key)
}

var (
	errSystemRate = &crash.Error{Kind: crash.TooMany, Code: "rate_per_system", RetryAfter: time.Minute,
		Message: "This machine sends too many reports; please send this one again later."}
	errAddressRate = &crash.Error{Kind: crash.TooMany, Code: "rate_per_address", RetryAfter: time.Minute,
		Message: "Too many reports come from this network address; please send this one again later."}
)

// admit checks the rates before the body is read. Machines without a hash cannot be told apart, so
// only their address limits them.
func (h *handler) admit(w http.ResponseWriter, r *http.Request, to path) error {
	if h.byAddress.exceeded(w, r, proxies.Key(proxies.Client(r))) {
		return errAddressRate
	}
	if to.system != "" && h.bySystem.exceeded(w, r, string(crash.NewSystemID(to.system))) {
		return errSystemRate
	}
	return nil
}
