package issuetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Forgejo is the API v1 of Forgejo and Gitea, below /api/v1. Repositories exist as soon as they are named, unless
// their owner is "nowhere", and have the labels "bug" and "crash". The rules are those of the OpenAPI document that
// each installation has at /swagger.v1.json, and of Gitea's sources, in routers/api/v1; the answers were compared with
// those of Gitea 1.26. Pages have at most 30 entries, as an administrator may set with MAX_RESPONSE_ITEMS.
func Forgejo() kind {
	return kind{
		routes: func(s *Server) { (&forgejo{s}).routes() },
		token: func(r *http.Request) string {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "token") && !strings.EqualFold(scheme, "Bearer") {
				return ""
			}
			return token
		},
		reply: func(f Fault) reply {
			switch f {
			case Busy: // Forgejo has no limits of its own; this is a proxy's
				return reply{429, "Too Many Requests\n", map[string]string{"Retry-After": "60", "Content-Type": "text/plain"}}
			case Limit:
				return reply{429, "<html><head><title>429 Too Many Requests</title></head></html>",
					map[string]string{"Retry-After": "60"}}
			case Expired:
				return forgejoError(401, "invalid username, password or token")
			case Forbidden:
				return forgejoError(403, "token does not have at least one of required scope(s), required=[write:issue], "+
					"token scope=read:issue")
			default:
				return forgejoError(422, "[Title]: Required")
			}
		},
		first: 1,
	}
}

func forgejoError(status int, message string) reply {
	return reply{status, object{"message": message, "url": "https://forge.example/api/swagger"}, nil}
}

const forgejoPage = 30

type forgejo struct{ *Server }

var forgejoLabels = []string{"bug", "crash"}

func labelFields(names []string) []any {
	all := []any{}
	for _, name := range names {
		all = append(all, object{"id": slices.Index(forgejoLabels, name) + 11, "name": name, "color": "00aabb"})
	}
	return all
}

func (f *forgejo) routes() {
	const repository, one = "/api/v1/repos/{owner}/{name}", "/api/v1/repos/{owner}/{name}/issues/{index}"
	f.handle("me", "GET /api/v1/user", f.signed(func(c *call) reply { return reply{200, f.user(c.Account), nil} }))
	f.handle("project", "GET "+repository, f.inProject(func(_ *call, path string) reply {
		return reply{200, object{"id": 1, "full_name": path, "has_issues": true, "archived": false}, nil}
	}))
	f.handle("labels", "GET "+repository+"/labels", f.inProject(func(c *call, _ string) reply {
		return f.page(c, labelFields(forgejoLabels))
	}))
	f.handle("list", "GET "+repository+"/issues", f.inProject(f.list))
	f.handle("create", "POST "+repository+"/issues", f.signed(f.inProject(f.create)))
	f.handle("read", "GET "+one, f.onIssue(func(_ *call, i *Issue) reply { return reply{200, f.issue(i), nil} }))
	f.handle("change", "PATCH "+one, f.signed(f.onIssue(f.change)))
	f.handle("comments", "GET "+one+"/comments", f.inProject(f.comments))
	f.handle("comment", "POST "+one+"/comments", f.signed(f.onIssue(f.addComment)))
	f.handle("subscribe", "PUT "+one+"/subscriptions/{user}", f.signed(f.onIssue(func(c *call, i *Issue) reply {
		switch {
		case c.PathValue("user") != c.Account:
			return forgejoError(403, c.Account+" is not permitted to change subscriptions for "+c.PathValue("user"))
		case c.Account == i.Author || slices.Contains(subscribers(i), c.Account):
			return reply{200, nil, nil}
		}
		i.Extra["subscribers"] = append(subscribers(i), c.Account)
		return reply{201, nil, nil}
	})))
	f.handle("page", "GET /{owner}/{name}/issues/{index}", func(c *call) reply {
		return issuePage(c, f.find(c.PathValue("owner")+"/"+c.PathValue("name"), c.number("index")))
	})
}

func (f *forgejo) signed(route func(c *call) reply) func(c *call) reply {
	return func(c *call) reply {
		if c.Account == "" && f.kind.token(c.Request) == "" {
			return forgejoError(401, "token is required")
		}
		if c.Account == "" {
			return f.kind.reply(Expired)
		}
		return route(c)
	}
}

func (f *forgejo) inProject(route func(c *call, path string) reply) func(c *call) reply {
	return func(c *call) reply {
		if c.Account == "" && f.kind.token(c.Request) != "" {
			return f.kind.reply(Expired)
		}
		if c.PathValue("owner") == "nowhere" {
			return forgejoError(404, "not found")
		}
		return route(c, c.PathValue("owner")+"/"+c.PathValue("name"))
	}
}

func (f *forgejo) onIssue(route func(c *call, i *Issue) reply) func(c *call) reply {
	return f.inProject(func(c *call, path string) reply {
		if i := f.find(path, c.number("index")); i != nil {
			return route(c, i)
		}
		return forgejoError(404, "not found")
	})
}

func (f *forgejo) user(name string) any {
	return object{"id": 1 + len(name), "login": name, "username": name, "full_name": "", "html_url": f.URL + "/" + name}
}

