package problems

import (
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// readFollow reads the subject of a form: from one field, as the buttons send it, or from its
// kind and name.
func readFollow(r *http.Request) (crash.Follow, error) {
	kind, name := r.PostFormValue("kind"), r.PostFormValue("name")
	if combined := r.PostFormValue("what"); combined != "" {
		kind, name, _ = strings.Cut(combined, ":")
	}
	return crash.NewFollow(kind, name)
}

// Follow makes the user follow a package, the packages of a person or team, or a package set.
func (s *Lists) Follow(w http.ResponseWriter, r *http.Request) error {
	f, err := readFollow(r)
	if err == nil {
		err = s.checkFollow(r, f)
	}
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.NotFound {
		a := web.AnswerTo(r, err)
		form := views.FollowForm{
			Kind: crash.FollowKind(r.PostFormValue("kind")), Name: crash.Truncate(r.PostFormValue("name"), web.MaxQueryText),
			Problem: a.Message,
		}
		return s.myPage(w, r, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	if err := s.People.Follow(r.Context(), web.CurrentUser(r).ID, f); err != nil {
		return err
	}
	if err := s.markFollowed(r, f); err != nil {
		return err
	}
	return s.answerFollow(w, r, f, true, views.Flash{
		Kind: views.FlashDone, Text: "Following " + followText(f) + ".",
		Undo: &views.Undo{Action: views.PathUnfollow, Field: "what", Value: f.String()},
	})
}

// checkFollow requests the packages of a person or set, so that they are fetched from the
// tracker. It returns NotFound if the tracker does not know the name.
func (s *Lists) checkFollow(r *http.Request, f crash.Follow) error {
	switch f.Kind {
	case crash.FollowPackage:
		return nil
	case crash.FollowProblem:
		id, err := crash.ParseBucketID(f.Name)
		if err == nil {
			_, err = s.Store.Bucket(r.Context(), id)
		}
		return err
	case crash.FollowSearch:
		_, err := s.Problems.SavedSearch(r.Context(), web.CurrentUser(r).ID, f.Number(), false)
		return err
	case crash.FollowPerson, crash.FollowSet:
	}
	_, _, err := s.packagesOf(r.Context(), f)
	return err
}

// Unfollow makes the user stop following something.
func (s *Lists) Unfollow(w http.ResponseWriter, r *http.Request) error {
	f, err := readFollow(r)
	if err != nil {
		return err
	}
	if err := s.People.Unfollow(r.Context(), web.CurrentUser(r).ID, f); err != nil {
		return err
	}
	return s.answerFollow(w, r, f, false, views.Flash{
		Kind: views.FlashDone, Text: "No longer following " + followText(f) + ".",
		Undo: &views.Undo{Action: views.PathFollow, Field: "what", Value: f.String()},
	})
}

// followText names the followed thing within a sentence.
func followText(f crash.Follow) string {
	switch f.Kind {
	case crash.FollowPerson:
		return "the packages of " + f.Name
	case crash.FollowSet:
		return "the package set " + f.Name
	case crash.FollowProblem:
		return "this problem"
	case crash.FollowSearch:
		return "the saved search"
	case crash.FollowPackage:
	}
	return "the package " + f.Name
}

// answerFollow sends the new state of the button: in place, or by a redirect to its page.
func (s *Lists) answerFollow(w http.ResponseWriter, r *http.Request, f crash.Follow, on bool,
	message views.Flash,
) error {
	if !web.WantsPart(r) {
		if err := s.FlashUndo(r, message); err != nil {
			return err
		}
		return web.Redirect(w, r, followPage(r))
	}
	message.Undo.CSRFToken = nosurf.Token(r)
	part := views.FollowPart{Follow: f, On: on, CSRFToken: message.Undo.CSRFToken}
	return s.Page(w, r, http.StatusOK, templ.Join(views.FollowButton(part), views.FlashNow(message)))
}

// followPage returns the page that contains the form: the referring page, or the user's own
// page.
func followPage(r *http.Request) string {
	from := web.ReturnPath(r)
	if from == "/" || strings.HasPrefix(from, views.PathFollow) || strings.HasPrefix(from, views.PathUnfollow) {
		return views.PathMy
	}
	return from
}

// SaveSeen marks problems up to a time as seen by the user, or undoes that.
func (s *Lists) SaveSeen(w http.ResponseWriter, r *http.Request) error {
	var seen time.Time
	if stamp := r.PostFormValue("seen"); stamp != "never" {
		var err error
		if seen, err = time.Parse(time.RFC3339Nano, stamp); err != nil || seen.After(s.Now()) {
			return crash.Errorf(crash.Invalid, "bad_time",
				"The form does not say until when to mark problems as seen. Reload the page and try again.")
		}
	}
	previous, err := s.People.SetSeen(r.Context(), web.CurrentUser(r).ID, seen)
	if err != nil {
		return err
	}
	undo := &views.Undo{Action: views.PathSeen, Field: "seen", Value: "never"}
	if !previous.IsZero() {
		undo.Value = previous.UTC().Format(time.RFC3339Nano)
	}
	message := views.Flash{Kind: views.FlashDone, Text: "Marked as seen.", Undo: undo}
	if seen.Before(previous) {
		message = views.Flash{Kind: views.FlashDone, Text: "Marked as new again."}
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, followPage(r))
}

// followPart returns the button that follows something.
func (s *choices) followPart(r *http.Request, f crash.Follow) (views.FollowPart, error) {
	p := views.FollowPart{Follow: f, CSRFToken: nosurf.Token(r)}
	if web.CurrentUser(r).ID == 0 {
		return p, nil
	}
	var err error
	p.On, err = s.People.Follows(r.Context(), web.CurrentUser(r).ID, f)
	return p, err
}
