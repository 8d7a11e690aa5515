package issuetest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// GitLab is GitLab's REST API v4, below /api/v4. Projects exist as soon as they are named, unless they are in the
// group "nowhere". The rules are those of the pages "Issues API", "Notes API", "REST API" (pagination, paths as
// identifiers), "REST API authentication" and "GitLab quick actions" of GitLab's documentation.
func GitLab() kind {
	return kind{
		routes: func(s *Server) { (&gitLab{Server: s}).routes() },
		token: func(r *http.Request) string {
			bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			return cmp.Or(r.Header.Get("Private-Token"), bearer)
		},
		reply: func(f Fault) reply {
			switch f {
			case Busy: // of the whole installation: page "User and IP rate limits"
				return reply{429, "Retry later\n", map[string]string{"Retry-After": "60", "Content-Type": "text/plain"}}
			case Limit: // of one action: page "Rate limits on issue creation"
				text := "This endpoint has been requested too many times. Try again later."
				return reply{429, object{"message": object{"error": text}}, map[string]string{"Retry-After": "60"}}
			case Expired:
				return reply{401, object{"error": "invalid_token", "error_description": "Token is expired. You can either do " +
					"re-authorization or token refresh."}, nil}
			case Forbidden:
				return reply{403, object{"error": "insufficient_scope", "error_description": "The request requires higher " +
					"privileges than provided by the access token.", "scope": "api"}, nil}
			default:
				return reply{400, object{"message": object{"title": []string{"is too long (maximum is 255 characters)"}}}, nil}
			}
		},
		first: 1,
	}
}

type object = map[string]any

type gitLab struct {
	*Server
	projects []string // paths; the id is the index plus 1
}

func (g *gitLab) routes() {
	const issues, one = "/api/v4/projects/{id}/issues", "/api/v4/projects/{id}/issues/{iid}"
	g.handle("me", "GET /api/v4/user", func(c *call) reply {
		if c.Account == "" {
			return gitLabError(401, "401 Unauthorized")
		}
		return reply{200, g.user(c.Account), nil}
	})
	g.handle("token", "GET /api/v4/personal_access_tokens/self", func(c *call) reply {
		if c.Account == "" {
			return gitLabError(401, "401 Unauthorized")
		}
		return reply{200, object{"id": 1, "name": "mishap", "revoked": false, "active": true, "expires_at": nil,
			"scopes": g.scopesOr("api")}, nil}
	})
	g.handle("project", "GET /api/v4/projects/{id}", g.inProject(func(c *call, path string) reply {
		return reply{200, object{"id": g.id(path), "path_with_namespace": path, "web_url": g.URL + "/" + path,
			"issues_access_level": "enabled"}, nil}
	}))
	g.handle("list", "GET "+issues, g.inProject(g.list))
	g.handle("create", "POST "+issues, g.inProject(g.create))
	g.handle("read", "GET "+one, g.onIssue(func(c *call, i *Issue) reply { return reply{200, g.issue(c, i), nil} }))
	g.handle("change", "PUT "+one, g.onIssue(g.change))
	g.handle("comments", "GET "+one+"/notes", g.onIssue(g.notes))
	g.handle("comment", "POST "+one+"/notes", g.onIssue(g.note))
	g.handle("subscribe", "POST "+one+"/subscribe", g.onIssue(func(c *call, i *Issue) reply {
		if g.subscribed(c, i) {
			return reply{304, nil, nil}
		}
		i.Extra["subscribers"] = append(subscribers(i), c.Account)
		return reply{201, g.issue(c, i), nil}
	}))
	g.handle("page", "GET /{owner}/{name}/-/issues/{iid}", func(c *call) reply {
		return issuePage(c, g.find(c.PathValue("owner")+"/"+c.PathValue("name"), c.number("iid")))
	})
}

func gitLabError(status int, message any) reply {
	return reply{status, object{"message": message}, nil}
}

// inProject finds the project, by its id or its encoded path. Changes need an account.
func (g *gitLab) inProject(route func(c *call, path string) reply) func(c *call) reply {
	return func(c *call) reply {
		if c.Account == "" && (c.Method != http.MethodGet || g.kind.token(c.Request) != "") {
			return gitLabError(401, "401 Unauthorized")
		}
		path := c.PathValue("id")
		if n, err := strconv.Atoi(path); err == nil {
			if path = ""; n > 0 && n <= len(g.projects) {
				path = g.projects[n-1]
			}
		}
		if !strings.Contains(path, "/") || strings.HasPrefix(path, "nowhere/") {
			return gitLabError(404, "404 Project Not Found")
		}
		return route(c, path)
	}
}

func (g *gitLab) id(path string) int64 {
	i := slices.IndexFunc(g.projects, func(p string) bool { return strings.EqualFold(p, path) })
	if i < 0 {
		i, g.projects = len(g.projects), append(g.projects, path)
	}
	return int64(i) + 1
}

