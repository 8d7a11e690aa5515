package bugs

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	view "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// ChangeChosen files bugs for the chosen problems, or requests new states of their bugs, and
// redirects to the page that shows the progress. Merging and linking redirect to their own pages.
// Bugs are filed by the same Filer as for a single problem.
func (s *Pages) ChangeChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := panel.ChosenIDs(r.PostForm["bucket"]) // parsed by Guard
	if errors.Is(err, panel.ErrNoneChosen) {
		return s.web.RedirectWith(w, r, web.ReturnPath(r),
			layout.Flash{Kind: layout.FlashError, Text: panel.ErrNoneChosen.Message})
	}
	if err != nil {
		return err
	}
	switch r.PostFormValue("do") { // confirmed on pages of their own
	case "merge":
		return web.Redirect(w, r, problemsview.MergeURL(ids))
	case "link":
		return web.Redirect(w, r, view.LinkChosenURL(ids))
	case "create":
		return web.Redirect(w, r, view.CreateChosenURL(ids))
	case "assign":
		return web.Redirect(w, r, problemsview.AssignChosenURL(ids))
	case "mute":
		return web.Redirect(w, r, problemsview.TriageURL(crash.MarkMuted, ids))
	case "wontfix":
		return web.Redirect(w, r, problemsview.TriageURL(crash.MarkWontFix, ids))
	case "fixed":
		return web.Redirect(w, r, problemsview.TriageURL(crash.MarkFixed, ids))
	}
	buckets, err := s.panel.Buckets(r, ids)
	if err != nil {
		return err
	}
	buckets, refused, err := web.Triageable(r, buckets)
	if err != nil {
		return err
	}
	message, since := "", ""
	switch r.PostFormValue("do") {
	case "file":
		message, err = s.fileChosen(r, buckets)
	case "recheck":
		since = "&since=" + strconv.FormatInt(s.web.Now().UnixMicro(), 10)
		message, err = s.recheckChosen(r, buckets)
	default:
		err = panel.ErrUnknownAction
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, view.ChosenURL(ids)+since, web.WithRefused(message, refused))
}

// fileChosen files bugs for the buckets that have none. It skips those that cannot be filed; their
// rows show why.
func (s *Pages) fileChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	if !s.web.Config.AllowBugFiling {
		return "", errFilingOff
	}
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return "", err
	}
	opts.Wait = 0
	requested := int64(0)
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			continue
		}
		_, err := s.Filer.CreateBug(r.Context(), b.Signature, opts)
		switch crash.KindOf(err) {
		case crash.Unprocessable, crash.NotFound:
			continue
		case crash.Refused, crash.Unavailable, crash.Conflict: // the filing is stored, and its row shows the error
		default:
			if err != nil {
				return "", err
			}
		}
		requested++
	}
	return "Creating " + crash.Counted(requested, "bug", "bugs") + ".", nil
}

// recheckChosen requests that the states of the bugs of all buckets are read again soon.
func (s *Pages) recheckChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	var numbers []int64
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			numbers = append(numbers, b.Bug.Number)
		}
	}
	if err := s.Bugs.RefreshBugs(r.Context(), numbers, 0); err != nil {
		return "", err
	}
	return crash.Counted(int64(len(numbers)), "bug", "bugs") + " will be read from the tracker within a few seconds.", nil
}

// ShowCreateChosen lists the bugs that would be created for the chosen problems, and asks for
// confirmation.
func (s *Pages) ShowCreateChosen(w http.ResponseWriter, r *http.Request) error {
	if !s.web.Config.AllowBugFiling {
		return errFilingOff
	}
	_, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	page := view.ConfirmCreatePage{Tracker: s.web.Config.TrackerName, Back: "/"}
	if page.FileAs, err = s.panel.FilingChoice(r); err != nil {
		return err
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host && from.Path != view.PathCreateChosen {
		page.Back = web.LocalPath(from.RequestURI())
	}
	for _, b := range buckets {
		if err := web.CheckTriage(r, b.SourcePackage); err != nil {
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: err.Error()})
			continue
		}
		switch s.panel.BugPart(r, b).State {
		case view.BugCreate, view.BugRefused, view.BugWaiting:
			page.File = append(page.File, b)
		case view.BugCreating, view.BugChecking:
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: "is being created already"})
		case view.BugNothing, view.BugLinked, view.BugSignIn, view.BugImpossible:
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: b.NoFiling()})
		}
	}
	page.Shell = s.web.Shell(r, view.ConfirmHeading(int64(len(page.File)), page.Tracker))
	return s.web.Page(w, r, http.StatusOK, view.ConfirmCreate(page))
}

// ShowChosen shows the progress of each chosen problem.
func (s *Pages) ShowChosen(w http.ResponseWriter, r *http.Request) error {
	_, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	page := view.ChosenPage{}
	var since time.Time
	if at := r.URL.Query().Get("since"); at != "" {
		micros, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return crash.Errorf(crash.Invalid, "bad_since", "since is a number of microseconds.")
		}
		page.Recheck, since = true, time.UnixMicro(micros)
	}
	for _, b := range buckets {
		row := view.ChosenRow{Bucket: b, Bug: s.panel.BugPart(r, b)}
		if page.Recheck {
			row.Result, row.Waits = recheckResult(b.Bug, since)
		} else {
			row.Result, row.Waits = filingResult(row.Bug.State)
		}
		page.Rows = append(page.Rows, row)
	}
	page.Shell = s.web.Shell(r, "Selected problems")
	if web.WantsPart(r) {
		return s.web.Page(w, r, http.StatusOK, view.ChosenPart(page))
	}
	return s.web.Page(w, r, http.StatusOK, view.Chosen(page))
}

// recheckResult describes the result of reading a bug again, and reports whether it is pending.
func recheckResult(bug crash.Bug, since time.Time) (result string, pending bool) {
	switch {
	case bug.Number == 0:
		return "no bug", false
	case !bug.State.Read.Before(since):
		return "read again", false
	case bug.State.Failures > 0 && bug.State.Failure != "":
		return "cannot be read now; mishap tries again later", false
	}
	return "waiting to be read", true
}

// filingResult describes the result of filing a bug, and reports whether it is pending.
func filingResult(state view.BugState) (result string, pending bool) {
	switch state {
	case view.BugLinked:
		return "filed", false
	case view.BugRefused:
		return "not created", false
	case view.BugImpossible:
		return "cannot be filed", false
	case view.BugCreating, view.BugChecking:
		return "creating", true
	case view.BugWaiting:
		return "waiting for the tracker", true
	case view.BugNothing, view.BugCreate, view.BugSignIn:
	}
	return "no bug requested", false
}
