package problems

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/db/problems"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// twins are cached under a type of their own.
type twins []grouping.Twin

// family returns the twins of a problem. A person who may decide about all of them can merge them with one
// key, unless that would hide some with an embargo: then the preview says so.
func (s *Pages) family(r *http.Request, b crash.Bucket) (view.Family, error) {
	found, err := web.CachedFacts(s.web, r, string(b.ID[:]), func(r *http.Request) (twins, error) {
		return s.Problems.Twins(r.Context(), b)
	})
	f := view.Family{Bucket: b, Twins: found, CSRFToken: nosurf.Token(r)}
	if err != nil || len(found) == 0 {
		return f, err
	}
	all := []crash.Bucket{b}
	f.MayDecide = true
	for _, t := range found {
		all = append(all, t.Bucket)
	}
	for _, member := range all {
		f.MayDecide = f.MayDecide && web.CurrentUser(r).MayTriage(member.SourcePackage)
	}
	f.Head = problems.BestHead(all)
	embargoed, err := s.panel.CountEmbargoed(r, all...)
	f.OneKey = (embargoed == 0 || embargoed == len(all)) && len(all) <= maxMerge
	return f, err
}