// known reports whether an account exists.
func (f *forgejo) known(name string) bool {
	for _, account := range f.tokens {
		if strings.EqualFold(account, name) {
			return true
		}
	}
	return slices.ContainsFunc(f.issues, func(i *Issue) bool { return strings.EqualFold(i.Author, name) })
}

func (f *forgejo) issue(i *Issue) object {
	owner, name, _ := strings.Cut(i.Project, "/")
	out := object{
		"id": i.ID + 1000, "number": i.Number, "title": i.Title, "body": i.Text, "user": f.user(i.Author), "ref": "",
		"labels": labelFields(i.Labels), "milestone": nil, "assignee": nil, "assignees": nil, "state": "open",
		"is_locked": false, "comments": len(i.Comments), "created_at": i.Created, "updated_at": i.Updated,
		"closed_at": nil, "due_date": nil,
		"pull_request": nil, "repository": object{"id": 1, "name": name, "owner": owner, "full_name": i.Project},
		"html_url": fmt.Sprintf("%s/%s/issues/%d", f.URL, i.Project, i.Number),
		"url":      fmt.Sprintf("%s/api/v1/repos/%s/issues/%d", f.URL, i.Project, i.Number),
	}
	if i.Closed {
		out["state"], out["closed_at"] = "closed", i.ClosedAt
	}
	if i.Milestone != "" {
		out["milestone"] = object{"id": 1, "title": i.Milestone, "state": "open"}
	}
	if i.Assignee != "" {
		out["assignee"], out["assignees"] = f.user(i.Assignee), []any{f.user(i.Assignee)}
	}
	return out
}

// page returns a page. Forgejo lowers the size that a client asks for without saying so.
func (f *forgejo) page(c *call, all []any) reply {
	if n, err := strconv.Atoi(c.FormValue("limit")); err != nil || n > forgejoPage {
		c.Form.Set("limit", strconv.Itoa(forgejoPage))
	}
	entries := append([]any{}, page(c, all, "limit", forgejoPage)...)
	return reply{200, entries, map[string]string{"X-Total-Count": strconv.Itoa(len(all))}}
}

// list returns the newest issues first. Without a keyword it reads the database, which shows a new issue at once.
func (f *forgejo) list(c *call, path string) reply {
	author, keyword, since := c.text("created_by"), strings.ToLower(c.text("q")), c.since("since")
	if author != "" && !f.known(author) {
		return forgejoError(404, "not found")
	}
	ok := func(i *Issue) bool {
		return strings.EqualFold(i.Project, path) && (author == "" || strings.EqualFold(i.Author, author)) &&
			!i.Updated.Before(since) && (c.text("state") == "all" || i.Closed == (c.text("state") == "closed")) &&
			c.text("type") != "pulls" && strings.Contains(strings.ToLower(i.Title+"\n"+i.Text), keyword)
	}
	found := f.stored(ok)
	if keyword != "" {
		found = f.listed(ok)
	}
	var all []any
	for _, i := range slices.Backward(found) {
		all = append(all, f.issue(i))
	}
	return f.page(c, all)
}

func (f *forgejo) create(c *call, path string) reply {
	if strings.TrimSpace(c.text("title")) == "" {
		return forgejoError(422, "[Title]: Required")
	}
	i := &Issue{Project: path, Title: c.text("title"), Text: c.text("body"), Author: c.Account, Extra: map[string]any{}}
	for _, id := range c.list("labels") { // numbers of labels that do not exist are ignored
		if n, err := strconv.Atoi(id); err == nil && n > 10 && n <= 10+len(forgejoLabels) {
			i.Labels = append(i.Labels, forgejoLabels[n-11])
		}
	}
	i.Closed = c.text("closed") == "true"
	f.add(i, false)
	return reply{201, f.issue(i), nil}
}

func (f *forgejo) change(c *call, i *Issue) reply {
	for name, field := range map[string]*string{"title": &i.Title, "body": &i.Text} {
		if c.fields[name] != nil {
			*field = c.text(name)
		}
	}
	if state := c.text("state"); state != "" {
		i.Closed = state == "closed"
	}
	f.touch(i)
	return reply{201, f.issue(i), nil}
}

func (f *forgejo) commentFields(i *Issue, m Comment) object {
	return object{"id": m.ID, "body": m.Text, "user": f.user(m.Author), "created_at": m.Created, "updated_at": m.Created,
		"issue_url": fmt.Sprintf("%s/%s/issues/%d", f.URL, i.Project, i.Number), "pull_request_url": ""}
}

// comments returns all comments in one answer, oldest first.
func (f *forgejo) comments(c *call, path string) reply {
	i := f.find(path, c.number("index"))
	if i == nil {
		return forgejoError(500, "") // as Gitea 1.27 does
	}
	all := []any{}
	for _, m := range i.Comments {
		all = append(all, f.commentFields(i, m))
	}
	return reply{200, all, nil}
}

func (f *forgejo) addComment(c *call, i *Issue) reply {
	if c.text("body") == "" {
		return forgejoError(422, "[Body]: Required")
	}
	return reply{201, f.commentFields(i, f.comment(i, c.Account, c.text("body"))), nil}
}
