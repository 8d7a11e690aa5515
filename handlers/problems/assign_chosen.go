package problems

import (
	"net/http"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowAssignChosen lists the chosen problems with their assignees, and asks for another one.
func (s *Pages) ShowAssignChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(strings.Split(r.URL.Query().Get("problems"), "."))
	if err != nil {
		return err
	}
	return s.assignChosenPage(w, r, ids, views.AssignChosenPage{}, http.StatusOK)
}

func (s *Pages) assignChosenPage(w http.ResponseWriter, r *http.Request, ids []crash.BucketID,
	p views.AssignChosenPage, status int,
) error {
	buckets, err := s.Buckets(r, ids)
	if err != nil {
		return err
	}
	people, err := s.Problems.AssigneesAndTags(r.Context(), ids)
	if err != nil {
		return err
	}
	p.Problems, p.Tracker = views.JoinIDs(ids), s.Config.TrackerName
	for _, b := range buckets {
		row := views.AssignChosenRow{Bucket: b, Assigned: people[b.ID].Assigned}
		if name := b.Bug.AssigneeOf(b.SourcePackage); name != "" {
			row.Assigned = crash.Assigned{Name: name, Bug: b.Bug.Counts()}
		}
		p.Rows = append(p.Rows, row)
	}
	p.Shell = s.Shell(r, "Assign problems")
	return s.Page(w, r, status, views.AssignChosen(p))
}

// AssignChosen assigns the chosen problems, except those whose bugs have an assignee in the
// tracker.
func (s *Pages) AssignChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(strings.Split(r.PostFormValue("problems"), "."))
	if err != nil {
		return err
	}
	buckets, err := s.Buckets(r, ids) // changes nothing if one does not exist
	if err != nil {
		return err
	}
	buckets, refused, err := web.Triageable(r, buckets)
	if err != nil {
		return err
	}
	name, skipped, same := formAssignee(r), int64(0), int64(0)
	if name == "" && r.PostFormValue("do") != "nobody" {
		return s.assignChosenPage(w, r, ids, views.AssignChosenPage{Problem: errNoAssignee.Message},
			http.StatusUnprocessableEntity)
	}
	var done []string
	for _, b := range buckets {
		stored, err := s.Problems.Assign(r.Context(), crash.Assignment{Bucket: b.ID, Assignee: name,
			By: web.CurrentUser(r).Name})
		switch {
		case crash.KindOf(err) == crash.Invalid:
			return s.assignChosenPage(w, r, ids, views.AssignChosenPage{Typed: name, Problem: web.AnswerTo(r, err).Message},
				http.StatusUnprocessableEntity)
		case crash.KindOf(err) == crash.Conflict:
			skipped++
		case err != nil:
			return err
		case stored.ID == 0:
			same++
		default:
			name = stored.Assignee
			done = append(done, strconv.FormatInt(stored.ID, 10))
		}
	}
	message := views.Flash{Kind: views.FlashDone, Text: crash.Counted(int64(len(done)), "problem", "problems") +
		" assigned to " + assigneeName(name) + "."}
	if same > 0 {
		message.Text += " " + crash.Counted(same, "was", "were") + " already assigned like that."
	}
	if skipped > 0 {
		message.Text += " " + crash.Counted(skipped, "problem was", "problems were") + " skipped: their bugs have an " +
			"assignee in the tracker."
	}
	message.Text = web.WithRefused(message.Text, refused)
	if len(done) > 0 {
		message.Undo = &views.Undo{Action: views.PathUnassignChosen + "?problems=" + views.JoinIDs(ids),
			Field: "assignments", Value: strings.Join(done, ".")}
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, views.AssignChosenURL(ids))
}

// UnassignChosen undoes AssignChosen. It skips problems that have been assigned again since.
func (s *Pages) UnassignChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(strings.Split(r.URL.Query().Get("problems"), "."))
	if err != nil {
		return err
	}
	assignments := map[int64]bool{}
	for _, number := range strings.Split(r.PostFormValue("assignments"), ".") {
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			assignments[id] = true
		}
	}
	buckets, err := s.Buckets(r, ids)
	if err != nil {
		return err
	}
	buckets, refused, err := web.Triageable(r, buckets)
	if err != nil {
		return err
	}
	undone := int64(0)
	for _, b := range buckets {
		newest, err := s.Problems.Assignments(r.Context(), b.ID, maxAssignments)
		if err != nil {
			return err
		}
		for _, a := range newest {
			if !a.Stands() {
				continue
			}
			if assignments[a.ID] {
				err = s.Problems.UndoAssignment(r.Context(), b.ID, a.ID, web.CurrentUser(r).Name)
				if err == nil {
					undone++
				} else if crash.KindOf(err) != crash.Conflict {
					return err
				}
			}
			break // only the newest counts
		}
	}
	if err := s.Flash(r, views.FlashDone, web.WithRefused("Undid "+crash.Counted(undone, "assignment", "assignments")+
		".", refused)); err != nil {
		return err
	}
	return web.Redirect(w, r, views.AssignChosenURL(ids))
}
