package trackertest

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// versions are the versions of the API, which begin its paths.
var versions = []string{"beta", "1.0", "devel"}

// call is a parsed request.
type call struct {
	r       *http.Request
	body    []byte
	form    url.Values // from the body, if that is a form
	query   url.Values
	path    string   // unchanged, for the web part
	version string   // of the API; empty: the web part
	parts   []string // of the path, below the version
	origin  string   // scheme, host and port that the client used
	op      Operation
}

const maxBody = 4 << 20

func newCall(r *http.Request) *call {
	c := &call{r: r, path: r.URL.EscapedPath(), query: r.URL.Query(), form: url.Values{}, origin: "http://" + r.Host}
	if r.TLS != nil {
		c.origin = "https://" + r.Host
	}
	c.body, _ = io.ReadAll(io.LimitReader(r.Body, maxBody)) // an incomplete body is refused later
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" || err == nil && media == "application/x-www-form-urlencoded" {
		c.form, _ = url.ParseQuery(string(c.body)) // invalid pairs are left out
	}
	if parts := splitPath(c.path); slices.Contains(versions, parts[0]) {
		c.version, c.parts = parts[0], parts[1:]
	}
	c.op = c.operation()
	return c
}

func (c *call) operation() Operation {
	if c.version == "" {
		switch c.path {
		case "/+request-token":
			return OpRequestToken
		case "/+access-token":
			return OpAccessToken
		case "/+authorize-token":
			return OpAuthorize
		}
		return OpOther
	}
	switch c.wsOp() {
	case "createBug":
		return OpCreate
	case "searchTasks":
		return OpSearch
	case "subscribe":
		return OpSubscribe
	case "getSourcePackage":
		return OpSourcePackage
	case "newMessage":
		return OpComment
	case "getPublishedSources", "getPublishedBinaries", "getSourcesIncluded", "getBugSubscriberPackages":
		return OpArchive
	}
	switch {
	case slices.Equal(c.parts, []string{"people", "+me"}):
		return OpMe
	case len(c.parts) == 2 && c.parts[0] == "bugs" && c.method() == http.MethodPatch:
		return OpChange
	case len(c.parts) == 2 && c.parts[0] == "bugs":
		return OpBug
	case len(c.parts) == 3 && c.parts[0] == "bugs" && c.parts[2] == "bug_tasks":
		return OpTasks
	case len(c.parts) == 3 && c.parts[0] == "bugs" && c.parts[2] == "messages":
		return OpMessages
	}
	return OpOther
}

// wsOp returns the name of the named operation, from the query for GET or the body for POST.
func (c *call) wsOp() string { return c.params().Get("ws.op") }

func (c *call) params() url.Values {
	if c.r.Method == http.MethodPost {
		return c.form
	}
	return c.query
}

// root returns the root address of the API in the version of the call.
func (c *call) root() string { return c.origin + "/" + c.version }

func unescape(s string) string {
	out, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return out
}

// escapePath encodes a name as one segment of a path. "+" stays, as in the links of Launchpad.
func escapePath(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2B", "+") }
