package issuetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BugzillaOptions say what kind of installation a practice Bugzilla is.
type BugzillaOptions struct {
	Variant  string   // as in package bugzilla; empty: stock, which knows neither headers with keys nor whoami
	Alias    string   // what happens to aliases: "": they are stored; "refused"; "ignored"
	Versions []string // of its products; nil: "unspecified" and "1.0"
	Limit    int      // the most entries of a list, whatever a request asks for; 0: 1000
}

// BugzillaGroup is the group of a practice Bugzilla that bugs can be restricted to.
const BugzillaGroup = "security"

// bugzillaProducts has the components of products.
var bugzillaProducts = map[string][]string{"Harbour Linux": {"tidewatch", "Look/Feel"}, "sandbox": {"trial"}}

// bugzilla has the routes of a practice Bugzilla.
//
// Codes, statuses and messages are those of Bugzilla/WebService/Constants.pm and of user-error.html.tmpl in
// Bugzilla 5.2, which has the markup of a page in messages. A key in the body of a request is not read.
type bugzilla struct {
	BugzillaOptions
	s *Server
}

// Bugzilla returns the kind Bugzilla 5.
func Bugzilla(options ...BugzillaOptions) kind {
	var b bugzilla
	for _, o := range options {
		b.BugzillaOptions = o
	}
	if b.Versions == nil {
		b.Versions = []string{"unspecified", "1.0"}
	}
	return kind{routes: b.routes, token: b.token, reply: b.reply, first: 1,
		states: [2]string{"CONFIRMED", "RESOLVED"}}
}

func (b bugzilla) token(r *http.Request) string {
	switch b.Variant {
	case "redhat": // reads nothing else [python-bugzilla, _session.py]
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return token
	case "header":
		if key := r.Header.Get("X-Bugzilla-Api-Key"); key != "" {
			return key
		}
	}
	query := r.URL.Query()
	return query.Get("Bugzilla_api_key") + query.Get("api_key")
}

func (b bugzilla) reply(f Fault) reply {
	switch f {
	case Busy: // of a server in front
		return reply{http.StatusTooManyRequests, "<html><title>429 Too Many Requests</title></html>",
			map[string]string{"Retry-After": "120"}}
	case Limit:
		return reply{http.StatusServiceUnavailable, "<html><title>503 Service Unavailable</title></html>",
			map[string]string{"Retry-After": "120"}}
	case Expired:
		return bugzillaError(306, "The API key you specified has been revoked by the user that created it.")
	case Forbidden:
		return bugzillaError(106, "Sorry, either the product <em>%s</em> does not exist or you aren't authorized to "+
			"enter a bug into it.", "Harbour Linux")
	default:
		return bugzillaError(104, "The text you entered in the Summary field is too long (300 characters, "+
			"above the maximum length allowed of 255 characters):<p><em>&lt;b&gt;</em>")
	}
}

// bugzillaStatus has the statuses of errors, which are 400 otherwise [REST_STATUS_CODE_MAP].
var bugzillaStatus = map[int]int{
	51: 404, 101: 404, 32614: 404, 102: 401, 106: 401, 109: 401, 115: 401, 120: 401, 300: 401, 410: 401,
}

func bugzillaError(code int, format string, args ...any) reply {
	status := bugzillaStatus[code]
	if status == 0 {
		status = http.StatusBadRequest
	}
	return reply{status, map[string]any{
		"error": true, "code": code, "message": fmt.Sprintf(format, args...),
		"documentation": "https://bugzilla.readthedocs.io/en/5.0/api/",
	}, nil}
}

