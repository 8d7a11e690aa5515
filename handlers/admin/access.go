package admin

import (
	"cmp"
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

// maxPeople is the number of people that the page of roles lists at most.
const maxPeople = 500

// ShowAccess shows which groups and accounts have rights, and who has which role and why.
func (s *Pages) ShowAccess(w http.ResponseWriter, r *http.Request) error {
	return s.sendAccess(w, r, http.StatusOK, view.GrantForm{})
}

func (s *Pages) sendAccess(w http.ResponseWriter, r *http.Request, status int, form view.GrantForm) error {
	ctx := r.Context()
	page := view.AccessPage{Shell: s.web.Shell(r, "Roles"), Form: form, Everyone: s.Store.Rights.Everyone,
		Search: strings.TrimSpace(crash.Truncate(r.URL.Query().Get("person"), 100))}
	var err error
	if page.Grants, err = s.People.Grants(ctx); err != nil {
		return err
	}
	users, err := s.People.Accounts(ctx)
	if err != nil {
		return err
	}
	identities, err := s.People.Identities(ctx, 0)
	if err != nil {
		return err
	}
	for _, p := range crash.AccessOf(users, identities, page.Grants, s.Store.Rights.Everyone) {
		if !strings.Contains(strings.ToLower(p.User.Name), strings.ToLower(page.Search)) {
			continue
		}
		if len(page.People) == maxPeople {
			page.More = true
			break
		}
		page.People = append(page.People, p)
	}
	return s.web.Page(w, r, status, view.Access(page))
}

// formGrant reads a grant from a form.
func formGrant(r *http.Request) crash.Grant {
	g := crash.Grant{Source: crash.Source(r.PostFormValue("source")),
		Group: crash.Truncate(r.PostFormValue("group"), 300), Role: crash.Role(r.PostFormValue("role"))}
	g.Scope.Kind = crash.GrantScopeKind(cmp.Or(r.PostFormValue("scope"), string(crash.GrantAll)))
	g.Scope.Name = strings.TrimSpace(crash.Truncate(r.PostFormValue("packages"), 300))
	return g
}

// Grant gives a right to a group or an account.
func (s *Pages) Grant(w http.ResponseWriter, r *http.Request) error {
	form := view.GrantForm{Grant: formGrant(r)}
	err := s.People.Grant(r.Context(), web.CurrentUser(r).Name, form.Grant)
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.NotFound {
		form.Problem = web.AnswerTo(r, err).Message
		return s.sendAccess(w, r, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	return s.afterAccess(w, r, view.Granted(form.Grant))
}

// Revoke takes a right of a group or an account away.
func (s *Pages) Revoke(w http.ResponseWriter, r *http.Request) error {
	g := formGrant(r)
	if err := s.People.RevokeGrant(r.Context(), web.CurrentUser(r).Name, g); err != nil {
		return err
	}
	return s.afterAccess(w, r, view.Revoked(g))
}

// ResetSecondFactor removes the authenticator app of a person who has lost it.
func (s *Pages) ResetSecondFactor(w http.ResponseWriter, r *http.Request) error {
	by, name := web.CurrentUser(r), r.PostFormValue("name")
	if strings.EqualFold(by.Name, name) {
		return crash.Errorf(crash.Conflict, "own_second_factor",
			"You can remove your own app with your password, on the page of your account.")
	}
	if err := s.People.ResetSecondFactor(r.Context(), by.Name, name); err != nil {
		return err
	}
	return s.afterAccess(w, r, "The authenticator app of "+name+" is removed, and "+name+" is signed out everywhere.")
}

// afterAccess redirects to the page of roles, or to the account of a person who may not see it any more.
func (s *Pages) afterAccess(w http.ResponseWriter, r *http.Request, message string) error {
	u, err := s.People.ByID(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if !u.Role.Allows(crash.RoleAdmin) {
		return s.web.Done(w, r, web.PathAccount, message)
	}
	return s.web.Done(w, r, layout.PathAccess, message)
}
