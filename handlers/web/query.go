package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// ListSize is how many rows a page of a list has.
const ListSize = 50

// MaxQueryText is how many characters of text a filter may have.
const MaxQueryText = 200

// Part sends a part of a page together with what takes old messages away.
func (s *Kit) Part(w http.ResponseWriter, r *http.Request, c templ.Component) error {
	return s.Page(w, r, http.StatusOK, templ.Join(c, views.NoFlashes()))
}

// errBadPath is the answer to a name in a path that is not text.
var errBadPath = crash.Errorf(crash.Invalid, "bad_path", "The address is not readable: it holds bytes that are not text.")

// PathText is a part of the path that may hold any text, slashes too. The router hands it out as it was sent when it was
// sent with escapes that matter, else decoded. NUL and invalid UTF-8 are Invalid: nothing here can have such a name, and the
// database takes no such text.
func PathText(r *http.Request, name string) (string, error) {
	text := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errBadPath
	}
	return text, nil
}

// QueryText is a short text of the query, without blanks around it. Text that nothing here can be called is Invalid.
func QueryText(q url.Values, name string) (string, error) {
	text := strings.TrimSpace(q.Get(name))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > MaxQueryText {
		return "", crash.Errorf(crash.Invalid, "bad_"+name, "The %s in the address is not readable; it has at most %d characters.", name, MaxQueryText)
	}
	return text, nil
}

// QueryOops is the report that a list goes on below; zero: from the start.
func QueryOops(q url.Values, name string) (crash.OopsID, error) {
	if q.Get(name) == "" {
		return crash.OopsID{}, nil
	}
	id, err := crash.ParseOopsID(q.Get(name))
	if err != nil {
		return id, ErrBadPlace
	}
	return id, nil
}

// ErrBadPlace is the answer to a place in a list that no list has.
var ErrBadPlace = crash.Errorf(crash.Invalid, "bad_after", "The address asks for a page of the list that does not exist; start again at its first page.")

// LastDays are the last n UTC days, today included.
func (s *Kit) LastDays(n int) (since, until time.Time) {
	until = s.Now().UTC().Truncate(24 * time.Hour)
	return until.AddDate(0, 0, 1-n), until
}