// onIssue finds the issue. A confidential one is missing for all but its author and assignee.
func (g *gitLab) onIssue(route func(c *call, i *Issue) reply) func(c *call) reply {
	return g.inProject(func(c *call, path string) reply {
		i := g.find(path, c.number("iid"))
		if i == nil || !sees(c, i) {
			return gitLabError(404, "404 Issue Not Found")
		}
		return route(c, i)
	})
}

func sees(c *call, i *Issue) bool {
	return !i.Private || c.Account != "" && (c.Account == i.Author || c.Account == i.Assignee)
}

func (g *gitLab) user(name string) any {
	if name == "" {
		return nil
	}
	return object{"id": 1 + len(name), "username": name, "name": name, "state": "active", "avatar_url": nil,
		"web_url": g.URL + "/" + name}
}

func subscribers(i *Issue) []string {
	if i.Extra == nil {
		i.Extra = map[string]any{}
	}
	list, _ := i.Extra["subscribers"].([]string)
	return list
}

func (g *gitLab) subscribed(c *call, i *Issue) bool {
	return c.Account == i.Author || slices.Contains(subscribers(i), c.Account)
}

func (g *gitLab) issue(c *call, i *Issue) object {
	address := fmt.Sprintf("%s/api/v4/projects/%d/issues/", g.URL, g.id(i.Project))
	self := address + strconv.FormatInt(i.Number, 10)
	links := object{"self": self, "notes": self + "/notes", "project": strings.TrimSuffix(address, "/issues/")}
	if i.DuplicateOf != 0 {
		links["closed_as_duplicate_of"] = address + strconv.FormatInt(i.DuplicateOf, 10)
	}
	if other, ok := i.Extra["closed_as_duplicate_of"]; ok {
		links["closed_as_duplicate_of"] = other
	}
	out := object{
		"id": i.ID + 1000, "iid": i.Number, "project_id": g.id(i.Project), "title": i.Title, "description": i.Text,
		"state": "opened", "created_at": i.Created, "updated_at": i.Updated, "closed_at": nil, "closed_by": nil,
		"labels": append([]string{}, i.Labels...), "milestone": nil, "assignees": []any{}, "assignee": g.user(i.Assignee),
		"author": g.user(i.Author), "type": "ISSUE", "issue_type": "issue", "user_notes_count": len(i.Comments),
		"confidential": i.Private, "discussion_locked": nil, "moved_to_id": i.Extra["moved_to_id"], "_links": links,
		"web_url":    fmt.Sprintf("%s/%s/-/issues/%d", g.URL, i.Project, i.Number),
		"references": object{"short": fmt.Sprintf("#%d", i.Number), "full": fmt.Sprintf("%s#%d", i.Project, i.Number)},
		"subscribed": g.subscribed(c, i),
	}
	if i.Closed {
		out["state"], out["closed_at"] = "closed", i.ClosedAt
	}
	if i.Milestone != "" {
		out["milestone"] = object{"id": 1, "iid": 1, "title": i.Milestone, "state": "active"}
	}
	if i.Assignee != "" {
		out["assignees"] = []any{g.user(i.Assignee)}
	}
	return out
}

// list reads the database, which shows a new issue at once, but for a search for words.
func (g *gitLab) list(c *call, path string) reply {
	search, created, updated := c.text("search"), c.since("created_after"), c.since("updated_after")
	ok := func(i *Issue) bool {
		author := cmp.Or(c.text("author_username"), i.Author)
		if c.text("scope") == "created_by_me" {
			author = c.Account
		}
		return strings.EqualFold(i.Project, path) && sees(c, i) && strings.EqualFold(i.Author, author) &&
			!i.Created.Before(created) && !i.Updated.Before(updated) &&
			(c.text("state") != "opened" || !i.Closed) && (c.text("state") != "closed" || i.Closed) &&
			!slices.ContainsFunc(c.list("labels"), func(label string) bool { return !slices.Contains(i.Labels, label) }) &&
			strings.Contains(strings.ToLower(i.Title+"\n"+i.Text), strings.ToLower(search))
	}
	found := g.stored(ok)
	if search != "" {
		found = g.listed(ok)
	}
	slices.SortStableFunc(found, func(a, b *Issue) int {
		if c.text("order_by") == "updated_at" {
			return a.Updated.Compare(b.Updated)
		}
		return cmp.Compare(a.ID, b.ID)
	})
	if c.text("sort") != "asc" {
		slices.Reverse(found)
	}
	return gitLabPage(g.Server, c, found, func(i *Issue) any { return g.issue(c, i) })
}

