package trackertest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Operation is a kind of request, for faults and Requests.
type Operation string

// Kinds of requests.
const (
	OpRequestToken  Operation = "request-token"
	OpAccessToken   Operation = "access-token"
	OpAuthorize     Operation = "authorize"
	OpCreate        Operation = "create"
	OpSearch        Operation = "search"
	OpBug           Operation = "bug"
	OpChange        Operation = "change" // PATCH of a bug
	OpSubscribe     Operation = "subscribe"
	OpMe            Operation = "me"
	OpSourcePackage Operation = "source-package"
	OpTasks         Operation = "tasks"
	OpMessages      Operation = "messages"
	OpComment       Operation = "comment"
	OpArchive       Operation = "archive"
	OpOther         Operation = "other"
)

var (
	webOperations = map[string]Operation{
		"/+request-token": OpRequestToken, "/+access-token": OpAccessToken, "/+authorize-token": OpAuthorize,
	}
	namedOperations = map[string]Operation{
		"createBug": OpCreate, "searchTasks": OpSearch, "subscribe": OpSubscribe, "newMessage": OpComment,
		"getSourcePackage": OpSourcePackage, "getPublishedSources": OpArchive, "getPublishedBinaries": OpArchive,
		"getSourcesIncluded": OpArchive, "getBugSubscriberPackages": OpArchive,
	}
)

// versions are the versions of the API, which begin its paths.
var versions = []string{"beta", "1.0", "devel"}

// call is a parsed request.
type call struct {
	r       *http.Request
	body    []byte
	form    url.Values // from the body, if that is a form
	query   url.Values
	version string   // of the API; empty: the web part
	parts   []string // of the path, below the version; at least one
	origin  string   // scheme, host and port that the client used
	name    string   // of the named operation: ws.op
	op      Operation
}

const maxBody = 4 << 20

func newCall(r *http.Request) *call {
	c := &call{r: r, query: r.URL.Query(), form: url.Values{}, origin: "http://" + r.Host}
	c.body, _ = io.ReadAll(io.LimitReader(r.Body, maxBody)) // an incomplete body is refused later
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" || media == "application/x-www-form-urlencoded" {
		c.form, _ = url.ParseQuery(string(c.body)) // invalid pairs are left out
	}
	c.parts = splitPath(r.URL.EscapedPath())
	if slices.Contains(versions, c.parts[0]) {
		c.version, c.parts = c.parts[0], c.parts[1:]
	}
	if len(c.parts) == 0 {
		c.parts = []string{""} // the root
	}
	c.name = c.query.Get("ws.op")
	if r.Method == http.MethodPost {
		c.name = c.form.Get("ws.op")
	}
	c.op = c.operation()
	return c
}

func (c *call) operation() Operation {
	op := webOperations[c.r.URL.EscapedPath()]
	if c.version != "" {
		op = namedOperations[c.name]
	}
	bug := c.version != "" && len(c.parts) > 1 && c.parts[0] == "bugs"
	switch {
	case op != "":
		return op
	case c.version != "" && slices.Equal(c.parts, []string{"people", "+me"}):
		return OpMe
	case bug && len(c.parts) == 2 && c.r.Method == http.MethodPatch:
		return OpChange
	case bug && len(c.parts) == 2:
		return OpBug
	case bug && c.parts[2] == "bug_tasks":
		return OpTasks
	case bug && c.parts[2] == "messages":
		return OpMessages
	}
	return OpOther
}

// root returns the root address of the API in the version of the call.
func (c *call) root() string { return c.origin + "/" + c.version }

// splitPath returns the decoded segments of a path. A segment may contain a decoded slash.
func splitPath(escaped string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.Trim(escaped, "/"), "/") {
		out = append(out, unescape(part))
	}
	return out
}

func unescape(s string) string {
	out, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return out
}

// escapePath encodes a name as one segment of a path. "+" stays, as in the links of Launchpad.
func escapePath(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2B", "+") }

// params are the parameters of an operation or the attributes of a PATCH, encoded as JSON. Its
// methods note what is wrong with a parameter.
type params struct {
	url.Values
	wrong []string // one line for each invalid parameter
}

func (p *params) refuse(name, format string, args ...any) {
	p.wrong = append(p.wrong, name+": "+fmt.Sprintf(format, args...))
}

// refusal returns the answer to invalid parameters.
func (p *params) refusal() response {
	return text(400, strings.Join(p.wrong, "\n")).with("Content-Type", "text/plain")
}

// text decodes a required text. It accepts only JSON text. Launchpad accepts anything, but takes an
// unquoted 24.10 for a number.
func (p *params) text(name string) (value string) {
	if !p.Has(name) {
		p.refuse(name, "Required input is missing.")
	} else if json.Unmarshal([]byte(p.Get(name)), &value) != nil {
		p.refuse(name, "practice: %s is not JSON text", p.Get(name))
	}
	return strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\r", "\n")
}

// list decodes a list of texts, or a single text. Launchpad decodes each item as JSON once more, so
// list refuses items that would then be no text.
func (p *params) list(name string) (items []string) {
	if json.Unmarshal([]byte(p.Get(name)), &items) != nil {
		items = []string{p.text(name)}
	}
	for i, item := range items {
		var again any
		if json.Unmarshal([]byte(item), &again) != nil {
			continue
		}
		decoded, ok := again.(string)
		if !ok {
			p.refuse(name, "practice: the item %s is not JSON text", item)
		}
		items[i] = decoded
	}
	return items
}

// choice returns a parameter with a fixed set of values.
func (p *params) choice(name, value string, accepted []string) string {
	if !slices.Contains(accepted, value) {
		p.refuse(name, "Invalid value %q. Acceptable values are: %s", value, strings.Join(accepted, ", "))
	}
	return value
}

// time parses a date or a time in UTC.
func (p *params) time(name string) time.Time {
	value := p.text(name)
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02"} {
		t, err := time.Parse(layout, value)
		if err != nil {
			continue
		}
		if _, offset := t.Zone(); offset != 0 {
			p.refuse(name, "Time not in UTC.")
		}
		return t
	}
	p.refuse(name, "Value doesn't look like a date.")
	return time.Time{}
}

// link returns the segments of the path in a link, or of a path that leads nowhere. A link must be a
// path, or an absolute address on this host in an active version of the API.
func (p *params) link(c *call, name string) []string {
	link := p.text(name)
	u, err := url.Parse(link)
	switch {
	case p.wrong != nil:
		return []string{""}
	case err != nil, u.Scheme == "" && !strings.HasPrefix(link, "/"):
		p.refuse(name, "%q is not a valid URI.", link)
		return []string{""}
	}
	path := splitPath(u.EscapedPath())
	if u.Host != "" && u.Scheme+"://"+u.Host == c.origin && slices.Contains(versions, path[0]) && len(path) > 1 {
		return path[1:]
	}
	if u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		p.refuse(name, "No such object %q.", link)
	}
	return path
}

// person returns the name in a link to a person.
func (p *params) person(c *call, name string) string {
	path := p.link(c, name)
	person, ok := strings.CutPrefix(path[0], "~")
	if !ok || person == "" || len(path) > 1 {
		p.refuse(name, "No such object %s.", p.Get(name))
	}
	return person
}
