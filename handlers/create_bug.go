package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views"
)

const pathCreateBug = "/api/1.0/create-bug-report"

var (
	errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "Creating bugs is switched off here (allow_bug_filing).")
	errMedia     = crash.Errorf(crash.UnsupportedMedia, "media_type", `Send {"signature": "…"} as application/json.`)
	errNotJSON   = crash.Errorf(crash.Invalid, "not_json", `The body is not the JSON object {"signature": "…"}.`)
	errNoSig     = crash.Errorf(crash.Invalid, "no_signature", "The signature of a problem is needed, as text that is not empty.")
)

// bugCreated is the answer of the API to Create.
type bugCreated struct {
	Signature string  `json:"signature"`
	Report    *string `json:"report"` // the number of the bug; null: not known yet
	URL       *string `json:"url"`
	State     string  `json:"state"` // "filed", or "filing"
}

// againAfter is when asking for the state of a filing makes sense.
const againAfter = 2 * time.Second

// createBug has one bug created for the bucket with the given signature. The same address serves scripts (JSON), the form
// with scripts (a part), and the form without (303 back to the bucket).
func (s *Server) createBug(w http.ResponseWriter, r *http.Request) error {
	if !s.config.AllowBugFiling {
		return errFilingOff
	}
	sent, err := sentSignature(r)
	if err != nil {
		return err
	}
	b, err := s.bucketFor(r.Context(), sent)
	if err != nil {
		return err
	}
	result, err := s.filer.CreateBug(r.Context(), b.Signature, tracker.Options{Person: currentUser(r).Name, Wait: s.config.CreateWait})
	switch {
	case wantsPart(r):
		return s.answerPart(w, r, b.ID, result, err)
	case isForm(r):
		return s.answerForm(w, r, b.ID, result, err)
	case err != nil:
		return err
	}
	out := bugCreated{Signature: b.Signature, State: "filing"}
	if result.State == crash.FilingFiled {
		number := strconv.FormatInt(result.Bug, 10)
		out.Report, out.URL, out.State = &number, &result.URL, "filed"
	}
	setAgain(w, result)
	return writeJSON(w, createdStatus(result), out)
}

// createdStatus says who filed the bug: this request, somebody before, or nobody yet.
func createdStatus(result tracker.Result) int {
	switch {
	case result.State != crash.FilingFiled:
		return http.StatusAccepted
	case result.New:
		return http.StatusCreated
	}
	return http.StatusOK
}

func setAgain(w http.ResponseWriter, result tracker.Result) {
	if result.State != crash.FilingFiled {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(againAfter.Seconds()))))
	}
}

// answerPart shows the bug cell as it is now, or the status around it, with the HTTP status that the API would give. When no
// bug was created, it is always the cell.
func (s *Server) answerPart(w http.ResponseWriter, r *http.Request, id crash.BucketID, result tracker.Result, failed error) error {
	b, err := s.bucket(r.Context(), id)
	if err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil {
		setAgain(w, result)
		return s.answerBug(w, r, createdStatus(result), b)
	}
	p := s.bugPart(r, b)
	target := r.Header.Get("HX-Target")
	p.Whole, p.Copy = views.IsStatusTarget(target), views.CopyTargeted(target, b.ID)
	a := answerTo(r, failed)
	s.logError(r, failed, a)
	a.headers(w)
	if p.State == views.BugCreate {
		p.State, p.Reason = views.BugRefused, a.Message
	}
	return s.page(w, r, a.status, views.BugNow(p))
}

// answerForm sends a browser without scripts back to the bucket, with a message.
func (s *Server) answerForm(w http.ResponseWriter, r *http.Request, id crash.BucketID, result tracker.Result, failed error) error {
	kind, text := views.FlashDone, "The bug is being created."
	switch {
	case failed != nil:
		a := answerTo(r, failed)
		s.logError(r, failed, a)
		kind, text = views.FlashError, "The bug was not created. "+a.Message
	case result.State == crash.FilingFiled && result.New:
		text = fmt.Sprintf("Bug %d was created.", result.Bug)
	case result.State == crash.FilingFiled:
		text = fmt.Sprintf("There is a bug already: %d.", result.Bug)
	}
	if err := s.flash(r, kind, text); err != nil {
		return err
	}
	http.Redirect(w, r, id.Path(), http.StatusSeeOther)
	return nil
}

// sentSignature reads the signature of a request, as it was sent. It returns UnsupportedMedia, TooLarge or Invalid.
func sentSignature(r *http.Request) (string, error) {
	if isForm(r) { // read by the guard
		if signature := r.PostFormValue("signature"); signature != "" {
			return signature, nil
		}
		return "", errNoSig
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return "", errMedia
	}
	body, err := io.ReadAll(r.Body)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return "", errTooLarge
	}
	if err != nil {
		return "", errNotJSON.Because(fmt.Errorf("read body: %w", err))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return "", errNotJSON
	}
	var signature string
	if err := json.Unmarshal(fields["signature"], &signature); err != nil || signature == "" {
		return "", errNoSig
	}
	return signature, nil
}

// bucketFor finds the bucket that a signature as sent means: percent-decoded once if there is such a bucket, else as it
// stands. It returns NotFound when there is neither.
func (s *Server) bucketFor(ctx context.Context, sent string) (crash.Bucket, error) {
	if decoded := percentDecoded(sent); decoded != sent {
		b, err := s.store.Bucket(ctx, crash.BucketIDOf(decoded))
		if err == nil || crash.KindOf(err) != crash.NotFound {
			return b, err
		}
	}
	return s.store.Bucket(ctx, crash.BucketIDOf(sent))
}

// percentDecoded decodes %XX once, and leaves a percent sign alone that no two hex digits follow. Plus signs stay.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if b, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