// stored returns the issues, oldest first, for which ok returns true, without the lag of an index.
func (s *Server) stored(ok func(*Issue) bool) (list []*Issue) {
	for _, i := range s.issues {
		if ok(i) {
			list = append(list, i)
		}
	}
	return list
}

// gitLabPage returns a page with the headers for pagination, which clients follow.
func gitLabPage[T any](s *Server, c *call, all []T, entry func(T) any) reply {
	n, _ := strconv.Atoi(c.FormValue("page"))
	n = max(n, 1)
	entries := []any{}
	for _, e := range page(c, all, "per_page", 20) {
		entries = append(entries, entry(e))
	}
	header := map[string]string{"X-Page": strconv.Itoa(n), "X-Total": strconv.Itoa(len(all))}
	query := url.Values{}
	for name, values := range c.URL.Query() {
		query[name] = values
	}
	query.Set("page", strconv.Itoa(n+1))
	more := &call{Request: &http.Request{Form: query, URL: c.URL}}
	if len(page(more, all, "per_page", 20)) > 0 {
		header["X-Next-Page"] = strconv.Itoa(n + 1)
		header["Link"] = "<" + s.URL + c.URL.EscapedPath() + "?" + query.Encode() + `>; rel="next"`
	}
	return reply{200, entries, header}
}

func (g *gitLab) create(c *call, path string) reply {
	title := strings.TrimSpace(c.text("title"))
	switch {
	case c.fields["title"] == nil && !c.Form.Has("title"):
		return reply{400, object{"error": "title is missing"}, nil}
	case title == "":
		return gitLabError(400, object{"title": []string{"can't be blank"}})
	case len([]rune(title)) > 255:
		return gitLabError(400, object{"title": []string{"is too long (maximum is 255 characters)"}})
	case len([]rune(c.text("description"))) > 1<<20:
		return gitLabError(400, object{"description": []string{"is too long (maximum is 1048576 characters)"}})
	}
	i := &Issue{Project: path, Title: title, Author: c.Account, Labels: c.list("labels"),
		Private: c.text("confidential") == "true", Extra: map[string]any{}}
	i.Text, _ = g.command(i, c.text("description"))
	g.add(i, false)
	return reply{201, g.issue(c, i), nil}
}

// quickAction matches lines that GitLab executes, in a text without blocks of code.
var quickAction = regexp.MustCompile(`(?mi)^/(close|confidential|label|assign)(?: ([^\n]*))?(?:\s*\n|$)`)

// command executes the quick actions of a text, and returns the text without them.
func (g *gitLab) command(i *Issue, text string) (rest string, did []string) {
	text = strings.ReplaceAll(text, "\r", "")
	for _, m := range quickAction.FindAllStringSubmatch(text, -1) {
		switch strings.ToLower(m[1]) {
		case "close":
			i.Closed = true
		case "confidential":
			i.Private = true
		case "label":
			i.Labels = append(i.Labels, strings.Trim(m[2], "~ "))
		case "assign":
			i.Assignee = strings.Trim(m[2], "@ ")
		}
		did = append(did, m[1])
	}
	return strings.TrimRight(quickAction.ReplaceAllString(text, ""), " \n"), did
}

func (g *gitLab) change(c *call, i *Issue) reply {
	for name, field := range map[string]*string{"title": &i.Title, "description": &i.Text} {
		if c.fields[name] != nil || c.Form.Has(name) {
			*field = c.text(name)
		}
	}
	if c.fields["labels"] != nil || c.Form.Has("labels") {
		i.Labels = c.list("labels")
	}
	switch c.text("state_event") {
	case "close":
		i.Closed = true
	case "reopen":
		i.Closed = false
	}
	if private, err := strconv.ParseBool(c.text("confidential")); err == nil {
		i.Private = private
	}
	g.touch(i)
	return reply{200, g.issue(c, i), nil}
}

func (g *gitLab) noteFields(n Comment) object {
	return object{"id": n.ID, "body": n.Text, "author": g.user(n.Author), "created_at": n.Created, "updated_at": n.Created,
		"system": false, "internal": false}
}

func (g *gitLab) notes(c *call, i *Issue) reply {
	notes := slices.Clone(i.Comments)
	if c.text("sort") != "asc" {
		slices.Reverse(notes)
	}
	return gitLabPage(g.Server, c, notes, func(n Comment) any { return g.noteFields(n) })
}

// note adds a comment, unless it has only quick actions, which are executed and not stored.
func (g *gitLab) note(c *call, i *Issue) reply {
	if strings.TrimSpace(c.text("body")) == "" {
		return gitLabError(400, `400 (Bad request) "Note" not given`)
	}
	text, did := g.command(i, c.text("body"))
	if text == "" {
		g.touch(i)
		return reply{202, object{"commands_changes": object{}, "summary": did}, nil}
	}
	return reply{201, g.noteFields(g.comment(i, c.Account, text)), nil}
}
