package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/format/abrt"
)

// abrtDoor is the protocol of ABRT's reporter-ureport. The client takes only 202 without an error, and 400 or 413
// with one, as an answer; it has sentences of its own for 404, 500 and 503, and sends nothing again by itself.
var abrtDoor = &door{
	name: crash.DoorABRT, accepted: http.StatusAccepted,
	statuses: map[crash.Kind]int{
		crash.TooLarge: http.StatusRequestEntityTooLarge, crash.Forbidden: http.StatusBadRequest,
	},
	answer: answerJSON,
	refuse: func(w http.ResponseWriter, status int, sentence string) {
		answerJSON(w, status, asJSON(map[string]string{"error": sentence}))
	},
}

func answerJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a client that has left needs no answer
}

func asJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // only texts and booleans
	return text.String()
}

const (
	maxUReport = 4 << 20  // bytes, as at FAF
	maxForm    = 16 << 10 // bytes of the multipart around an attachment
)

// The addresses of the bugs of a problem are read again after this time. Reading them for each report takes a third of
// the reports per processor second (measured by BenchmarkReports).
const (
	knownFor = 10 * time.Second
	maxKnown = 4096
)

// abrtPath parses the paths of ABRT; the kind of others is unknown.
func abrtPath(parts []string) path {
	if n := len(parts); n > 2 && parts[n-1] == "" {
		parts = parts[:n-1]
	}
	n := len(parts)
	switch {
	case n >= 2 && parts[n-2] == "reports" && parts[n-1] == "new":
		return path{kind: uReport}
	case n >= 2 && parts[n-2] == "reports" && parts[n-1] == "attach":
		return path{kind: attachment}
	case n >= 3 && parts[n-3] == "reports" && parts[n-2] == "bthash":
		return path{kind: stackHash, hash: parts[n-1]}
	}
	return path{}
}

// redirectHash redirects to the pages, which know the hash or not.
func (h *handler) redirectHash(w http.ResponseWriter, r *http.Request, to path) {
	old, err := crash.ParseOldAddress("/reports/bthash/" + to.hash)
	if err != nil {
		answer(w, http.StatusNotFound, "Not found.")
		return
	}
	h.redirect(w, r, old)
}

// submitUReport accepts one µReport.
func (h *handler) submitUReport(w http.ResponseWriter, r *http.Request, _ path) (result, error) {
	if err := h.Disk.Room(); err != nil {
		return result{}, err
	}
	room := h.newRoom()
	defer room.release()
	file, err := room.readFile(w, r, min(h.MaxBytes, maxUReport))
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
	defer cancel()
	if err := room.reserve(ctx, abrt.MemoryFor(file)); err != nil {
		return result{}, err
	}
	report, err := abrt.Parse(file)
	room.keep(storeFactor * int64(len(file)))
	if err != nil {
		return result{}, err
	}
	receipt, err := h.accept(ctx, w, r, report)
	if err != nil {
		return result{}, err
	}
	res := resultOf(receipt)
	res.text = asJSON(h.uReportAnswer(ctx, receipt.Bucket, receipt.Unbucketed))
	return res, nil
}

type uReportAnswer struct {
	Known      bool         `json:"result"` // the problem has a public bug: the client files no other one
	Message    string       `json:"message"`
	Hash       string       `json:"bthash,omitempty"`
	ReportedTo []reportedTo `json:"reported_to,omitempty"`
}

type reportedTo struct {
	Reporter string `json:"reporter"`
	Type     string `json:"type"`
	Value    string `json:"value"`
}

// uReportAnswer returns the answer to a report that is stored. About an embargoed problem it says the same as about
// a new one.
func (h *handler) uReportAnswer(ctx context.Context, problem crash.BucketID, unbucketed bool) uReportAnswer {
	if unbucketed {
		return uReportAnswer{Message: "The report was stored. It belongs to no problem."}
	}
	page := strings.TrimRight(h.BaseURL, "/") + problem.Path()
	a := uReportAnswer{Message: "The report was stored:\n" + page, Hash: problem.String(),
		ReportedTo: []reportedTo{{"ABRT Server", "url", page}}}
	for _, bug := range h.publicBugs(ctx, problem) {
		if !a.Known {
			a.Known, a.Message = true, "This problem is known:\n"+page
		}
		a.Message += "\n" + bug
		a.ReportedTo = append(a.ReportedTo, reportedTo{"Bugzilla", "url", bug})
	}
	return a
}

// publicBugs returns the addresses of the public bugs of a problem, or none if that fails: the report is stored.
func (h *handler) publicBugs(ctx context.Context, problem crash.BucketID) []string {
	if h.Bugs == nil {
		return nil
	}
	if known, ok := h.known.Get(problem); ok {
		return known
	}
	bugs, err := h.Bugs.PublicBugs(ctx, problem)
	if err != nil {
		h.Log.WarnContext(ctx, "cannot tell a client the bugs of its problem", "problem", problem.String(),
			"error", err)
		return nil
	}
	h.known.Add(problem, bugs)
	return bugs
}

// submitAttachment checks an attachment and drops it: nothing shows that its sender knows the problem, and bugs are
// linked by people and rules.
func (h *handler) submitAttachment(w http.ResponseWriter, r *http.Request, _ path) (result, error) {
	room := h.newRoom()
	defer room.release()
	file, err := room.readFile(w, r, abrt.MaxAttachment+maxForm)
	if err == nil {
		err = abrt.CheckAttachment(file)
	}
	if err != nil {
		return result{}, err
	}
	return result{text: asJSON(map[string]bool{"result": true}), outcome: "dropped"}, nil
}

var errForm = crash.Errorf(crash.Invalid, "malformed_form",
	"The body is not a multipart/form-data form with a file in its part “file”.")

// readFile reads a form of at most limit bytes, and returns the contents of its part "file".
func (m *room) readFile(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := newPacedBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	data, err := m.read(r.Context(), body)
	if err != nil {
		return nil, err
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, errForm
	}
	form := multipart.NewReader(bytes.NewReader(data), params["boundary"])
	const most = 10 // parts
	for range most {
		part, err := form.NextRawPart()
		if err != nil {
			return nil, errForm.Because(err)
		}
		if part.FormName() != "file" {
			continue
		}
		file, err := io.ReadAll(part)
		if err != nil {
			return nil, errForm.Because(err)
		}
		return file, nil
	}
	return nil, errForm.Because(errors.New("too many parts"))
}
