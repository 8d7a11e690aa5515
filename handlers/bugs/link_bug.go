package bugs

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// lookTime is the longest that a person waits for the tracker to say what bug it has under a number.
const lookTime = 5 * time.Second

// ShowLinkBug asks which bug is meant, and with one in the query (bug) shows what the tracker has under that number.
func (s *Pages) ShowLinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	p := views.LinkPage{Bucket: b}
	if p.Text, err = web.QueryText(r.URL.Query(), "bug"); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Text != "" {
		if p.Number, err = s.Tracker.BugNumber(p.Text); err != nil {
			a := web.AnswerTo(r, err)
			status, p.Problem = a.Status, a.Message
		}
	}
	if p.Number != 0 {
		bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
		if err != nil {
			return err
		}
		for _, known := range bugs {
			p.Linked = p.Linked || known.Number == p.Number
		}
		p.Found, p.Warning = s.lookUp(r, p.Number)
	}
	if web.WantsPart(r) {
		p.Shell = s.BareShell(r, "")
		return s.Page(w, r, status, views.LinkBugPart(p))
	}
	p.Shell = s.Shell(r, "Link a bug")
	return s.Page(w, r, status, views.LinkBug(p))
}

// lookUp asks the tracker for a bug. The warning says why it does not tell.
func (s *Pages) lookUp(r *http.Request, number int64) (found crash.BugReading, warning string) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTime)
	defer cancel()
	found, err := s.Tracker.ReadState(ctx, number)
	switch {
	case err != nil:
		s.Log.WarnContext(r.Context(), "bug not looked up", "request_id", web.RequestID(r), "bug", number, "error", err)
		return found, fmt.Sprintf("The tracker cannot be asked at the moment, so it is not known whether there is a bug %d. It can be linked all the same.", number)
	case found.Hidden:
		return found, fmt.Sprintf("The tracker shows us no bug %d: it is private, or there is none. It can be linked all the same.", number)
	}
	return found, ""
}

// sentBug is the bug that a form means.
func (s *Pages) sentBug(r *http.Request) (int64, error) {
	text := r.PostFormValue("bug")
	if len(text) > web.MaxQueryText {
		text = ""
	}
	return s.Tracker.BugNumber(text)
}

// LinkBug links a bug to a problem. What the tracker says of it is read at once, if it answers.
func (s *Pages) LinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	found, warning := s.lookUp(r, number)
	isNew, err := s.Bugs.LinkBug(r.Context(), b.ID, crash.Bug{
		Number: number, Title: found.Title, URL: s.Tracker.BugURL(number), By: web.CurrentUser(r).Name,
	})
	if err != nil {
		return err
	}
	if warning == "" {
		if err := s.Bugs.SaveBugReading(r.Context(), found, s.Tracker.BugURL(found.DuplicateOf), time.Hour); err != nil {
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

// UnlinkBug takes a bug away from a problem, and offers to put it back.
func (s *Pages) UnlinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.UnlinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{
		Kind: views.FlashDone, Text: fmt.Sprintf("Bug %d is no longer linked to this problem.", number),
		Undo: &views.Undo{Action: b.ID.Path() + "/relink", Field: "bug", Value: strconv.FormatInt(number, 10)},
	})
}

// RelinkBug undoes unlinkBug.
func (s *Pages) RelinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	number, err := s.sentBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.RelinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{Kind: views.FlashDone, Text: fmt.Sprintf("Bug %d is linked again, as it was.", number)})
}

// RecheckBugs has the states of a problem's bugs read in the tracker soon.
func (s *Pages) RecheckBugs(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return err
	}
	if err := s.Bugs.ReadBugsNow(r.Context(), web.NumbersOf(bugs...)); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, views.Flash{Kind: views.FlashDone, Text: "The tracker is asked again; what it says is here in a few seconds."})
}

// answerLinks shows the status of a problem as it is now: in place, or on its page.
func (s *Pages) answerLinks(w http.ResponseWriter, r *http.Request, id crash.BucketID, message views.Flash) error {
	if !web.WantsPart(r) {
		if err := s.FlashUndo(r, message); err != nil {
			return err
		}
		return web.Redirect(w, r, id.Path())
	}
	b, err := s.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	v, err := s.StatusView(r, b)
	if err != nil {
		return err
	}
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	return s.Page(w, r, http.StatusOK, templ.Join(views.StatusPart(v), views.FlashNow(message)))
}
