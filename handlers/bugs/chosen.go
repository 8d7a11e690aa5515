package bugs

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/tracker"
	"mishap/views"
)

// ChangeChosen has bugs created for the chosen problems, or has the tracker asked again about those that they have; then it
// leads to the page that says how far that is. Bugs are created by the same Filer as with a single click.
func (s *Pages) ChangeChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(r.PostForm["bucket"]) // read by the guard
	if errors.Is(err, web.ErrNoneChosen) {
		if err := s.Flash(r, views.FlashError, web.ErrNoneChosen.Message); err != nil {
			return err
		}
		return web.Redirect(w, r, web.ReturnPath(r))
	}
	if err != nil {
		return err
	}
	switch r.PostFormValue("do") { // after a look at them
	case "merge":
		return web.Redirect(w, r, views.MergeURL(ids))
	case "link":
		return web.Redirect(w, r, views.LinkChosenURL(ids))
	}
	buckets, err := s.Buckets(r, ids)
	if err != nil {
		return err
	}
	said, since := "", ""
	switch r.PostFormValue("do") {
	case "file":
		said, err = s.fileChosen(r, buckets)
	case "recheck":
		since = "&since=" + strconv.FormatInt(s.Now().UnixMicro(), 10)
		said, err = s.recheckChosen(r, buckets)
	default:
		err = web.ErrUnknownAction
	}
	if err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, said); err != nil {
		return err
	}
	return web.Redirect(w, r, views.ChosenURL(ids)+since)
}

// fileChosen asks for the bugs of all that have none; what cannot be filed says so in its row.
func (s *Pages) fileChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	if !s.Config.AllowBugFiling {
		return "", errFilingOff
	}
	asked := int64(0)
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			continue
		}
		_, err := s.Filer.CreateBug(r.Context(), b.Signature, tracker.Options{Person: web.CurrentUser(r).Name})
		switch crash.KindOf(err) {
		case crash.Unprocessable, crash.NotFound:
			continue
		case crash.Refused, crash.Unavailable, crash.Conflict: // it is kept, and its row says so
		default:
			if err != nil {
				return "", err
			}
		}
		asked++
	}
	return views.Counted(asked, "bug is asked for.", "bugs are asked for."), nil
}

// recheckChosen has the states of all bugs of the buckets read soon.
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
	return fmt.Sprintf("The tracker is asked about %s within a few seconds.", views.Counted(int64(len(numbers)), "bug", "bugs")), nil
}

// ShowChosen is how far each of the chosen problems is.
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
			row.Result, row.Waits = rechecked(b.Bug, since)
		} else {
			row.Result, row.Waits = asked(row.Bug.State)
		}
		page.Rows = append(page.Rows, row)
	}
	page.Shell = s.Shell(r, "Chosen problems")
	if web.WantsPart(r) {
		return s.Page(w, r, http.StatusOK, views.ChosenPart(page))
	}
	return s.Page(w, r, http.StatusOK, views.Chosen(page))
}

// rechecked says in a few words what has come of asking the tracker about a bug, and whether nothing has yet.
func rechecked(bug crash.Bug, since time.Time) (result string, waits bool) {
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

// asked says in a few words what has come of asking for a bug, and whether nothing has yet.
func asked(state views.BugState) (result string, waits bool) {
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
