// Package bugs creates, reviews, links and lists bugs, and shows the ledger of filings.
package bugs

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	view "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store   *db.Store
	Bugs    *bugs.Store
	Filer   *tracker.Filer
	Tracker *launchpad.Client
}

// Pages serves everything about bugs.
type Pages struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, panel *panel.Panel, exporter *export.Exporter, d Deps) *Pages {
	return &Pages{kit, panel, exporter, d}
}

// ShowBug sends the bug cell, or the status around it. The cell polls it while a bug is being
// created. Requests without htmx are redirected to the page of the bucket.
func (s *Pages) ShowBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !web.WantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.panel.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.panel.AnswerBug(w, r, http.StatusOK, b)
}

var (
	errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "Creating bugs is turned off (allow_bug_filing).")
	// ErrMediaType is the error for a body that is not application/json.
	ErrMediaType   = crash.Errorf(crash.UnsupportedMedia, "media_type", `Send {"signature": "…"} as application/json.`)
	errNotJSON     = crash.Errorf(crash.Invalid, "not_json", `The body is not the JSON object {"signature": "…"}.`)
	errNoSignature = crash.Errorf(crash.Invalid, "no_signature",
		"Send the signature of a problem as text that is not empty.")
)

// bugCreated is the answer of the API to a request to create a bug.
type bugCreated struct {
	Signature string  `json:"signature"`
	Report    *string `json:"report"` // the number of the bug; null: not filed yet
	URL       *string `json:"url"`
	State     string  `json:"state"`             // "filed", or "filing"
	Tracker   string  `json:"tracker,omitempty"` // name of the tracker; empty: Launchpad
	Project   string  `json:"project,omitempty"` // of the bug, if bugs are numbered in projects
}

// pollAfter is the pause before a client should ask for the state of a filing again.
const pollAfter = 2 * time.Second

// creation is the outcome of a request to create a bug. JSON, the part and the form show it
// differently.
type creation struct {
	bucket crash.Bucket
	result tracker.Result
	err    error // why no bug was created
}

// CreateBug creates one bug for the bucket with the given signature. It serves programs (JSON),
// forms with scripts (a part) and forms without (a redirect to the bucket).
func (s *Pages) CreateBug(w http.ResponseWriter, r *http.Request) error {
	c, err := s.requestBug(r)
	switch {
	case err != nil:
		return err
	case web.WantsPart(r):
		return s.answerPart(w, r, c)
	case web.IsForm(r):
		return s.answerForm(w, r, c)
	}
	return s.answerJSON(w, r, c)
}

// requestBug reads a request and creates the bug that it asks for. An error means that the request
// is invalid.
func (s *Pages) requestBug(r *http.Request) (creation, error) {
	if !s.web.Config.AllowBugFiling {
		return creation{}, errFilingOff
	}
	sent, err := sentSignature(r)
	if err != nil {
		return creation{}, err
	}
	b, err := s.bucketFor(r.Context(), sent)
	if err != nil {
		return creation{}, err
	}
	if err := web.CheckTriage(r, b.SourcePackage); err != nil {
		return creation{}, err
	}
	c := creation{bucket: b}
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return c, err
	}
	opts.Upstream = web.IsForm(r) && forUpstream(r)
	c.result, c.err = s.Filer.CreateBug(r.Context(), b.Signature, opts)
	return c, nil
}

func (s *Pages) answerJSON(w http.ResponseWriter, r *http.Request, c creation) error {
	if c.err != nil {
		return c.err
	}
	out := bugCreated{Signature: c.bucket.Signature, State: "filing"}
	if c.result.State == crash.FilingFiled {
		number := crash.BugText(c.result.Bug)
		out.Report, out.URL, out.State = &number, &c.result.URL, "filed"
	}
	if place := s.Filer.Sites().PlaceOf(r.Context(), c.result.Bug); place.Tracker != crash.FirstTracker {
		out.Tracker, out.Project = place.Tracker, place.Project
	}
	setRetryAfter(w, c.result)
	return web.WriteJSON(w, createdStatus(c.result), out)
}

// createdStatus returns the HTTP status for a bug created by this request, by an earlier one, or
// not yet.
func createdStatus(result tracker.Result) int {
	switch {
	case result.State != crash.FilingFiled:
		return http.StatusAccepted
	case result.New:
		return http.StatusCreated
	}
	return http.StatusOK
}

