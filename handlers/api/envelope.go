package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// format is the format of an answer.
type format string

const (
	formatJSON format = "json"
	formatXML  format = "xml"
	formatYAML format = "yaml"
)

// mediaTypes are the values of Content-Type for each format.
var mediaTypes = map[format]string{
	formatJSON: "application/json", formatXML: "application/xml; charset=utf-8", formatYAML: "text/yaml; charset=utf-8",
}

// acceptedTypes are the media types by which Accept selects a format, the default first.
// Browsers prefer HTML and get JSON.
var acceptedTypes = []struct {
	media  string
	format format
}{
	{"application/json", formatJSON}, {"text/html", formatJSON}, {"application/xhtml+xml", formatJSON},
	{"application/xml", formatXML}, {"text/xml", formatXML},
	{"text/yaml", formatYAML}, {"application/yaml", formatYAML}, {"application/x-yaml", formatYAML},
}

// formatOf returns the format that a request selects by the parameter format, or else by Accept.
// The default is JSON.
func formatOf(r *http.Request) format {
	requested, _ := parseQuery(r.URL.RawQuery).last("format")
	if f := format(requested.value); mediaTypes[f] != "" {
		return f
	}
	media := make([]string, len(acceptedTypes))
	for i, o := range acceptedTypes {
		media[i] = o.media
	}
	preferred := negotiate.Preferred(r.Header.Values("Accept"), media...)
	for _, o := range acceptedTypes {
		if o.media == preferred {
			return o.format
		}
	}
	return formatJSON
}

// encode encodes a value as JSON, indented by two spaces, without HTML escapes.
func encode(v any) ([]byte, error) {
	body, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSuffix(body, []byte("\n")), "", "  "); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return out.Bytes(), nil
}

// encodeAs encodes a value in a format. Because JSON is valid YAML, it writes JSON for both. XML
// has the elements and types of errors.ubuntu.com.
func encodeAs(f format, v any) ([]byte, error) {
	body, err := encode(v)
	if err != nil || f != formatXML {
		return body, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	root := "object"
	switch v.(type) {
	case envelope, objectsByKey, map[string]indexEntry:
		root = "response"
	}
	x := xmlWriter{}
	x.WriteString(xml.Header)
	x.element(root, plain, "")
	return x.Bytes(), nil
}

// xmlWriter writes values as XML elements.
type xmlWriter struct{ bytes.Buffer }

// xmlName matches the names that become the name of an element; others become an attribute.
var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// element writes a value. hash is the type attribute of an object.
func (x *xmlWriter) element(name string, value any, hash string) {
	given := ""
	if !xmlName.MatchString(name) {
		name, given = "value", name
	}
	open := func(kind string) {
		x.WriteString("<" + name)
		if given != "" {
			x.WriteString(` name="`)
			x.text(given)
			x.WriteString(`"`)
		}
		if kind != "" {
			x.WriteString(` type="` + kind + `"`)
		}
		x.WriteString(">")
	}
	switch v := value.(type) {
	case nil:
		open("null")
	case bool:
		open("boolean")
		x.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case json.Number:
		kind := "integer"
		if strings.ContainsAny(v.String(), ".eE") {
			kind = "float"
		}
		open(kind)
		x.WriteString(v.String())
	case string:
		open("")
		x.text(v)
	case []any:
		open("list")
		for _, one := range v {
			switch one.(type) {
			case map[string]any:
				inner := "hash"
				if name == "objects" {
					inner = ""
				}
				x.element("object", one, inner)
			case []any:
				x.element("objects", one, "")
			default:
				x.element("value", one, "")
			}
		}
	case map[string]any:
		open(hash)
		for _, field := range slices.Sorted(maps.Keys(v)) {
			x.element(field, v[field], "hash")
		}
	}
	x.WriteString("</" + name + ">")
}

// text writes escaped text. Characters that XML does not allow become U+FFFD.
func (x *xmlWriter) text(s string) { _ = xml.EscapeText(x, []byte(s)) } // writes to a buffer do not fail

// resource is one entry of the table.
type resource struct {
	name    string
	summary string // one line
	doc     string // further details, in a few sentences
	access  access
	method  string  // GET, or POST for questions with a body
	params  []param // without limit and offset, unless the resource handles limit itself
	key     string  // description of the key in the address of a single object
	example string  // example of a key

	object any // zero value of the type of an object or answer
	body   any // zero value of the type of a question

	list     listFunc
	window   windowFunc // instead of list
	detail   detailFunc
	post     postFunc
	external bool              // served by package handlers; the table only describes it
	outcomes map[string]string // of an external resource: statuses of answers, with their meanings
	refused  []string          // further statuses of refusals of an external resource
}

// allow returns the value of the Allow header.
func (res *resource) allow() string {
	if res.method == http.MethodGet {
		return "GET, HEAD"
	}
	return res.method
}

// listed reports whether the resource has a list.
func (res *resource) listed() bool { return res.list != nil || res.window != nil }

// ownLimit reports whether the resource handles limit itself, before paging.
func (res *resource) ownLimit() bool {
	return slices.ContainsFunc(res.params, func(p param) bool { return p.name == limitParam.name })
}

// table returns all resources, in the order of the documentation.
func (a *answers) table() []resource {
	return slices.Concat(a.problemResources(), a.countResources(), a.phasingResources(), a.gateResources(),
		a.reportResources(), a.archiveResources(), a.bugResources(), a.statusResources(), a.symbolResources(),
		eraseResources())
}

// Parameters that several resources share.
var (
	releaseParam = param{name: "release", kind: kindText, doc: "A release, by the name in reports.",
		example: "Ubuntu 24.04"}
	packageParam = param{name: "package", kind: kindText, doc: "Name of a binary package.", example: "tidewatch"}
	problemParam = param{
		name: "id", kind: kindSignature, required: true, example: "/usr/bin/tidewatch:11:parse:load:main",
		doc: "Signature of a problem, or its SHA-1 (40 hex digits). A signature may be percent-encoded " +
			"twice.",
	}
)

// maxDays is the maximum number of days in a daily list: ten years.
const maxDays = 3660

// daysParam returns a limit that counts days.
func daysParam() param {
	return param{
		name: "limit", kind: kindNumber, max: maxDays, ceiling: maxDays, fallback: defaultDays, example: "30",
		doc: "Number of days, today (UTC) first; one answer has at most 360 objects.",
	}
}
