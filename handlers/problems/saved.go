package problems

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

var (
	errShare    = crash.Errorf(crash.Forbidden, "may_not_share", "%s", "Only triagers can share searches.")
	errNotYours = crash.Errorf(crash.Forbidden, "not_your_search", "%s",
		"Only its owner or an admin can change this search.")
	errSearchPath = crash.Errorf(crash.Invalid, "bad_search_path", "%s", "That is not the address of a list of problems.")
)

// ShowSearches shows the saved searches that the user sees.
func (s *Lists) ShowSearches(w http.ResponseWriter, r *http.Request) error {
	user := web.CurrentUser(r)
	searches, err := s.Problems.SavedSearches(r.Context(), user.ID)
	if err != nil {
		return err
	}
	follows, err := s.People.Followed(r.Context(), user.ID)
	if err != nil {
		return err
	}
	followed := map[string]bool{}
	for _, f := range follows {
		if f.Kind == crash.FollowSearch {
			followed[f.Name] = true
		}
	}
	return s.Page(w, r, http.StatusOK, views.Saved(views.SavedPage{
		Shell: s.Shell(r, "Saved searches"), Searches: searches, Followed: followed,
		MayShare: user.Role.Allows(crash.RoleTriager),
	}))
}

// SaveSearch saves the address of a list under a name. Triagers can share it.
func (s *Lists) SaveSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := readSearch(r, false)
	if err != nil {
		return err
	}
	if search.Path, err = listPath(r.PostFormValue("path")); err != nil {
		return err
	}
	search.OwnerID = web.CurrentUser(r).ID
	if search.ID, err = s.Problems.SaveSearch(r.Context(), search); err != nil {
		return err
	}
	message := views.Flash{Kind: views.FlashDone, Text: "Saved as “" + search.Name + "”.", Undo: &views.Undo{
		Action: views.SavedSearchPath(search.ID, "/delete"), Field: "id", Value: strconv.FormatInt(search.ID, 10),
	}}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, search.Path)
}

// ChangeSearch renames a saved search, and shares it or ends that.
func (s *Lists) ChangeSearch(w http.ResponseWriter, r *http.Request) error {
	old, err := s.searchInPath(r, false)
	if err != nil {
		return err
	}
	search, err := readSearch(r, old.Shared)
	if err != nil {
		return err
	}
	search.ID = old.ID
	if err := s.Problems.ChangeSearch(r.Context(), search); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "Changed “"+search.Name+"”."); err != nil {
		return err
	}
	return web.Redirect(w, r, views.PathSearches)
}

// DeleteSearch deletes a saved search. The message has a form that undoes that.
func (s *Lists) DeleteSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := s.searchInPath(r, false)
	if err != nil {
		return err
	}
	if err := s.Problems.DeleteSearch(r.Context(), search.ID); err != nil {
		return err
	}
	message := views.Flash{Kind: views.FlashDone, Text: "Deleted “" + search.Name + "”.", Undo: &views.Undo{
		Action: views.SavedSearchPath(search.ID, "/restore"), Field: "id", Value: strconv.FormatInt(search.ID, 10),
	}}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, views.PathSearches)
}

// RestoreSearch undoes DeleteSearch.
func (s *Lists) RestoreSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := s.searchInPath(r, true)
	if err != nil {
		return err
	}
	if err := s.Problems.RestoreSearch(r.Context(), search.ID); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "Search restored."); err != nil {
		return err
	}
	return web.Redirect(w, r, views.PathSearches)
}

// searchInPath returns the saved search whose id is in the path, if the user may change it.
func (s *Lists) searchInPath(r *http.Request, deleted bool) (crash.SavedSearch, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return crash.SavedSearch{}, web.ErrNoPage
	}
	user := web.CurrentUser(r)
	search, err := s.Problems.SavedSearch(r.Context(), user.ID, id, deleted)
	if err == nil && !search.MayChange(user) {
		err = errNotYours
	}
	return search, err
}

// readSearch reads the name of a search and whether it is shared. Sharing needs the role triager;
// a search that is shared already stays so for others.
func readSearch(r *http.Request, wasShared bool) (search crash.SavedSearch, err error) {
	search.Shared = r.PostFormValue("shared") == "1"
	if !web.CurrentUser(r).Role.Allows(crash.RoleTriager) {
		if search.Shared && !wasShared {
			return search, errShare
		}
	}
	search.Name, err = crash.SearchName(r.PostFormValue("name"))
	return search, err
}

// listPath returns the canonical form of the address of a list or a search.
func listPath(path string) (string, error) {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path != "/" && u.Path != views.PathSearch {
		return "", errSearchPath
	}
	values := u.Query()
	if u.Path == views.PathSearch {
		setSearchPeriod(values)
	}
	choice, err := readFilters(values)
	if err != nil {
		return "", err
	}
	if u.Path == views.PathSearch {
		choice.Query = strings.TrimSpace(values.Get("q"))
		if choice.Query == "" {
			return "", errSearchPath
		}
	}
	if path = choice.URL(); len(path) > maxListPath {
		return "", errSearchPath
	}
	return path, nil
}

// maxListPath is the largest length of the address of a saved search, in bytes.
const maxListPath = 2000