// setRetryAfter sets Retry-After unless the bug is filed.
func setRetryAfter(w http.ResponseWriter, result tracker.Result) {
	if result.State != crash.FilingFiled {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(pollAfter.Seconds()))))
	}
}

// answerPart shows the current bug cell, or the status around it, with the HTTP status that the API
// would return. When no bug was created, it always shows the cell.
func (s *Pages) answerPart(w http.ResponseWriter, r *http.Request, c creation) error {
	b, err := s.panel.Bucket(r.Context(), c.bucket.ID)
	if err != nil {
		return errors.Join(c.err, err)
	}
	if c.err == nil {
		setRetryAfter(w, c.result)
		return s.panel.AnswerBug(w, r, createdStatus(c.result), b)
	}
	p := s.panel.BugPart(r, b)
	target := r.Header.Get("HX-Target")
	p.Whole, p.Copy = problemsview.IsStatusTarget(target), view.CopyTargeted(target, b.ID)
	p.InList = view.ListTargeted(target)
	a := web.AnswerTo(r, c.err)
	s.web.LogError(r, c.err, a)
	a.Headers(w)
	if p.State == view.BugCreate {
		p.State, p.Reason = view.BugRefused, a.Message
	}
	return s.web.Page(w, r, a.Status, view.BugAnswer(p))
}

// forUpstream reports whether the form or the address is about the bug for the upstream project.
func forUpstream(r *http.Request) bool { return r.FormValue(view.FieldUpstream) == "1" }

// answerForm redirects a browser without scripts to the bucket, with a message.
func (s *Pages) answerForm(w http.ResponseWriter, r *http.Request, c creation) error {
	kind, message := layout.FlashDone, "The bug is being created."
	switch {
	case c.err != nil:
		a := web.AnswerTo(r, c.err)
		s.web.LogError(r, c.err, a)
		kind, message = layout.FlashError, "The bug was not created. "+a.Message
	case c.result.State == crash.FilingFiled && c.result.New:
		message = "Bug " + s.bugText(r, c.result.Bug) + " was created." + filedAs(c.result.Filing)
	case c.result.State == crash.FilingFiled:
		message = "The problem already has bug " + s.bugText(r, c.result.Bug) + "."
	}
	return s.web.RedirectWith(w, r, c.bucket.ID.Path(), layout.Flash{Kind: kind, Text: message})
}

// bugText returns what people call a bug.
func (s *Pages) bugText(r *http.Request, number int64) string {
	return s.Filer.Sites().BugText(r.Context(), number)
}

// sentSignature reads the signature of a request, as it was sent. It returns UnsupportedMedia,
// TooLarge or Invalid.
func sentSignature(r *http.Request) (string, error) {
	if web.IsForm(r) { // parsed by Guard
		if signature := r.PostFormValue("signature"); signature != "" {
			return signature, nil
		}
		return "", errNoSignature
	}
	body, err := web.ReadJSON(r, ErrMediaType, errNotJSON)
	if err != nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return "", errNotJSON
	}
	var signature string
	if err := json.Unmarshal(fields["signature"], &signature); err != nil || signature == "" {
		return "", errNoSignature
	}
	return signature, nil
}

// bucketFor returns the bucket that a client identifies by the SHA-1 of its signature or by its
// signature, percent-decoded once if there is such a bucket, else as it was sent. The SHA-1 comes
// first: anybody can send a report whose signature is the SHA-1 of another one. bucketFor returns
// NotFound if there is no such bucket.
func (s *Pages) bucketFor(ctx context.Context, sent string) (b crash.Bucket, err error) {
	ids := []crash.BucketID{crash.BucketIDOf(percentDecoded(sent)), crash.BucketIDOf(sent)}
	if id, err := crash.ParseBucketID(sent); err == nil {
		ids = slices.Insert(ids, 0, id)
	}
	for _, id := range ids {
		if b, err = s.Store.Bucket(ctx, id); !errors.Is(err, crash.NotFound) {
			return b, err
		}
	}
	return b, err
}

// percentDecoded decodes %XX once. It leaves other percent signs and plus signs unchanged.
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

// filedAs continues the message that a bug was filed, with the account that filed it if the person
// chose their own.
func filedAs(f crash.Filing) string {
	switch {
	case f.SentAs != "":
		return " You are its reporter, as ~" + f.SentAs + "."
	case f.Fallback != "":
		return " " + view.FilingFellBack(f.Fallback)
	}
	return ""
}
