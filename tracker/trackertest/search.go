package trackertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	// openStatuses are the statuses that a search returns by default.
	openStatuses = []string{"New", "Incomplete", "Confirmed", "Triaged", "In Progress", "Deferred", "Fix Committed"}
	complete     = []string{"Fix Released", "Opinion", "Invalid", "Won't Fix", "Expired", "Does Not Exist"}
	statuses     = append(append([]string{"Unknown"}, openStatuses...), complete...)

	maxPage = 300
)

// searchOr answers the GET operations of a target of bugs, or describes the target. A nil target
// means all bugs.
func (s *Server) searchOr(c *call, token *accessToken, target []string) response {
	switch op := c.wsOp(); {
	case op == "searchTasks":
		return s.search(c, token, target)
	case op == "getSourcePackage" && len(target) == 1:
		name, ok := textParam(c.query, "name")
		if !ok {
			return text(400, "name: "+missing)
		}
		if !s.knowsPackage(name) {
			return text(200, "null").with("Content-Type", "application/json")
		}
		return s.thing(c, []string{target[0], "+source", name})
	case op != "":
		return text(400, "No such operation: "+op)
	case target == nil:
		return s.search(c, token, nil)
	}
	return s.thing(c, target)
}

func (s *Server) thing(c *call, target []string) response { return object(s.thingJSON(c, target)) }

func (s *Server) thingJSON(c *call, target []string) map[string]any {
	path, distribution := "/"+target[0], displayName(target[0])
	entry := map[string]any{"name": target[0], "display_name": distribution, "title": distribution}
	kind := "distribution"
	if len(target) == 3 {
		path += "/+source/" + escapePath(target[2])
		kind = "distribution_source_package"
		entry["name"], entry["display_name"] = target[2], target[2]+" in "+distribution
		entry["title"], entry["distribution_link"] = target[2]+" package in "+distribution, c.root()+"/"+target[0]
	} else {
		entry["main_archive_link"] = c.root() + path + "/+archive/primary"
	}
	entry["self_link"], entry["web_link"], entry["resource_type_link"] = c.root()+path, c.origin+path, c.root()+"/#"+kind
	return entry
}

// query is a parsed search.
type query struct {
	target     []string
	statuses   []string
	reporter   string
	since      time.Time
	modified   time.Time
	duplicates bool // include duplicates
	tags       []string
	all        bool // all tags must match, not any of them
	words      []string
	order      string
	token      *accessToken
}

func (q query) matches(b *Bug) bool {
	switch {
	case q.target != nil && (b.Distribution != q.target[0] || len(q.target) == 3 && b.Package != q.target[2]):
		return false
	case !q.token.sees(b):
		return false
	case !slices.Contains(q.statuses, b.Status):
		return false
	case b.DuplicateOf != 0 && !q.duplicates:
		return false
	case q.reporter != "" && b.Reporter != q.reporter:
		return false
	case !q.since.IsZero() && !b.Created.After(q.since), !q.modified.IsZero() && !b.updated().After(q.modified):
		return false
	}
	has := func(tag string) bool { return slices.Contains(b.Tags, tag) }
	if len(q.tags) > 0 && (q.all && !all(q.tags, has) || !q.all && !slices.ContainsFunc(q.tags, has)) {
		return false
	}
	return all(q.words, func(word string) bool {
		return strings.Contains(strings.ToLower(b.Title+" "+b.Description), word)
	})
}

func all(items []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(items, func(item string) bool { return !ok(item) })
}

// readQuery parses the parameters of a search, or returns a message about an invalid one. It
// silently ignores unknown ones.
func (s *Server) readQuery(c *call, token *accessToken, target []string) (q query, wrong string) {
	params := c.query
	q = query{target: target, token: token, statuses: openStatuses, order: "id"}
	if params.Has("status") {
		q.statuses = textList(params, "status")
		for _, status := range q.statuses {
			if !slices.Contains(statuses, status) {
				return q, fmt.Sprintf("status: Invalid value %q. Acceptable values are: %s", status, strings.Join(statuses, ", "))
			}
		}
	}
	if link, ok := textParam(params, "bug_reporter"); ok {
		path, problem := s.resolve(c, link)
		if problem == "" && (len(path) != 1 || !strings.HasPrefix(path[0], "~")) {
			problem = fmt.Sprintf("No such object %q.", link)
		}
		if problem != "" {
			return q, "bug_reporter: " + problem
		}
		q.reporter = path[0][1:]
	}
	if since, ok := textParam(params, "created_since"); ok {
		var err error
		if q.since, err = readTime(since); err != nil {
			return q, "created_since: " + err.Error()
		}
	}
	if since, ok := textParam(params, "modified_since"); ok {
		var err error
		if q.modified, err = readTime(since); err != nil {
			return q, "modified_since: " + err.Error()
		}
	}
	if omit, ok := loads(params.Get("omit_duplicates")).(bool); ok {
		q.duplicates = !omit
	}
	q.tags, q.all = textList(params, "tags"), params.Get("tags_combinator") == "All"
	if words, ok := textParam(params, "search_text"); ok {
		q.words = strings.Fields(strings.ToLower(words))
	}
	orders := textList(params, "order_by")
	for _, order := range orders {
		if !slices.Contains(sortable, strings.TrimPrefix(order, "-")) {
			return q, "Unrecognized order_by: " + pyQuote(order)
		}
	}
	if len(orders) > 0 {
		q.order = orders[0]
	}
	return q, ""
}

