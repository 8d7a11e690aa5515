package admin

import (
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

// maxTokens is the number of tokens that the page of all tokens lists at most.
const maxTokens = 500

// ListTokens shows the API tokens of all accounts.
func (s *Pages) ListTokens(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page := view.AllTokensPage{Shell: s.web.Shell(r, "API tokens"), Filter: crash.TokenFilter{
		Text: strings.TrimSpace(crash.Truncate(strings.ToValidUTF8(q.Get("text"), ""), 100)), Limit: maxTokens + 1}}
	page.Filter.Text = strings.ReplaceAll(page.Filter.Text, "\x00", "")
	var err error
	if page.Filter.State, err = crash.ParseTokenState(q.Get("state")); err != nil {
		return err
	}
	if q.Get("scope") != "" {
		if page.Filter.Scope, err = crash.ParseScope(q.Get("scope")); err != nil {
			return err
		}
	}
	if page.Tokens, err = s.People.AllTokens(r.Context(), page.Filter); err != nil {
		return err
	}
	if page.More = len(page.Tokens) > maxTokens; page.More {
		page.Tokens = page.Tokens[:maxTokens]
	}
	return s.web.Page(w, r, http.StatusOK, view.AllTokens(page))
}

// RevokeToken revokes a token of any account.
func (s *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	person, err := s.People.RevokeTokenOf(r.Context(), web.CurrentUser(r).Name, 0, web.IDInPath(r))
	if err != nil {
		return err
	}
	return s.afterTokens(w, r, "Token of "+person+" revoked.")
}

// RevokeTokens revokes all tokens that are expired or unused.
func (s *Pages) RevokeTokens(w http.ResponseWriter, r *http.Request) error {
	state := crash.TokenState(r.PostFormValue("state"))
	n, err := s.People.RevokeTokens(r.Context(), web.CurrentUser(r).Name, state)
	if err != nil {
		return err
	}
	if n == 0 {
		web.MarkUnchanged(r)
	}
	return s.afterTokens(w, r, view.TokensRevoked(n))
}

// afterTokens redirects to the list with the filter of before, and a message.
func (s *Pages) afterTokens(w http.ResponseWriter, r *http.Request, message string) error {
	path := layout.PathAllTokens
	if query := r.PostFormValue("filter"); query != "" && len(query) < 500 {
		path += "?" + query
	}
	return s.web.Done(w, r, web.LocalPath(path), message)
}
