package problems

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// AskForCore makes the next machine that reports a problem be asked for its core.
func (s *Pages) AskForCore(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	why, err := s.WhyNoCore(r.Context(), b)
	if err != nil {
		return err
	}
	if why != "" {
		return crash.Errorf(crash.Conflict, "no_core_wanted", "%s", why)
	}
	if err := s.Symbols.WantCore(r.Context(), b.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCore(w, r, b, "The next machine that reports this problem will be asked for its core dump.")
}

// WithdrawCore withdraws what AskForCore did.
func (s *Pages) WithdrawCore(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	if err := s.Symbols.UnwantCore(r.Context(), b.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCore(w, r, b, "Your request is withdrawn.")
}

func (s *Pages) answerCore(w http.ResponseWriter, r *http.Request, b crash.Bucket, message string) error {
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, b.ID.Path()+"#symbols")
}
