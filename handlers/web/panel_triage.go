package web

import (
	"errors"
	"net/http"
	"slices"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/privacy"
	problemsview "mishap/views/problems"
)

// ManualView returns the manual status of a problem for the current user.
func (s *Panel) ManualView(r *http.Request, b crash.Bucket, m crash.ManualStatus) problemsview.ManualView {
	u := CurrentUser(r)
	if IsPublic(r) {
		m = privacy.RedactManual(m)
	}
	return problemsview.ManualView{
		Bucket: b.ID, Status: m, SignedIn: u.Role.Allows(crash.RoleViewer), MayDecide: u.MayTriage(b.SourcePackage),
		CSRFToken: nosurf.Token(r), Now: s.Now(),
	}
}

// NewestFirst returns entries of a problem's history, of which all is sorted the other way.
func NewestFirst(all []crash.Triage, limit int) []crash.Triage {
	all = slices.Clone(all[max(0, len(all)-limit):])
	slices.Reverse(all)
	return all
}

// CodeOf returns the code of an error for people, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}
