package ingest

import (
	"context"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/crash/whoopsie"
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