func (b bugzilla) routes(s *Server) {
	b.s = s
	b.handle("page", "GET /show_bug.cgi", false, func(c *call) reply {
		number, _ := strconv.ParseInt(c.text("id"), 10, 64) // 0 finds nothing
		return issuePage(c, s.find("", number))
	})
	b.handle("version", "GET /rest/version", false, func(*call) reply {
		return reply{http.StatusOK, map[string]any{"version": "5.2"}, nil}
	})
	if b.Variant != "" {
		b.handle("me", "GET /rest/whoami", true, func(c *call) reply {
			return reply{http.StatusOK, map[string]any{"id": 1, "name": c.Account, "real_name": "A. Name"}, nil}
		})
	}
	b.handle("me", "GET /rest/valid_login", false, func(c *call) reply {
		valid := c.Account != "" && c.Account == c.text("login")
		return reply{http.StatusOK, map[string]any{"result": valid}, nil}
	})
	b.handle("parameters", "GET /rest/parameters", false, func(*call) reply {
		parameters := map[string]any{"usestatuswhiteboard": "1"}
		if b.Alias == "ignored" { // as before version 5.0
			parameters["usebugaliases"] = "0"
		}
		return reply{http.StatusOK, map[string]any{"parameters": parameters}, nil}
	})
	b.handle("product", "GET /rest/product", false, b.products)
	b.handle("list", "GET /rest/bug", false, b.search)
	b.handle("create", "POST /rest/bug", true, b.create)
	b.handle("read", "GET /rest/bug/{id}", false, b.with(func(c *call, i *Issue) reply {
		return reply{http.StatusOK, map[string]any{"bugs": []any{b.bug(c, i)}, "faults": []any{}}, nil}
	}))
	b.handle("change", "PUT /rest/bug/{id}", true, b.with(b.update))
	b.handle("comments", "GET /rest/bug/{id}/comment", false, b.with(b.comments))
	b.handle("comment", "POST /rest/bug/{id}/comment", true, b.with(func(c *call, i *Issue) reply {
		if strings.TrimSpace(c.text("comment")) == "" {
			return bugzillaError(50, "The function <code>Bug.add_comment</code> requires a <code>comment</code> "+
				"argument, and that argument was not set.")
		}
		return reply{http.StatusCreated, map[string]any{"id": s.comment(i, c.Account, c.text("comment")).ID}, nil}
	}))
	b.handle("history", "GET /rest/bug/{id}/history", false, b.with(b.history))
	b.handle("unknown", "/rest/", false, func(c *call) reply {
		return bugzillaError(32614, "A REST API resource was not found for '%s %s'.", c.Method,
			strings.TrimPrefix(c.URL.Path, "/rest"))
	})
}

// handle serves an operation, which needs a login or not. A wrong key is refused everywhere.
func (b bugzilla) handle(operation, pattern string, login bool, route func(c *call) reply) {
	b.s.handle(operation, pattern, func(c *call) reply {
		switch {
		case c.Account == "" && b.token(c.Request) != "":
			return bugzillaError(306, "The API key you specified is invalid. Please check that you typed it correctly.")
		case c.Account == "" && login:
			return bugzillaError(410, "You must log in before using this part of Bugzilla.")
		}
		return route(c)
	})
}

// with serves an operation on a bug, which the path names by its number or alias.
func (b bugzilla) with(route func(c *call, i *Issue) reply) func(c *call) reply {
	return func(c *call) reply {
		id := c.PathValue("id")
		i := b.s.find("", c.number("id"))
		if i == nil {
			i = b.aliased(id)
		}
		_, notNumber := strconv.Atoi(id)
		switch {
		case i != nil && !visible(c, i):
			return bugzillaError(102, "You are not authorized to access bug #%s.", id)
		case i != nil:
			return route(c, i)
		case notNumber != nil:
			return bugzillaError(100, "'%s' is not a valid bug number nor an alias to a bug.", id)
		}
		return bugzillaError(101, "Bug #%s does not exist.", id)
	}
}

func texts(i *Issue, name string) []string {
	list, _ := i.Extra[name].([]string)
	return list
}

func visible(c *call, i *Issue) bool {
	return !i.Private || c.Account != "" && (c.Account == i.Author || slices.Contains(texts(i, "cc"), c.Account))
}

