package ingest

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"mishap/crash"
)

// result is what came of a request: the text of the answer, and two words for the metrics.
type result struct{ text, outcome, reason string }

// answer sends one line of plain text without a line break: clients compare it to the byte.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a client that has gone needs no answer
}

// statusOf says which status an error of each kind gets here, see the package comment. Kinds that are not named do not
// come up; like anything internal they are 500.
func statusOf(kind crash.Kind) int {
	switch kind { //nolint:exhaustive // see above
	case crash.Invalid, crash.NotFound, crash.TooLarge:
		return http.StatusBadRequest
	case crash.Unavailable, crash.TooMany:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

const usualRetryAfter = time.Minute

// refuse answers with what err says to the sender.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) result {
	status, text, reason, retry := http.StatusInternalServerError, "Internal error.", "internal", time.Duration(0)
	if e, ok := errors.AsType[*crash.Error](err); ok {
		status, text, reason, retry = statusOf(e.Kind), e.Message, e.Code, e.RetryAfter
	}
	outcome := "failed"
	switch status {
	case http.StatusInternalServerError:
		h.Log.ErrorContext(r.Context(), "request failed", "reason", reason, "error", err)
	case http.StatusServiceUnavailable:
		if retry == 0 {
			retry = usualRetryAfter
		}
		w.Header().Set("Retry-After", strconv.Itoa(int(retry.Seconds())))
	default:
		outcome = "refused"
	}
	answer(w, status, text)
	return result{outcome: outcome, reason: reason}
}
