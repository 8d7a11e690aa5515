package handlers

import (
	"net/http"

	"mishap/crash/stats"
	"mishap/views"
)

// traitFacts is what stands out, and how many reports were looked at here and elsewhere.
type traitFacts struct {
	found       []stats.StandOut
	here, there int
}

// showTraits is what the reports of a problem have in common that others of its package have not: a page, or the part of the
// problem's page that asks for it when it is there.
func (s *Server) showTraits(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	facts, err := cachedFacts(s, r, string(b.ID[:]), func(r *http.Request) (f traitFacts, err error) {
		f.found, f.here, f.there, err = s.counts.StandsOut(r.Context(), b)
		return f, err
	})
	if err != nil {
		return err
	}
	p := views.TraitsPage{Bucket: b, Found: facts.found, Here: facts.here, There: facts.there}
	if wantsPart(r) {
		p.Shell = s.bareShell(r, "")
		return s.page(w, r, http.StatusOK, views.TraitsPart(p))
	}
	p.Shell = s.shell(r, "What stands out")
	return s.page(w, r, http.StatusOK, views.Traits(p))
}