func (b bugzilla) aliased(alias string) *Issue {
	for _, i := range b.s.issues {
		if slices.ContainsFunc(texts(i, "alias"), func(a string) bool { return strings.EqualFold(a, alias) }) {
			return i
		}
	}
	return nil
}

func (b bugzilla) products(c *call) reply {
	var versions, components, products []any
	for n, name := range b.Versions {
		versions = append(versions, map[string]any{"id": n + 1, "name": name, "is_active": true, "sort_key": 0})
	}
	versions = append(versions, map[string]any{"id": 99, "name": "0.1", "is_active": false, "sort_key": 0})
	name := c.text("names")
	for n, component := range bugzillaProducts[name] {
		components = append(components, map[string]any{"id": n + 1, "name": component, "is_active": true})
	}
	if components != nil {
		products = append(products, map[string]any{
			"id": 1, "name": name, "is_active": true, "versions": versions, "components": components,
		})
	}
	return reply{http.StatusOK, map[string]any{"products": products}, nil}
}

func (b bugzilla) create(c *call) reply {
	product, component, version := c.text("product"), c.text("component"), c.text("version")
	if bugzillaProducts[product] == nil {
		return bugzillaError(106, "Sorry, either the product <em>%s</em> does not exist or you aren't authorized to "+
			"enter a bug into it.", product)
	}
	switch {
	case component == "":
		return bugzillaError(105, "To file this bug, you must first choose a component. If necessary, just guess.")
	case !slices.Contains(bugzillaProducts[product], component):
		return bugzillaError(51, "There is no component named '%s' in the '%s' product.", component, product)
	case version == "":
		return bugzillaError(50, "You must select/enter a version.")
	case !slices.Contains(b.Versions, version):
		return bugzillaError(51, "There is no version named '%s' in the '%s' product.", version, product)
	case strings.TrimSpace(c.text("summary")) == "":
		return bugzillaError(107, "You must enter a summary for this bug.")
	}
	i := &Issue{
		Project: product, Title: c.text("summary"), Text: c.text("description"), Author: c.Account, State: "CONFIRMED",
		Milestone: "---", Assignee: "owner@example.org", Extra: map[string]any{
			"component": component, "version": version, "op_sys": c.text("op_sys"), "platform": c.text("platform"),
			"severity": "normal", "priority": "P3", "cc": c.list("cc"),
		},
	}
	if failed := b.setAlias(c, i, c.list("alias")); failed != nil {
		return *failed
	}
	groups := c.list("groups")
	for _, group := range groups {
		if group != BugzillaGroup {
			return bugzillaError(120, "You tried to restrict a bug to the '%s' group, but either this group does not "+
				"exist, or you are not allowed to restrict bugs to this group in the '%s' product.", group, product)
		}
	}
	i.Private, i.Extra["groups"] = len(groups) > 0, groups
	return reply{http.StatusOK, map[string]any{"id": b.s.add(i, true).ID}, nil}
}

// setAlias sets the aliases of a bug, if the installation allows it [Bugzilla/Bug.pm, _check_alias].
func (b bugzilla) setAlias(c *call, i *Issue, aliases []string) *reply {
	var failed reply
	for _, alias := range aliases {
		_, notNumber := strconv.Atoi(alias)
		other := b.aliased(alias)
		switch {
		case b.Alias == "refused":
			failed = bugzillaError(115, "You tried to change the <strong>Alias</strong> field to <em>%s</em>, but only a "+
				"user with the required permissions may change that field.", alias)
		case b.Alias == "ignored":
			return nil
		case len(alias) > 40:
			failed = bugzillaError(103, "Bug aliases cannot be longer than 40 characters. Please choose a shorter alias.")
		case notNumber == nil:
			failed = bugzillaError(103, "You tried to give this bug the alias <em>%s</em>, but aliases cannot be merely "+
				"numbers.", alias)
		case other != nil && other != i:
			name := "Another bug"
			if visible(c, other) {
				name = fmt.Sprintf(`<a class="bz_bug_link bz_status_%s " title="%[1]s - a title" `+
					`href="show_bug.cgi?id=%[2]d">Bug %[2]d</a>`, other.State, other.ID)
			}
			failed = bugzillaError(103, "%s has already taken the alias <em>%s</em>. Please choose another alias.", name, alias)
		default:
			continue
		}
		return &failed
	}
	i.Extra["alias"] = aliases
	return nil
}

