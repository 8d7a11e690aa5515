package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views"
)

var (
	errNoneChosen = crash.Errorf(crash.Invalid, "none_chosen", "No row is chosen. Tick the boxes of some first.")
	errTooMany    = crash.Errorf(crash.Invalid, "too_many_chosen", "At most %d problems can be chosen at once.", listSize)
	errNoDeed     = crash.Errorf(crash.Invalid, "unknown_action", `What can be done to the chosen problems is "file", "link", "recheck" and "merge".`)
)

// changeChosen has bugs created for the chosen problems, or has the tracker asked again about those that they have; then it
// leads to the page that says how far that is. Bugs are created by the same Filer as with a single click.
func (s *Server) changeChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := chosenIDs(r.PostForm["bucket"]) // read by the guard
	if errors.Is(err, errNoneChosen) {
		if err := s.flash(r, views.FlashError, errNoneChosen.Message); err != nil {
			return err
		}
		return redirect(w, r, comeBackTo(r))
	}
	if err != nil {
		return err
	}
	switch r.PostFormValue("do") { // after a look at them
	case "merge":
		return redirect(w, r, views.MergeURL(ids))
	case "link":
		return redirect(w, r, views.LinkChosenURL(ids))
	}
	buckets, err := s.buckets(r, ids)
	if err != nil {
		return err
	}
	said, since := "", ""
	switch r.PostFormValue("do") {
	case "file":
		said, err = s.fileChosen(r, buckets)
	case "recheck":
		since = "&since=" + strconv.FormatInt(s.now().UnixMicro(), 10)
		said, err = s.recheckChosen(r, buckets)
	default:
		err = errNoDeed
	}
	if err != nil {
		return err
	}
	if err := s.flash(r, views.FlashDone, said); err != nil {
		return err
	}
	return redirect(w, r, views.ChosenURL(ids)+since)
}

// fileChosen asks for the bugs of all that have none; what cannot be filed says so in its row.
func (s *Server) fileChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	if !s.config.AllowBugFiling {
		return "", errFilingOff
	}
	asked := int64(0)
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			continue
		}
		_, err := s.filer.CreateBug(r.Context(), b.Signature, tracker.Options{Person: currentUser(r).Name})
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
func (s *Server) recheckChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	var numbers []int64
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			numbers = append(numbers, b.Bug.Number)
		}
	}
	if err := s.bugs.HurryBugs(r.Context(), numbers, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("The tracker is asked about %s within a few seconds.", views.Counted(int64(len(numbers)), "bug", "bugs")), nil
}

// showChosen is how far each of the chosen problems is.
func (s *Server) showChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := chosenIDs(strings.Split(r.URL.Query().Get("problems"), "."))
	if err != nil {
		return err
	}
	buckets, err := s.buckets(r, ids)
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
		row := views.ChosenRow{Bucket: b, Bug: s.bugPart(r, b)}
		if page.Recheck {
			row.Result, row.Waits = rechecked(b.Bug, since)
		} else {
			row.Result, row.Waits = asked(row.Bug.State)
		}
		page.Rows = append(page.Rows, row)
	}
	page.Shell = s.shell(r, "Chosen problems")
	if wantsPart(r) {
		return s.page(w, r, http.StatusOK, views.ChosenPart(page))
	}
	return s.page(w, r, http.StatusOK, views.Chosen(page))
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

// chosenIDs reads which problems are meant, each once, in their order.
func chosenIDs(texts []string) ([]crash.BucketID, error) {
	var ids []crash.BucketID
	for _, text := range texts {
		if text == "" {
			continue
		}
		id, err := crash.ParseBucketID(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) > listSize {
			return nil, errTooMany
		}
	}
	if len(ids) == 0 {
		return nil, errNoneChosen
	}
	return ids, nil
}

func (s *Server) buckets(r *http.Request, ids []crash.BucketID) ([]crash.Bucket, error) {
	buckets := make([]crash.Bucket, 0, len(ids))
	for _, id := range ids {
		b, err := s.bucket(r.Context(), id)
		if err != nil {
			return nil, err
		}
		buckets = append(buckets, b)
	}
	return buckets, nil
}
