package ingest

import (
	"context"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/crash/whoopsie"
)

// longestWait is how long a machine is kept waiting for the disk. The report may still be stored after that; when it
// is sent again, it is recognised.
const longestWait = 30 * time.Second

// submitReport takes one BSON document. Which reports are refused, and why, stands in package intake.
func (h *handler) submitReport(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	body, err := newPacedBody(w, r, h.MaxBytes)
	if err != nil {
		return result{}, err
	}
	data, room, err := h.whole(body)
	defer room.release()
	if err != nil {
		return result{}, err
	}
	fields, err := whoopsie.Decode(data)
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), longestWait)
	defer cancel()
	receipt, err := h.Intake.Accept(ctx, crash.Report{
		ID: crash.NewOopsID(h.Now()), System: crash.NewSystemID(to.system), Fields: fields, Done: room.leave,
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
	return res, nil
}
