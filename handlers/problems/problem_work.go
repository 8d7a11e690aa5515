package problems

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
)

// problemWork is what people have written and decided about a problem. It is the same for everyone who
// is signed in.
type problemWork struct {
	decisions   []crash.Decision
	notes       []crash.Note
	named       map[string]string // accounts that the notes name, by the names as typed
	assignments []crash.Assignment
	tags        []crash.ProblemTag
}

// workOn returns what people have done about a problem. Only people who are signed in may see it.
func (s *Pages) workOn(r *http.Request, id crash.BucketID) (problemWork, error) {
	return web.CachedFacts(s.Kit, r, string(id[:]), func(r *http.Request) (w problemWork, err error) {
		ctx := r.Context()
		if w.decisions, err = s.Decisions.Decisions(ctx, id, maxDecisions); err != nil {
			return w, err
		}
		if w.notes, err = s.People.Notes(ctx, id); err != nil {
			return w, err
		}
		var names []string
		for _, n := range w.notes {
			for _, t := range n.Texts {
				for _, m := range crash.Mentions(t.Text) {
					names = append(names, m.Name)
				}
			}
		}
		if w.named, err = s.People.Named(ctx, names); err != nil {
			return w, err
		}
		if w.assignments, err = s.Problems.Assignments(ctx, id, maxAssignments); err != nil {
			return w, err
		}
		w.tags, err = s.Problems.Tags(ctx, id)
		return w, err
	})
}
