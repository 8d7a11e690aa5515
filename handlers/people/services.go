package people

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/handlers/web"
	adminview "mishap/views/admin"
	"mishap/views/layout"
	view "mishap/views/people"
)

// service returns the service account that the address names, with the identities of the person who
// asks. It returns NotFound if there is none, and Forbidden to people who are neither
// administrators nor in the team.
func (s *Pages) service(r *http.Request) (crash.User, []crash.StoredIdentity, error) {
	name, err := web.PathText(r, "name")
	if err != nil {
		return crash.User{}, nil, err
	}
	u, err := s.People.ByName(r.Context(), name)
	if err == nil && !u.Service() {
		err = crash.Errorf(crash.NotFound, "unknown_service", "There is no service account named %q.", name)
	}
	if err != nil {
		return u, nil, err
	}
	identities, err := s.People.Identities(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return u, nil, err
	}
	if !web.CurrentUser(r).Role.Allows(crash.RoleAdmin) && !u.Team.Has(identities) {
		if slices.ContainsFunc(identities, func(i crash.StoredIdentity) bool { return i.Expired }) {
			return u, nil, crash.ErrGroupsExpired
		}
		return u, nil, crash.Errorf(crash.Forbidden, "not_in_team", "%s belongs to %s. Only that team and "+
			"administrators can see it. Your groups are those of your last sign-in.", u.Name, layout.TeamName(u.Team))
	}
	return u, identities, nil
}

// ShowService shows a service account.
func (s *Pages) ShowService(w http.ResponseWriter, r *http.Request) error {
	u, _, err := s.service(r)
	if err != nil {
		return err
	}
	return s.send(w, r, http.StatusOK, u, view.ServicePage{Tokens: view.TokensView{Form: view.NewTokenForm()}})
}

func (s *Pages) send(w http.ResponseWriter, r *http.Request, status int, u crash.User, page view.ServicePage) error {
	ctx := r.Context()
	page.Shell, page.Service, page.Base = s.web.Shell(r, u.Name), u, view.ServicePath(u.Name)
	page.Admin = web.CurrentUser(r).Role.Allows(crash.RoleAdmin)
	var err error
	if page.Members, err = s.People.TeamMembers(ctx, u.Team); err != nil {
		return err
	}
	if page.Tokens.Tokens, err = s.People.Tokens(ctx, u); err != nil {
		return err
	}
	grants, err := s.People.Grants(ctx)
	if err != nil {
		return err
	}
	page.Reasons = crash.RoleReasons(u, nil, grants, crash.RoleNone)
	page.Tokens.Scopes = scopesOf(u)
	return s.web.Page(w, r, status, view.Service(page))
}

// SetServiceTeam gives a service account to another team.
func (s *Pages) SetServiceTeam(w http.ResponseWriter, r *http.Request) error {
	u, _, err := s.service(r)
	if err != nil {
		return err
	}
	team := web.ReadTeam(r)
	err = s.People.SetTeam(r.Context(), web.CurrentUser(r).Name, u.Name, team)
	if crash.KindOf(err) == crash.Invalid {
		page := view.ServicePage{Tokens: view.TokensView{Form: view.NewTokenForm()},
			TeamProblem: web.AnswerTo(r, err).Message}
		return s.send(w, r, http.StatusUnprocessableEntity, u, page)
	}
	if err != nil {
		return err
	}
	return s.done(w, r, u, adminview.ServiceTeamSet(u.Name, team))
}

// CreateServiceToken creates an API token of a service account and shows it. mishap never shows it again.
func (s *Pages) CreateServiceToken(w http.ResponseWriter, r *http.Request) error {
	u, _, err := s.service(r)
	if err != nil {
		return err
	}
	form, err := web.ReadTokenForm(r)
	if err != nil {
		return err
	}
	made, err := s.addToken(r, u, form)
	return s.afterToken(w, r, u, view.ServicePage{}, form, made, err)
}

// RenewServiceToken creates a token with the name, scopes and lifetime of another one, and shows it.
func (s *Pages) RenewServiceToken(w http.ResponseWriter, r *http.Request) error {
	u, ok, err := s.mayManage(w, r)
	if !ok {
		return err
	}
	made, _, err := s.People.RenewToken(r.Context(), web.CurrentUser(r).Name, u, web.IDInPath(r))
	return s.afterToken(w, r, u, view.ServicePage{Renewed: true}, view.NewTokenForm(), made, err)
}

// afterToken shows the page with a new token, or with the reason why there is none.
func (s *Pages) afterToken(w http.ResponseWriter, r *http.Request, u crash.User, page view.ServicePage,
	form view.TokenForm, made string, err error) error {
	var status int
	if page.Tokens, status, err = shownToken(r, form, made, err); err != nil {
		return err
	}
	return s.send(w, r, status, u, page)
}

// scopesOf returns the scopes that tokens of an account can have.
func scopesOf(u crash.User) []crash.Scope {
	return slices.DeleteFunc(slices.Clone(crash.Scopes), func(scope crash.Scope) bool { return !u.MayScope(scope) })
}

// addToken creates the token of a form.
func (s *Pages) addToken(r *http.Request, u crash.User, form view.TokenForm) (made string, err error) {
	if !slices.Contains(view.TokenDays, form.Days) {
		return "", crash.Errorf(crash.Invalid, "bad_days", "Choose when the token expires.")
	}
	made, _, err = s.People.AddToken(r.Context(), web.CurrentUser(r).Name, u, form.Name, form.Scopes,
		s.web.Now().AddDate(0, 0, form.Days))
	return made, err
}

// shownToken returns what a page shows after a form that creates a token, and its status: the token, or why
// there is none.
func shownToken(r *http.Request, form view.TokenForm, made string, err error) (view.TokensView, int, error) {
	switch crash.KindOf(err) {
	case crash.Invalid, crash.Conflict, crash.Forbidden:
		form.Problem = web.AnswerTo(r, err).Message
		return view.TokensView{Form: form}, http.StatusUnprocessableEntity, nil
	default:
		return view.TokensView{Made: made, Form: view.NewTokenForm()}, http.StatusCreated, err
	}
}

// RevokeServiceToken revokes a token of a service account.
func (s *Pages) RevokeServiceToken(w http.ResponseWriter, r *http.Request) error {
	u, ok, err := s.mayManage(w, r)
	if !ok {
		return err
	}
	if _, err := s.People.RevokeTokenOf(r.Context(), web.CurrentUser(r).Name, u.ID, web.IDInPath(r)); err != nil {
		return err
	}
	return s.done(w, r, u, "Token revoked.")
}

// mayManage returns the service account that the address names, and whether the person may manage
// its tokens. Otherwise, it returns an error, or has asked the person to sign in again because the
// groups are old.
func (s *Pages) mayManage(w http.ResponseWriter, r *http.Request) (u crash.User, ok bool, err error) {
	u, identities, err := s.service(r)
	if err != nil {
		return u, false, err
	}
	current := web.FreshIdentities(s.web, identities)
	admin, err := web.IsAdminNow(s.web, r, current)
	if err != nil || admin || u.Team.Has(current) {
		return u, err == nil, err
	}
	return u, false, web.AskToSignInAgain(s.web, w, r, web.ErrOldGroups)
}

func (s *Pages) done(w http.ResponseWriter, r *http.Request, u crash.User, message string) error {
	return s.web.Done(w, r, view.ServicePath(u.Name), message)
}
