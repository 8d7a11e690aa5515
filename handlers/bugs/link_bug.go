package bugs

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	view "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// lookupTimeout is the time limit for reading a bug from the tracker while a person waits.
const lookupTimeout = 5 * time.Second

// ShowLinkBug shows the form for linking a bug. If the query names a bug, it also shows that bug in
// the tracker.
func (s *Pages) ShowLinkBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.panel.BucketInPath(r)
	if err != nil {
		return err
	}
	bug, status, err := s.lookUpBug(r, b)
	if err != nil {
		return err
	}
	p, query := view.LinkPage{BugLookup: bug, Bucket: b}, r.URL.Query()
	if p.Linked, err = s.panel.HasBug(r, b.ID, p.Number); err != nil {
		return err
	}
	if web.WantsPart(r) {
		p.InDialog = query.Has("dialog") || !query.Has("bug") // the page itself asks only about a bug
		p.InList = p.InDialog && !panel.OnProblemPage(r, b.ID)
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, status, view.LinkBugPart(p))
	}
	p.Shell = s.web.Shell(r, "Link a bug")
	return s.web.Page(w, r, status, view.LinkBug(p))
}

// lookUpBug reads the bug that the query names, if it names one, from the tracker, to link it to problems.
// The status is that of the answer: the text of the query may be wrong.
func (s *Pages) lookUpBug(r *http.Request, problems ...crash.Bucket) (b view.BugLookup, status int, err error) {
	status = http.StatusOK
	if b.Text, err = web.QueryText(r.URL.Query(), "bug"); err != nil || b.Text == "" {
		return b, status, err
	}
	if b.Number, err = s.Tracker.BugNumber(b.Text); err != nil {
		a := web.AnswerTo(r, err)
		b.Problem = a.Message
		return b, a.Status, nil
	}
	b.Found, b.Warning = s.readTrackerBug(r, b.Number)
	embargoed, err := s.panel.CountEmbargoed(r, problems...)
	b.Publishes = embargoed > 0 && isPublic(b.Found, b.Warning)
	return b, status, err
}

// readTrackerBug reads a bug from the tracker. If it cannot, the warning explains why.
func (s *Pages) readTrackerBug(r *http.Request, number int64) (found crash.BugReading, warning string) {
	ctx, cancel := context.WithTimeout(r.Context(), lookupTimeout)
	defer cancel()
	found, err := s.Tracker.ReadState(ctx, number)
	switch {
	case err != nil:
		s.web.Log.WarnContext(r.Context(), "cannot read bug from the tracker",
			"request_id", web.RequestID(r), "bug", number, "error", err)
		return found, s.web.Config.TrackerName + " cannot be reached, so bug " + strconv.FormatInt(number, 10) +
			" could not be looked up. You can link it anyway."
	case found.Hidden:
		return found, s.web.Config.TrackerName + " shows no bug " + strconv.FormatInt(number, 10) +
			": it is private or does not exist. You can link it anyway."
	}
	return found, ""
}

// isPublic reports whether everyone may be able to see a bug. A bug that cannot be read because the
// tracker does not answer counts as public.
func isPublic(found crash.BugReading, warning string) bool {
	return !found.Private && (warning == "" || !found.Hidden)
}

// checkPublic returns Conflict if a bug that everyone sees would be linked to embargoed problems, and
// the form does not confirm that.
func (s *Pages) checkPublic(r *http.Request, found crash.BugReading, warning string, problems ...crash.Bucket) error {
	if r.PostFormValue("public") == "yes" || !isPublic(found, warning) {
		return nil
	}
	embargoed, err := s.panel.CountEmbargoed(r, problems...)
	if err != nil || embargoed == 0 {
		return err
	}
	return crash.Errorf(crash.Conflict, "public_bug",
		"%s Confirm on the form that you want to link it.", view.BugIsPublic)
}

// formBugNumber returns the number of the bug in a form.
func (s *Pages) formBugNumber(r *http.Request) (int64, error) {
	text := r.PostFormValue("bug")
	if len(text) > web.MaxQueryText {
		text = ""
	}
	return s.Tracker.BugNumber(text)
}

// LinkBug links a bug to a problem and stores its state in the tracker, if the tracker answers.
func (s *Pages) LinkBug(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	found, warning := s.readTrackerBug(r, number)
	if err := s.checkPublic(r, found, warning, b); err != nil {
		return err
	}
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
	message := bugLinked(number)
	switch {
	case !isNew:
		message = "Bug " + strconv.FormatInt(number, 10) + " was already linked."
	case warning != "":
		message = bugLinked(number) + " Its state will appear once " + s.web.Config.TrackerName + " answers."
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{Kind: layout.FlashDone, Text: message})
}

// problemAndBug returns the problem in the path and the number of the bug in the form.
func (s *Pages) problemAndBug(r *http.Request) (b crash.Bucket, number int64, err error) {
	if b, err = s.panel.BucketInPath(r); err != nil {
		return b, 0, err
	}
	number, err = s.formBugNumber(r)
	return b, number, err
}

// UnlinkBug unlinks a bug from a problem, and offers to undo that.
func (s *Pages) UnlinkBug(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.UnlinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: view.BugUnlinked(number),
		Undo: &layout.Undo{Action: b.ID.Path() + "/relink", Field: "bug", Value: strconv.FormatInt(number, 10)},
	})
}

// RelinkBug undoes UnlinkBug.
func (s *Pages) RelinkBug(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.RelinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: "Bug " + strconv.FormatInt(number, 10) + " linked again.",
	})
}

// RecheckBugs requests that the states of the bugs of a problem are read again soon.
func (s *Pages) RecheckBugs(w http.ResponseWriter, r *http.Request) error {
	b, err := s.panel.BucketInPath(r)
	if err != nil {
		return err
	}
	bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return err
	}
	if err := s.Bugs.ReadBugsNow(r.Context(), panel.NumbersOf(bugs...)); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: "Refreshing from " + s.web.Config.TrackerName + "; the result will appear " +
			"within a few seconds.",
	})
}

// ResumeSection makes mishap update the section in the description of a bug again.
func (s *Pages) ResumeSection(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.ResumeSection(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{Kind: layout.FlashDone, Text: "mishap updates the section of bug " +
		strconv.FormatInt(number, 10) + " again, within a minute."})
}

// answerLinks shows the current status of a problem, in place or on its page, with a message.
func (s *Pages) answerLinks(w http.ResponseWriter, r *http.Request, id crash.BucketID, message layout.Flash) error {
	if !web.WantsPart(r) {
		return s.web.RedirectWith(w, r, id.Path(), message)
	}
	b, err := s.panel.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	if !panel.OnProblemPage(r, id) {
		return s.web.Page(w, r, http.StatusOK, templ.Join(view.LinkedInList(s.panel.BugPart(r, s.web.SeenBucket(r, b))),
			layout.FlashNow(message)))
	}
	v, err := s.panel.StatusView(r, b)
	if err != nil {
		return err
	}
	return s.web.Page(w, r, http.StatusOK, templ.Join(problemsview.StatusPart(v), layout.FlashNow(message)))
}

// bugLinked confirms that a bug has been linked.
func bugLinked(number int64) string { return "Bug " + strconv.FormatInt(number, 10) + " linked." }
