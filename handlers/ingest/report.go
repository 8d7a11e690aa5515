package ingest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/httprate"

	"mishap/crash"
	"mishap/crash/whoopsie"
	"mishap/handlers/proxies"
)

// answerWithin limits the time from the arrival of a report to its answer. whoopsie has no time-out
// and sends no other report while it waits. It tolerates eight seconds. A report may still be
// stored after that; when it is sent again, it is recognised.
const answerWithin = 8 * time.Second

// submitReport accepts one BSON document. Package intake decides which reports are refused, and
// why.
func (h *handler) submitReport(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	if err := h.Disk.Room(); err != nil {
		return result{}, err
	}
	body, err := newPacedBody(w, r, h.MaxBytes)
	if err != nil {
		return result{}, err
	}
	room := h.newRoom()
	defer room.release()
	data, err := room.read(r.Context(), body)
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
	defer cancel()
	document, err := whoopsie.Open(data)
	if err != nil {
		return result{}, err
	}
	fields, err := room.fields(ctx, document)
	if err != nil {
		return result{}, err
	}
	receipt, err := h.Intake.Accept(ctx, crash.Report{
		ID: crash.NewOopsID(h.Now()), System: crash.NewSystemID(to.system), Fields: fields,
	})
	if err != nil {
		return result{}, err
	}
	res := result{text: receipt.ID.String() + " OOPSID", outcome: "stored", reason: "bucketed"}
	switch {
	case receipt.Duplicate:
		res.outcome, res.reason = "repeated", ""
	case receipt.Unbucketed:
		res.reason = "unbucketed"
	}
	if receipt.Core != nil && h.wantsCore(ctx, *receipt.Core) {
		res.text = receipt.ID.String() + " CORE"
	}
	return res, nil
}

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