// bugzillaClosed lists the statuses of closed bugs.
var bugzillaClosed = []string{"RESOLVED", "VERIFIED", "CLOSED"}

func (b bugzilla) update(c *call, i *Issue) reply {
	add := func(name string) (list []string) {
		if field, ok := c.fields[name].(map[string]any); ok {
			list = (&call{Request: c.Request, fields: field}).list("add")
		}
		return list
	}
	for _, account := range add("cc") {
		if !slices.Contains(slices.Collect(maps.Values(b.s.tokens)), account) {
			return bugzillaError(51, "There is no user named '%s'. Either you mis-typed the name or that user has not yet "+
				"registered for a Bugzilla account.", account)
		}
	}
	for _, address := range add("see_also") { // of kinds of trackers that it knows [Bugzilla/BugUrl]
		if !strings.Contains(address, "/show_bug.cgi?id=") && !strings.Contains(address, "/issues/") {
			return bugzillaError(112, "The URL '%s' is not a valid bug number or URL of a bug.", address)
		}
	}
	state, resolution := i.State, i.Resolution
	if c.fields["status"] != nil {
		state, resolution = c.text("status"), c.text("resolution")
	}
	if n, err := strconv.ParseInt(c.text("dupe_of"), 10, 64); err == nil {
		if b.s.find("", n) == nil {
			return bugzillaError(101, "Bug #%d does not exist.", n)
		}
		state, resolution, i.DuplicateOf = "RESOLVED", "DUPLICATE", n
	}
	closed := slices.Contains(bugzillaClosed, state)
	if closed && resolution == "" {
		return bugzillaError(121, "A valid resolution is required to mark bugs as %s.", state)
	}
	if failed := b.setAlias(c, i, append(slices.Clone(texts(i, "alias")), add("alias")...)); failed != nil {
		return *failed
	}
	i.State, i.Resolution, i.Closed = state, resolution, closed
	for _, name := range []string{"cc", "see_also"} {
		i.Extra[name] = append(slices.Clone(texts(i, name)), add(name)...)
	}
	if comment, ok := c.fields["comment"].(map[string]any); ok {
		body := comment["body"]
		if body == nil {
			body = comment["comment"]
		}
		b.s.comment(i, c.Account, fmt.Sprint(body))
	}
	b.s.touch(i)
	return reply{http.StatusOK, map[string]any{"bugs": []any{map[string]any{
		"id": i.ID, "alias": texts(i, "alias"), "last_change_time": bugzillaTime(i.Updated), "changes": map[string]any{},
	}}}, nil}
}

func bugzillaTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// bug returns the fields of a bug that a request asks for.
func (b bugzilla) bug(c *call, i *Issue) map[string]any {
	all := map[string]any{
		"id": i.ID, "summary": i.Title, "creator": i.Author, "creation_time": bugzillaTime(i.Created),
		"last_change_time": bugzillaTime(i.Updated), "product": i.Project, "status": i.State, "resolution": i.Resolution,
		"is_open": !i.Closed, "assigned_to": i.Assignee, "target_milestone": i.Milestone, "dupe_of": nil,
		"groups": append([]string{}, texts(i, "groups")...), "keywords": append([]string{}, i.Labels...),
	}
	for name, v := range i.Extra {
		all[name] = v
	}
	all["alias"] = append([]string{}, texts(i, "alias")...)
	if i.DuplicateOf != 0 {
		all["dupe_of"] = i.DuplicateOf
	}
	if b.Variant == "redhat" {
		all["component"], all["version"] = []any{all["component"]}, []any{all["version"]}
		all["cf_last_closed"] = bugzillaTime(i.ClosedAt)
	}
	var wanted []string
	for _, names := range c.URL.Query()["include_fields"] {
		wanted = append(wanted, strings.Split(names, ",")...)
	}
	if len(wanted) > 0 && !slices.Contains(wanted, "_default") {
		maps.DeleteFunc(all, func(name string, _ any) bool { return !slices.Contains(wanted, name) })
	}
	return all
}

