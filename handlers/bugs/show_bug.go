package bugs

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
)

// ShowBug sends the bug cell, or the status around it. The cell polls it while a bug is being
// created. Requests without htmx are redirected to the page of the bucket.
func (s *Pages) ShowBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !web.WantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.panel.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.panel.AnswerBug(w, r, http.StatusOK, b)
}
