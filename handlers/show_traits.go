package handlers

import (
	"net/http"

	"mishap/views"
)

// showTraits is what the reports of a problem have in common that others of its package have not: a page, or the part of the
// problem's page that asks for it when it is unfolded.
func (s *Server) showTraits(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	p := views.TraitsPage{Bucket: b}
	if p.Found, p.Here, p.There, err = s.store.StandsOut(r.Context(), b); err != nil {
		return err
	}
	if wantsPart(r) {
		p.Shell = s.bareShell(r, "")
		return s.page(w, r, http.StatusOK, views.TraitsPart(p))
	}
	p.Shell = s.shell(r, "What stands out")
	return s.page(w, r, http.StatusOK, views.Traits(p))
}
