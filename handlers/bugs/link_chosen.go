package bugs

import (
	"net/http"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/bugs"
	"mishap/views/layout"
)

// ShowLinkChosen shows the form for linking one bug to the chosen problems. If the query names a
// bug, it also shows that bug in the tracker and which of the problems have it.
func (s *Pages) ShowLinkChosen(w http.ResponseWriter, r *http.Request) error {
	ids, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	bug, status, err := s.lookUpBug(r, buckets...)
	if err != nil {
		return err
	}
	p := view.LinkChosenPage{BugLookup: bug, Problems: view.JoinIDs(ids)}
	for _, b := range buckets {
		row := view.LinkChosenRow{ChosenRow: view.ChosenRow{Bucket: b, Bug: s.panel.BugPart(r, b)}}
		if row.Linked, err = s.panel.HasBug(r, b.ID, p.Number); err != nil {
			return err
		}
		p.Rows = append(p.Rows, row)
	}
	if web.WantsPart(r) {
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, status, view.LinkChosenPart(p))
	}
	p.Shell = s.web.Shell(r, "Link a bug to several problems")
	return s.web.Page(w, r, status, view.LinkChosen(p))
}

// LinkChosen links one bug to the chosen problems that do not have it, and stores its state in the
// tracker, if the tracker answers.
func (s *Pages) LinkChosen(w http.ResponseWriter, r *http.Request) error {
	number, err := s.formBugNumber(r)
	if err != nil {
		return err
	}
	ids, buckets, refused, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	found, warning := s.readTrackerBug(r, number)
	if err := s.checkPublic(r, found, warning, buckets...); err != nil {
		return err
	}
	bug := crash.Bug{Number: number, Title: found.Title, URL: s.Tracker.BugURL(number), By: web.CurrentUser(r).Name}
	var linked []crash.BucketID
	for _, b := range buckets {
		isNew, err := s.Bugs.LinkBug(r.Context(), b.ID, bug)
		if err != nil {
			return err
		}
		if isNew {
			linked = append(linked, b.ID)
		}
	}
	if warning == "" {
		if err := s.Bugs.SaveBugReading(r.Context(), found, s.Tracker.BugURL(found.DuplicateOf), time.Hour); err != nil {
			return err
		}
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: "Bug " + strconv.FormatInt(number, 10) + " linked to " +
		crash.Counted(int64(len(linked)), "problem", "problems") + "."}
	if had := len(buckets) - len(linked); had > 0 {
		message.Text += " " + crash.Count(int64(had)) + " already had it."
	}
	message.Text = web.WithRefused(message.Text, refused)
	if len(linked) > 0 {
		message.Undo = &layout.Undo{
			Action: view.PathUnlinkChosen + "?problems=" + view.JoinIDs(linked),
			Field:  "bug", Value: strconv.FormatInt(number, 10),
		}
	}
	return s.web.RedirectWith(w, r, view.ChosenURL(ids), message)
}

// UnlinkChosen undoes LinkChosen for the problems in the query. It skips problems that no longer
// have the bug.
func (s *Pages) UnlinkChosen(w http.ResponseWriter, r *http.Request) error {
	number, err := s.formBugNumber(r)
	if err != nil {
		return err
	}
	ids, buckets, refused, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	unlinked := int64(0)
	for _, b := range buckets {
		switch err := s.Bugs.UnlinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); {
		case err == nil:
			unlinked++
		case crash.KindOf(err) != crash.NotFound:
			return err
		}
	}
	message := web.WithRefused("Bug "+strconv.FormatInt(number, 10)+" unlinked from "+
		crash.Counted(unlinked, "problem", "problems")+".", refused)
	return s.web.Done(w, r, view.ChosenURL(ids), message)
}
