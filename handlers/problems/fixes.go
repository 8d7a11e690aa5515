package problems

import (
	"cmp"
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// maxFixes is the number of fixes that the list shows.
const maxFixes = 200

// seenFixes returns fixes as the current user may see them.
func seenFixes(r *http.Request, fixes []stats.FixWatch) []stats.FixWatch {
	if !web.IsPublic(r) {
		return fixes
	}
	fixes = slices.Clone(fixes) // they are cached
	for i := range fixes {
		fixes[i] = seenFix(r, fixes[i])
	}
	return fixes
}

func seenFix(r *http.Request, w stats.FixWatch) stats.FixWatch {
	if web.IsPublic(r) {
		return w.Labelled(privacy.RedactLabel[string])
	}
	return w
}

// fixesPart returns what the page of a problem says about its fixes.
func fixesPart(r *http.Request, b crash.Bucket, fixes []stats.FixWatch) view.FixesPart {
	part := view.FixesPart{Fixes: seenFixes(r, fixes)}
	if name := cmp.Or(b.SourcePackage, b.Package); name != "" {
		part.List = view.FixesChoice{Package: web.SeenLabel(r, name)}.URL()
	}
	return part
}

// readFixesChoice reads what the list of fixes is limited to.
func readFixesChoice(r *http.Request) (c view.FixesChoice, err error) {
	q := r.URL.Query()
	if c.Package, err = web.QueryText(q, "package"); err != nil {
		return c, err
	}
	c.Package = web.SeenLabel(r, c.Package)
	c.Mine = isMine(q) && !web.IsPublic(r)
	if text := q.Get("verdict"); text != "" {
		c.Verdict, err = crash.ParseWord(text, stats.FixVerdicts, "verdict")
	}
	return c, err
}

// FixesQuery returns the query of a public list of fixes.
func FixesQuery(r *http.Request) (string, error) {
	c, err := readFixesChoice(r)
	if err != nil {
		return "", err
	}
	return c.Query(), nil
}

// ShowFixes lists the fixes of problems, with what the reports say about them.
func (s *Lists) ShowFixes(w http.ResponseWriter, r *http.Request) error {
	choice, err := readFixesChoice(r)
	if err != nil {
		return err
	}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	match := func(*index.Problem) bool { return true }
	if choice.Mine {
		follows, err := s.People.Followed(r.Context(), web.CurrentUser(r).ID)
		if err != nil {
			return err
		}
		selected, _, err := s.choices.selectFollowed(r, b, follows)
		if err != nil {
			return err
		}
		match = selected.match
	}
	page := view.FixesPage{Choice: choice, Counts: map[stats.FixVerdict]int64{}}
	fixes, err := s.Store.WatchedFixes(r.Context(), b, func(p *index.Problem) bool {
		return match(p) && (choice.Package == "" || p.Package == choice.Package || p.Source == choice.Package)
	})
	if err != nil {
		return err
	}
	for _, f := range fixes {
		page.Counts[f.Verdict]++
	}
	fixes = slices.DeleteFunc(fixes, func(f db.WatchedFix) bool {
		return choice.Verdict != "" && f.Verdict != choice.Verdict
	})
	slices.SortStableFunc(fixes, func(x, y db.WatchedFix) int {
		return cmp.Or(slices.Index(stats.FixVerdicts, x.Verdict)-slices.Index(stats.FixVerdicts, y.Verdict),
			y.Since.Compare(x.Since))
	})
	if more := len(fixes) - maxFixes; more > 0 {
		page.More, fixes = int64(more), fixes[:maxFixes]
	}
	if page.Rows, err = s.fixRows(r, fixes); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, view.FixesTitle)
	return s.web.Page(w, r, http.StatusOK, view.Fixes(page))
}

// fixRows reads the problems of fixes and counts their machines.
func (s *Lists) fixRows(r *http.Request, fixes []db.WatchedFix) ([]view.WatchedRow, error) {
	if err := s.Problems.CountFixes(r.Context(), fixes); err != nil {
		return nil, err
	}
	var ids []crash.ProblemCursor
	for _, f := range fixes {
		if !slices.ContainsFunc(ids, func(c crash.ProblemCursor) bool { return c.ID == f.ID }) {
			ids = append(ids, crash.ProblemCursor{ID: f.ID})
		}
	}
	problems, err := s.Problems.ProblemsByID(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	buckets := map[crash.BucketID]crash.Bucket{}
	for _, p := range problems {
		buckets[p.ID] = s.web.SeenBucket(r, *p.Bucket)
	}
	var rows []view.WatchedRow
	for _, f := range fixes {
		if b, ok := buckets[f.ID]; ok {
			rows = append(rows, view.WatchedRow{Fix: seenFix(r, f.FixWatch), Bucket: b})
		}
	}
	return rows, nil
}
