package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"mishap/crash"
	"mishap/handlers/negotiate"
)

// maxPage is the maximum number of objects in one answer, and the default.
const maxPage = 360

// meta describes the part of a list that an answer contains. In all answers, fields are sorted
// by name.
type meta struct {
	Limit    int     `json:"limit" doc:"Maximum number of objects in this answer."`
	Next     *string `json:"next" doc:"Path and query of the next part; null at the end."`
	Offset   int     `json:"offset" doc:"Number of preceding objects in the list."`
	Previous *string `json:"previous" doc:"Path and query of the previous part; null at the beginning."`
	Total    int     `json:"total_count" doc:"The length of the list."`
}

// envelope is the outer object of every list.
type envelope struct {
	Meta    meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// paging is the part of a list that a request selects.
type paging struct {
	limit, offset int
	limitText     string // limit that selects the objects of the list; empty if it only pages
}

// limitParam and offsetParam are the parameters of every list.
var (
	// limitParam and offsetParam are the parameters of every list.
	limitParam = param{
		name: "limit", kind: kindNumber, max: 1 << 30, example: "30",
		doc: "Maximum number of objects in one answer. 0 and values above 360 mean 360.",
	}
	offsetParam = param{
		name: "offset", kind: kindNumber, max: 1 << 30, example: "0",
		doc: "Number of objects to skip at the beginning of the list.",
	}
)

// paging reads limit and offset like errors.ubuntu.com. A malformed or negative number is Invalid.
func (res *resource) paging(q query) (paging, error) {
	var p paging
	for _, declared := range res.params {
		if declared.name == limitParam.name && declared.fallback > 0 {
			p.limitText = strconv.Itoa(declared.fallback)
		}
	}
	for _, x := range []struct {
		name string
		to   *int
	}{{"limit", &p.limit}, {"offset", &p.offset}} {
		sent, _ := q.last(x.name)
		if sent.value == "" {
			continue
		}
		n, err := strconv.Atoi(sent.value)
		if err != nil && isDigits(sent.value) {
			n, err = 1<<30, nil
		}
		if err != nil || n < 0 {
			return p, badPaging(x.name, sent.value)
		}
		*x.to = n
		if x.name == "limit" && res.ownLimit() {
			p.limitText = sent.value
		}
	}
	if p.limit == 0 || p.limit > maxPage {
		p.limit = maxPage
	}
	return p, nil
}

// badPaging returns the refusal with the text that existing clients know.
func badPaging(name, text string) error {
	advice := "a positive integer"
	if name == "offset" {
		advice = "an integer"
	}
	if _, err := strconv.Atoi(text); err == nil {
		advice = "a positive integer >= 0"
	}
	return crash.Errorf(crash.Invalid, "bad_"+name, "Invalid %s '%.40s' provided. Please provide %s.", name, text, advice)
}

// envelope returns the selected part of a list, with links to its neighbours.
func (p paging) envelope(u *url.URL, q query, objects []any) envelope {
	e := envelope{Meta: meta{Limit: p.limit, Offset: p.offset, Total: len(objects)}, Objects: []any{}}
	from := min(p.offset, len(objects))
	e.Objects = append(e.Objects, objects[from:min(from+p.limit, len(objects))]...)
	if p.offset+p.limit < len(objects) {
		e.Meta.Next = p.link(u, q, p.limit, p.offset+p.limit)
	}
	switch {
	case p.offset >= p.limit:
		e.Meta.Previous = p.link(u, q, p.limit, p.offset-p.limit)
	case p.offset > 0 && p.limitText == "": // with limitText, a shorter limit would select another list
		e.Meta.Previous = p.link(u, q, p.offset, 0)
	}
	return e
}

// link returns the address of another part of a list. The pairs in changed replace parameters of
// the request.
func (p paging) link(u *url.URL, q query, limit, offset int, changed ...pair) *string {
	text := strconv.Itoa(limit)
	if p.limitText != "" {
		text = p.limitText // the limit selects the list, not only the page
	}
	changed = append(changed, pair{name: "limit", value: text}, pair{name: "offset", value: strconv.Itoa(offset)})
	s := u.EscapedPath() + "?" + q.with(changed...)
	return &s
}

// marshal encodes v like json.Marshal, but does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// write sends a value in the format that the request prefers, with an entity tag.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, v any) error {
	return a.writeAs(w, r, formatOf(r), status, v)
}

// writeAs sends a value in format f, with an entity tag.
func (a *API) writeAs(w http.ResponseWriter, r *http.Request, f format, status int, v any) error {
	body, err := encodeAs(f, v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaTypes[f])
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept")
	if status == http.StatusOK {
		sum := sha256.Sum256(body)
		tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if negotiate.Matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client disconnected
	return nil
}
