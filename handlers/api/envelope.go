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

// maxPage is the most objects in one answer, and how many there are without a limit.
const maxPage = 360

// meta says which part of a list an answer is. The fields of all answers stand in the order of their names.
type meta struct {
	Limit    int     `json:"limit" doc:"The most objects in this answer."`
	Next     *string `json:"next" doc:"Path and query of the next part; null at the end."`
	Offset   int     `json:"offset" doc:"How many objects of the list come before these."`
	Previous *string `json:"previous" doc:"Path and query of the part before; null at the beginning."`
	Total    int     `json:"total_count" doc:"The length of the list."`
}

// envelope is what every list comes in.
type envelope struct {
	Meta    meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// paging is which part of a list is wanted.
type paging struct {
	limit, offset int
	given         string // the limit by which a resource makes its list; empty: it only pages by limit
}

// limitParam and offsetParam are what every list takes.
var (
	limitParam = param{
		name: "limit", kind: kindNumber, max: 1 << 30, example: "30",
		doc: "The most objects in one answer. 0 and everything above 360 mean 360.",
	}
	offsetParam = param{name: "offset", kind: kindNumber, max: 1 << 30, example: "0", doc: "How many objects of the list to leave out."}
)

// paging reads limit and offset as the old service did. What is no number, or below 0, is Invalid.
func (res *resource) paging(q query) (paging, error) {
	var p paging
	for _, own := range res.params {
		if own.name == limitParam.name && own.fallback > 0 {
			p.given = strconv.Itoa(own.fallback)
		}
	}
	for _, x := range []struct {
		name string
		to   *int
	}{{"limit", &p.limit}, {"offset", &p.offset}} {
		got, _ := q.last(x.name)
		if got.value == "" {
			continue
		}
		n, err := strconv.Atoi(got.value)
		if err != nil && isDigits(got.value) {
			n, err = 1<<30, nil
		}
		if err != nil || n < 0 {
			return p, badPaging(x.name, got.value)
		}
		*x.to = n
		if x.name == "limit" && res.ownLimit() {
			p.given = got.value
		}
	}
	if p.limit == 0 || p.limit > maxPage {
		p.limit = maxPage
	}
	return p, nil
}

// badPaging is the refusal in the words that clients know.
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

// envelope puts the wanted part of a list into what lists come in.
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
	case p.offset > 0 && p.given == "": // what is left of the list before this part; another limit would make another list
		e.Meta.Previous = p.link(u, q, p.offset, 0)
	}
	return e
}

// link is the address of another part of a list, with changed in place of parameters that the request has.
func (p paging) link(u *url.URL, q query, limit, offset int, changed ...pair) *string {
	text := strconv.Itoa(limit)
	if p.given != "" {
		text = p.given // it says what the list is, not only how it is paged
	}
	changed = append(changed, pair{name: "limit", value: text}, pair{name: "offset", value: strconv.Itoa(offset)})
	s := u.EscapedPath() + "?" + q.with(changed...)
	return &s
}

// marshal is json.Marshal with text as it is: <, > and & are not escaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// write sends a value in the form that was asked for, with an entity tag that saves sending the same again.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, v any) error {
	return a.writeAs(w, r, formatOf(r), status, v)
}

// writeAs is write in a form.
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
	_, _ = w.Write(body) // an error means that the client has gone
	return nil
}
