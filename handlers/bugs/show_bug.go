package bugs

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
)

// ShowBug is the bug cell alone, or the status around it: what it asks for while a bug is being created. Without scripts it is on the bucket's page.
func (s *Pages) ShowBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !web.WantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.AnswerBug(w, r, http.StatusOK, b)
}
