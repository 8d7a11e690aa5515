package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/views"
)

// lookTime is the longest that a person waits for the tracker to say what bug it has under a number.
const lookTime = 5 * time.Second

// showLinkBug asks which bug is meant, and with one in the query (bug) shows what the tracker has under that number.
func (s *Server) showLinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	p := views.LinkPage{Bucket: b}
	if p.Text, err = queryText(r.URL.Query(), "bug"); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Text != "" {
		if p.Number, err = s.tracker.BugNumber(p.Text); err != nil {
			a := answerTo(r, err)
			status, p.Problem = a.status, a.Message
		}
	}
	if p.Number != 0 {
		bugs, err := s.bugs.BucketBugs(r.Context(), b.ID)
		if err != nil {
			return err
		}
		for _, known := range bugs {
			p.Linked = p.Linked || known.Number == p.Number
		}
		p.Found, p.Warning = s.lookUp(r, p.Number)
	}
	if wantsPart(r) {
		p.Shell = s.bareShell(r, "")
		return s.page(w, r, status, views.LinkBugPart(p))
	}
	p.Shell = s.shell(r, "Link a bug")
	return s.page(w, r, status, views.LinkBug(p))
}

// lookUp asks the tracker for a bug. The warning says why it does not tell.
func (s *Server) lookUp(r *http.Request, number int64) (found crash.BugReading, warning string) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTime)
	defer cancel()
	found, err := s.tracker.ReadState(ctx, number)
	switch {
	case err != nil:
		s.log.WarnContext(r.Context(), "bug not looked up", "request_id", requestID(r), "bug", number, "error", err)
		return found, fmt.Sprintf("The tracker cannot be asked at the moment, so it is not known whether there is a bug %d. It can be linked all the same.", number)
	case found.Hidden:
		return found, fmt.Sprintf("The tracker shows us no bug %d: it is private, or there is none. It can be linked all the same.", number)
	}
	return found, ""
}

func (s *Server) bucketInPath(r *http.Request) (crash.Bucket, error) {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return crash.Bucket{}, err
	}
	return s.bucket(r.Context(), id)
}

// sentBug is the bug that a form means.
func (s *Server) sentBug(r *http.Request) (int64, error) {
	text := r.PostFormValue("bug")
	if len(text) > maxQueryText {
		text = ""
	}
	return s.tracker.BugNumber(text)
}

// linkBug links a bug to a problem. What the tracker says of it is read at once, if it answers.
func (s *Server) linkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	found, warning := s.lookUp(r, number)
	isNew, err := s.bugs.LinkBug(r.Context(), b.ID, crash.Bug{
		Number: number, Title: found.Title, URL: s.tracker.BugURL(number), By: currentUser(r).Name,
	})
	if err != nil {
		return err
	}
	if warning == "" {
		if err := s.bugs.SaveBugReading(r.Context(), found, s.tracker.BugURL(found.DuplicateOf), time.Hour); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("Bug %d is linked.", number)
	switch {
	case !isNew:
		text = fmt.Sprintf("Bug %d was linked already.", number)
	case warning != "":
		text += " " + "The tracker has not told anything about it yet; it is asked again."
	}
	return s.answerLinks(w, r, b.ID, views.Flash{Kind: views.FlashDone, Text: text})
}

// unlinkBug takes a bug away from a problem, and offers to put it back.
func (s *Server) unlinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	if err := s.bugs.UnlinkBug(r.Context(), b.ID, number, currentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{
		Kind: views.FlashDone, Text: fmt.Sprintf("Bug %d is no longer linked to this problem.", number),
		Undo: &views.Undo{Action: b.ID.Path() + "/relink", Field: "bug", Value: strconv.FormatInt(number, 10)},
	})
}

// relinkBug undoes unlinkBug.
func (s *Server) relinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	if err := s.bugs.RelinkBug(r.Context(), b.ID, number, currentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{Kind: views.FlashDone, Text: fmt.Sprintf("Bug %d is linked again, as it was.", number)})
}

// recheckBugs has the states of a problem's bugs read in the tracker soon.
func (s *Server) recheckBugs(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	bugs, err := s.bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return err
	}
	if err := s.bugs.ReadBugsNow(r.Context(), numbersOf(bugs...)); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{Kind: views.FlashDone, Text: "The tracker is asked again; what it says is here in a few seconds."})
}

// answerLinks shows the status of a problem as it is now: in place, or on its page.
func (s *Server) answerLinks(w http.ResponseWriter, r *http.Request, id crash.BucketID, message views.Flash) error {
	if !wantsPart(r) {
		if err := s.flashUndo(r, message); err != nil {
			return err
		}
		return redirect(w, r, id.Path())
	}
	b, err := s.bucket(r.Context(), id)
	if err != nil {
		return err
	}
	v, err := s.statusView(r, b)
	if err != nil {
		return err
	}
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	return s.page(w, r, http.StatusOK, templ.Join(views.StatusPart(v), views.FlashNow(message)))
}

// bugsViewOf shows the bugs of a problem, and has those read soon whose state is old.
func (s *Server) bugsViewOf(r *http.Request, b crash.Bucket, bugs []crash.Bug) views.BugsView {
	u := currentUser(r)
	cell := s.bugPart(r, b)
	cell.Whole = true
	if !wantsPart(r) {
		s.hurry(r, staleOnPage, bugs...)
	} else {
		cell.Next = b.ID.Path()
	}
	return views.BugsView{
		Bucket: b.ID, Cell: cell, Bugs: bugs, MayLink: u.Role.Allows(crash.RoleTriager),
		SignedIn: u.Role.Allows(crash.RoleViewer), CSRFToken: cell.CSRFToken, Now: s.now(),
	}
}

// How old the state of a bug may be before somebody who looks at it makes it be read soon.
const (
	staleOnPage = 2 * time.Minute
	staleOnList = 30 * time.Minute
	hurryTime   = 200 * time.Millisecond
)

// hurry has bugs read soon whose state is old. The page never waits for the tracker, and hardly for this.
func (s *Server) hurry(r *http.Request, older time.Duration, bugs ...crash.Bug) {
	var stale []crash.Bug
	for _, b := range bugs {
		if s.now().Sub(b.State.Read) > older && s.now().Before(b.State.Next) {
			stale = append(stale, b)
		}
	}
	if len(stale) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), hurryTime)
	defer cancel()
	if err := s.bugs.HurryBugs(ctx, numbersOf(stale...), older); err != nil {
		s.log.WarnContext(ctx, "old states of bugs are not read sooner", "request_id", requestID(r), "error", err)
	}
}

// numbersOf are the numbers of bugs and of those that they repeat.
func numbersOf(bugs ...crash.Bug) []int64 {
	numbers := make([]int64, 0, len(bugs))
	for _, b := range bugs {
		numbers = append(numbers, b.Number)
		if b.Master != nil {
			numbers = append(numbers, b.Master.Number)
		}
	}
	return numbers
}
