package handlers

import (
	"net/http"

	"mishap/crash"
)

// showBug is the bug cell alone, or the status around it: what it asks for while a bug is being created. Without scripts it is on the bucket's page.
func (s *bugPages) showBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !wantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.answerBug(w, r, http.StatusOK, b)
}
