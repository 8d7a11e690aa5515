package ingest

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"mishap/crash"
)

// result is the result of a request: the text of the answer, two words for the metrics, and the status.
type result struct {
	text, outcome, reason string
	status                int
}

// answer sends one line of plain text without a line break: clients compare every byte.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a client that has left needs no answer
}

// statusOf returns the status for an error of each kind; see the package comment. Other kinds do
// not occur; like internal errors, they give 500.
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

// refuse answers with the message of err for the sender.
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
	return result{outcome: outcome, reason: reason, status: status}
}