// search lists bugs. A creator matches any part of a name, and "limit" has a maximum [Bugzilla/WebService/Bug.pm].
func (b bugzilla) search(c *call) reply {
	query := c.URL.Query()
	for _, name := range []string{"limit", "offset", "order", "include_fields", "Bugzilla_api_key"} {
		query.Del(name)
	}
	if len(query) == 0 {
		return bugzillaError(1000, "You may not search, or create saved searches, without any search terms.")
	}
	matches := func(name string, values ...string) bool {
		wanted := strings.Split(strings.Join(query[name], ","), ",")
		return !query.Has(name) || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(wanted, v) })
	}
	creator := strings.ToLower(c.text("creator") + c.text("reporter"))
	found := b.s.listed(func(i *Issue) bool {
		return visible(c, i) && strings.Contains(strings.ToLower(i.Author), creator) &&
			!i.Created.Truncate(time.Second).Before(c.since("creation_time")) &&
			!i.Updated.Truncate(time.Second).Before(c.since("last_change_time")) &&
			strings.Contains(strings.ToLower(i.Title), strings.ToLower(c.text("summary"))) &&
			matches("id", strconv.FormatInt(i.ID, 10)) && matches("alias", texts(i, "alias")...) &&
			matches("product", i.Project) && matches("component", fmt.Sprint(i.Extra["component"])) &&
			matches("status", i.State)
	})
	offset, _ := strconv.Atoi(c.text("offset"))
	found = found[min(max(offset, 0), len(found)):]
	limit, most := len(found), b.Limit
	if most == 0 {
		most = 1000
	}
	if n, err := strconv.Atoi(c.text("limit")); err == nil && n > 0 {
		limit = n
	}
	bugs := []any{}
	for _, i := range found[:min(limit, most, len(found))] {
		bugs = append(bugs, b.bug(c, i))
	}
	return reply{http.StatusOK, map[string]any{"bugs": bugs}, nil}
}

func (b bugzilla) comments(_ *call, i *Issue) reply {
	var list []any
	all := append([]Comment{{ID: 0, Author: i.Author, Text: i.Text, Created: i.Created}}, i.Comments...)
	for n, comment := range all {
		list = append(list, map[string]any{
			"id": comment.ID, "bug_id": i.ID, "count": n, "creator": comment.Author, "text": comment.Text,
			"time": bugzillaTime(comment.Created), "creation_time": bugzillaTime(comment.Created), "is_private": false,
			"attachment_id": nil,
		})
	}
	return reply{http.StatusOK, map[string]any{
		"bugs": map[string]any{strconv.FormatInt(i.ID, 10): map[string]any{"comments": list}}, "comments": map[string]any{},
	}, nil}
}

// history has the change that closed a bug.
func (b bugzilla) history(_ *call, i *Issue) reply {
	history := []any{}
	if i.Closed {
		changes := []any{
			map[string]any{"field_name": "status", "removed": "CONFIRMED", "added": i.State},
			map[string]any{"field_name": "resolution", "removed": "", "added": i.Resolution},
		}
		history = append(history, map[string]any{
			"who": "owner@example.org", "when": bugzillaTime(i.ClosedAt), "changes": changes,
		})
	}
	return reply{http.StatusOK, map[string]any{
		"bugs": []any{map[string]any{"id": i.ID, "alias": []string{}, "history": history}},
	}, nil}
}
