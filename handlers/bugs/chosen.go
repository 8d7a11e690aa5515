package bugs

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/tracker"
	"mishap/views"
	"mishap/views/text"
)

// ChangeChosen files bugs for the chosen problems, or requests new states of their bugs, and
// redirects to the page that shows the progress. Merging and linking redirect to their own pages.
// Bugs are filed by the same Filer as for a single problem.
func (s *Pages) ChangeChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(r.PostForm["bucket"]) // parsed by Guard
	if errors.Is(err, web.ErrNoneChosen) {
		if err := s.Flash(r, views.FlashError, web.ErrNoneChosen.Message); err != nil {
			return err
		}
		return web.Redirect(w, r, web.ReturnPath(r))
	}
	if err != nil {
		return err
	}
	switch r.PostFormValue("do") { // confirmed on pages of their own
	case "merge":
		return web.Redirect(w, r, views.MergeURL(ids))
	case "link":
		return web.Redirect(w, r, views.LinkChosenURL(ids))
	}
	buckets, err := s.Buckets(r, ids)
	if err != nil {
		return err
	}
	message, since := "", ""
	switch r.PostFormValue("do") {
	case "file":
		message, err = s.fileChosen(r, buckets)
	case "recheck":
		since = "&since=" + strconv.FormatInt(s.Now().UnixMicro(), 10)
		message, err = s.recheckChosen(r, buckets)
	default:
		err = web.ErrUnknownAction
	}
	if err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, views.ChosenURL(ids)+since)
}

// fileChosen files bugs for the buckets that have none. It skips those that cannot be filed; their
// rows show why.
func (s *Pages) fileChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	if !s.Config.AllowBugFiling {
		return "", errFilingOff
	}
	requested := int64(0)
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			continue
		}
		_, err := s.Filer.CreateBug(r.Context(), b.Signature, tracker.Options{Person: web.CurrentUser(r).Name})
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
	return text.CreatingBugs(requested), nil
}

// recheckChosen requests that the states of the bugs of all buckets are read again soon.
func (s *Pages) recheckChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	var numbers []int64
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			numbers = append(numbers, b.Bug.Number)
		}
	}
	if err := s.Bugs.HurryBugs(r.Context(), numbers, 0); err != nil {
		return "", err
	}
	counted := views.Counted(int64(len(numbers)), "bug", "bugs")
	return text.RefreshingBugs(s.Config.TrackerName, counted), nil
}

// ShowChosen shows the progress of each chosen problem.
func (s *Pages) ShowChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(strings.Split(r.URL.Query().Get("problems"), "."))
	if err != nil {
		return err
	}
	buckets, err := s.Buckets(r, ids)
	if err != nil {
		return err
	}
	page := views.ChosenPage{}
	var since time.Time
	if text := r.URL.Query().Get("since"); text != "" {
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return crash.Errorf(crash.Invalid, "bad_since", "since is a number of microseconds.")
		}
		page.Recheck, since = true, time.UnixMicro(micros)
	}
	for _, b := range buckets {
		row := views.ChosenRow{Bucket: b, Bug: s.BugPart(r, b)}
		if page.Recheck {
			row.Result, row.Waits = recheckResult(b.Bug, since)
		} else {
			row.Result, row.Waits = filingResult(row.Bug.State)
		}
		page.Rows = append(page.Rows, row)
	}
	page.Shell = s.Shell(r, "Chosen problems")
	if web.WantsPart(r) {
		return s.Page(w, r, http.StatusOK, views.ChosenPart(page))
	}
	return s.Page(w, r, http.StatusOK, views.Chosen(page))
}

// recheckResult describes the result of reading a bug again, and reports whether it is pending.
func recheckResult(bug crash.Bug, since time.Time) (result string, pending bool) {
	switch {
	case bug.Number == 0:
		return "no bug", false
	case !bug.State.Read.Before(since):
		return "read again", false
	case bug.State.Failures > 0 && bug.State.Failure != "":
		return "cannot be read now; tried again later", false
	}
	return "is asked about", true
}

// filingResult describes the result of filing a bug, and reports whether it is pending.
func filingResult(state views.BugState) (result string, pending bool) {
	switch state {
	case views.BugLinked:
		return "has its bug", false
	case views.BugRefused:
		return "refused", false
	case views.BugImpossible:
		return "cannot be filed", false
	case views.BugCreating, views.BugChecking:
		return "under way", true
	case views.BugWaiting:
		return "waits for the tracker", true
	case views.BugNothing, views.BugCreate, views.BugSignIn:
	}
	return "not asked for", false
}
