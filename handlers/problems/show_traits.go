package problems

import (
	"net/http"
	"slices"

	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/web"
	"mishap/views"
)

// traitFacts are the traits that stand out, and the number of reports examined in the problem
// and elsewhere.
type traitFacts struct {
	found       []stats.StandOut
	here, there int
}

// ShowTraits shows what the reports of a problem have in common that other reports of its
// package have not: as a page, or as a part that the problem's page loads.
func (s *Pages) ShowTraits(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	facts, err := web.CachedFacts(s.Kit, r, string(b.ID[:]), func(r *http.Request) (f traitFacts, err error) {
		f.found, f.here, f.there, err = s.Problems.StandsOut(r.Context(), b)
		return f, err
	})
	if err != nil {
		return err
	}
	readable, private := web.Readable(r, b.SourcePackage), false
	found := slices.DeleteFunc(slices.Clone(facts.found), func(t stats.StandOut) bool { // others share the facts
		field, _ := t.Facet()
		permitted := web.PermitsFacet(s.Kit, readable, field)
		private = private || permitted && !web.PermitsFacet(s.Kit, privacy.Restricted, field)
		return !permitted
	})
	if private {
		if err := s.AuditView(r, "read.values", b.ID.String()); err != nil {
			return err
		}
	}
	p := views.TraitsPage{Bucket: b, Found: found, Here: facts.here, There: facts.there,
		TooFew: stats.TooFewToCompare(facts.here, facts.there)}
	if web.WantsPart(r) {
		p.Shell = s.BareShell(r, "")
		return s.Page(w, r, http.StatusOK, views.TraitsPart(p))
	}
	p.Shell = s.Shell(r, "What stands out")
	return s.Page(w, r, http.StatusOK, views.Traits(p))
}