var sortable = []string{"id", "importance", "status", "datecreated", "date_last_updated", "title", "heat"}

// readTime parses a date or a time in UTC. It refuses other time zones.
func readTime(s string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if _, offset := t.Zone(); offset != 0 {
			return t, fmt.Errorf("Time not in UTC.") //nolint:staticcheck // the tracker's words
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("Value doesn't look like a date.") //nolint:staticcheck // the tracker's words
}

// search returns one page of the matching bugs.
func (s *Server) search(c *call, token *accessToken, target []string) response {
	q, wrong := s.readQuery(c, token, target)
	if wrong != "" {
		return text(400, wrong)
	}
	size, start, refusal := s.pageSize(c)
	if refusal != nil {
		return *refusal
	}
	var found []*Bug
	for _, b := range s.state.Bugs {
		if q.matches(b) {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b *Bug) int {
		n := cmp.Compare(a.Number, b.Number)
		if q.order == "title" || q.order == "-title" {
			n = cmp.Or(cmp.Compare(a.Title, b.Title), n)
		}
		if strings.HasPrefix(q.order, "-") {
			n = -n
		}
		return n
	})
	entries := make([]any, len(found))
	for i, b := range found {
		entries[i] = b.taskJSON(c)
	}
	return s.collection(c, "bug_task", entries, start, size)
}

// pageSize parses which page of a collection the client requests.
func (s *Server) pageSize(c *call) (size, start int, refusal *response) {
	size = s.opts.PageSize
	if v := c.query.Get("ws.size"); v != "" {
		size, _ = strconv.Atoi(v) // the next line refuses invalid text
	}
	if size < 1 || size > maxPage {
		r := text(400, fmt.Sprintf(`Maximum for "ws.size" parameter is %d.`, maxPage))
		return 0, 0, &r
	}
	if v := c.query.Get("ws.start"); v != "" {
		start, _ = strconv.Atoi(v) // invalid text means the start
	}
	return size, max(start, 0), nil
}

// collection returns one page of entries of one type, or their number. In version devel, the result
// of an operation has no count unless it fits on one page. A link leads to the count instead.
func (s *Server) collection(c *call, kind string, found []any, start, size int) response {
	if c.query.Get("ws.show") == "total_size" {
		return text(200, strconv.Itoa(len(found))).with("Content-Type", "application/json")
	}
	end := min(start+size, len(found))
	entries := []any{}
	for _, v := range found[min(start, end):end] {
		if entry, ok := v.(map[string]any); ok {
			entry["http_etag"] = etag(entry)
		}
		entries = append(entries, v)
	}
	page := map[string]any{"start": start, "entries": entries}
	named := c.query.Has("ws.op")
	if !named {
		page["resource_type_link"] = c.root() + "/#" + kind + "-page-resource"
	}
	fits := start == 0 && end == len(found)
	if fits || !named || c.version != "devel" {
		page["total_size"] = len(found)
	} else {
		page["total_size_link"] = c.address(url.Values{"ws.show": {"total_size"}})
	}
	if end < len(found) {
		page["next_collection_link"] = c.address(url.Values{"ws.size": {strconv.Itoa(size)}, "memo": {strconv.Itoa(end)},
			"ws.start": {strconv.Itoa(end)}})
	}
	if start > 0 {
		page["prev_collection_link"] = c.address(url.Values{"ws.size": {strconv.Itoa(size)},
			"ws.start": {strconv.Itoa(max(0, start-size))}})
	}
	b, err := json.Marshal(page)
	if err != nil {
		return text(500, "TypeError")
	}
	return text(200, string(b)).with("Content-Type", "application/json")
}

// address returns the address of the request with some parameters changed.
func (c *call) address(change url.Values) string {
	q := url.Values{}
	for name, values := range c.query {
		q[name] = values
	}
	for name, values := range change {
		q[name] = values
	}
	return c.origin + c.r.URL.EscapedPath() + "?" + q.Encode()
}
