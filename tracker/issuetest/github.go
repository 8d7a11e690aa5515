package issuetest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// GitHub is GitHub's REST API, below /api/v3 as on a server of one's own. Repositories exist as soon as they are
// named, unless their owner is "nowhere". The rules are those of the pages "REST API endpoints for issues", "… for
// issue comments", "Rate limits for the REST API" and "Troubleshooting the REST API" of GitHub's documentation.
func GitHub() kind {
	return kind{
		routes: func(s *Server) { (&gitHub{s}).routes() },
		token: func(r *http.Request) string {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
				return ""
			}
			return token
		},
		reply: func(f Fault) reply {
			switch f {
			case Busy: // the limit per hour; the end is in the past for any clock
				out := gitHubError(403, "API rate limit exceeded for user ID 1.")
				out.Header = map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}
				return out
			case Limit:
				out := gitHubError(403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
				out.Header = map[string]string{"Retry-After": "60"}
				return out
			case Expired:
				return gitHubError(401, "Bad credentials")
			case Forbidden:
				return gitHubError(403, "Resource not accessible by personal access token")
			default:
				return gitHubError(422, "Validation Failed", object{"resource": "Issue", "field": "title", "code": "too_long"})
			}
		},
		first: 1, states: [2]string{"reopened", "completed"},
	}
}

type gitHub struct{ *Server }

func gitHubError(status int, message string, errors ...object) reply {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest"}
	if len(errors) > 0 {
		body["errors"] = errors
	}
	return reply{status, body, nil}
}

func (g *gitHub) routes() {
	const issues, one = "/api/v3/repos/{owner}/{repo}/issues", "/api/v3/repos/{owner}/{repo}/issues/{number}"
	g.handle("me", "GET /api/v3/user", func(c *call) reply {
		if c.Account == "" {
			return gitHubError(401, "Bad credentials")
		}
		return reply{200, g.user(c.Account), nil}
	})
	g.handle("project", "GET "+strings.TrimSuffix(issues, "/issues"), g.inRepository(func(_ *call, path string) reply {
		return reply{200, object{"id": 1, "full_name": path, "has_issues": true, "archived": false},
			map[string]string{"X-OAuth-Scopes": strings.Join(g.scopesOr("public_repo"), ", ")}}
	}))
	g.handle("list", "GET "+issues, g.inRepository(g.list))
	g.handle("create", "POST "+issues, g.inRepository(g.create))
	g.handle("read", "GET "+one, g.onIssue(func(_ *call, i *Issue) reply { return reply{200, g.issue(i), nil} }))
	g.handle("change", "PATCH "+one, g.onIssue(g.change))
	g.handle("comments", "GET "+one+"/comments", g.onIssue(func(c *call, i *Issue) reply {
		list := []object{}
		for _, n := range page(c, i.Comments, "per_page", 30) {
			list = append(list, g.comments(n))
		}
		return reply{200, list, nil}
	}))
	g.handle("comment", "POST "+one+"/comments", g.onIssue(func(c *call, i *Issue) reply {
		if strings.TrimSpace(c.text("body")) == "" {
			return gitHubError(422, "Validation Failed", object{"resource": "IssueComment", "field": "body",
				"code": "missing_field"})
		}
		return reply{201, g.comments(g.comment(i, c.Account, c.text("body"))), nil}
	}))
	g.handle("page", "GET /{owner}/{repo}/issues/{number}", func(c *call) reply {
		return issuePage(c, g.find(c.PathValue("owner")+"/"+c.PathValue("repo"), c.number("number")))
	})
}

// inRepository finds the repository. A token that is not valid is refused even for reading.
func (g *gitHub) inRepository(route func(c *call, path string) reply) func(c *call) reply {
	return func(c *call) reply {
		if c.Account == "" && g.kind.token(c.Request) != "" {
			return gitHubError(401, "Bad credentials")
		}
		if c.Account == "" && c.Method != http.MethodGet {
			return gitHubError(401, "Requires authentication")
		}
		if c.PathValue("owner") == "nowhere" {
			return gitHubError(404, "Not Found")
		}
		return route(c, c.PathValue("owner")+"/"+c.PathValue("repo"))
	}
}

// onIssue finds the issue. One that was moved has the address of another in Extra.
func (g *gitHub) onIssue(route func(c *call, i *Issue) reply) func(c *call) reply {
	return g.inRepository(func(c *call, path string) reply {
		i := g.find(path, c.number("number"))
		if i == nil {
			return gitHubError(404, "Not Found")
		}
		if to, ok := i.Extra["moved"].(string); ok {
			return reply{301, object{"message": "Moved Permanently", "url": to}, map[string]string{"Location": to}}
		}
		return route(c, i)
	})
}

func (g *gitHub) user(name string) object {
	return object{"login": name, "id": len(name), "type": "User", "html_url": g.URL + "/" + name}
}

func (g *gitHub) issue(i *Issue) object {
	labels, assignees := []object{}, []object{}
	for _, l := range i.Labels {
		labels = append(labels, object{"name": l})
	}
	if i.Assignee != "" {
		assignees = append(assignees, g.user(i.Assignee))
	}
	out := object{
		"id": i.ID, "number": i.Number, "title": i.Title, "body": i.Text, "state": "open", "state_reason": nil,
		"user": g.user(i.Author), "labels": labels, "assignees": assignees, "milestone": nil, "comments": len(i.Comments),
		"created_at": i.Created, "updated_at": i.Updated, "closed_at": nil,
		"url":      g.URL + "/api/v3/repos/" + i.Project + "/issues/" + strconv.FormatInt(i.Number, 10),
		"html_url": g.URL + "/" + i.Project + "/issues/" + strconv.FormatInt(i.Number, 10),
	}
	if i.Milestone != "" {
		out["milestone"] = object{"title": i.Milestone}
	}
	if i.Closed {
		out["state"], out["state_reason"], out["closed_at"] = "closed", cmp.Or(i.State, "completed"), i.ClosedAt
	}
	if i.Extra["pull_request"] == true {
		out["pull_request"] = object{"url": g.URL}
	}
	return out
}

func (g *gitHub) comments(n Comment) object {
	return object{"id": n.ID, "body": n.Text, "user": g.user(n.Author), "created_at": n.Created, "updated_at": n.Created}
}

func (g *gitHub) list(c *call, path string) reply {
	creator, state := c.text("creator"), cmp.Or(c.text("state"), "open")
	if creator != "" && !slices.Contains(g.accounts(), creator) {
		return gitHubError(422, "Validation Failed", object{"resource": "Issue", "field": "creator", "code": "invalid"})
	}
	all := g.listed(func(i *Issue) bool {
		return strings.EqualFold(i.Project, path) && (creator == "" || i.Author == creator) &&
			(state == "all" || i.Closed == (state == "closed")) && !i.Updated.Before(c.since("since"))
	})
	if c.text("direction") != "asc" {
		slices.Reverse(all)
	}
	list := []object{}
	for _, i := range page(c, all, "per_page", 30) {
		list = append(list, g.issue(i))
	}
	return reply{200, list, nil}
}

// accounts are those with a token, and the authors of issues.
func (g *gitHub) accounts() (names []string) {
	for _, name := range g.tokens {
		names = append(names, name)
	}
	for _, i := range g.issues {
		names = append(names, i.Author)
	}
	return names
}

func (g *gitHub) create(c *call, path string) reply {
	title, missing := c.text("title"), func(field, code string) reply {
		return gitHubError(422, "Validation Failed", object{"resource": "Issue", "field": field, "code": code})
	}
	switch {
	case strings.TrimSpace(title) == "":
		return missing("title", "missing_field")
	case len([]rune(title)) > 256:
		return missing("title", "too_long")
	case len([]rune(c.text("body"))) > 65_536:
		return missing("body", "too_long")
	}
	i := &Issue{Project: path, Title: title, Text: c.text("body"), Author: c.Account, Labels: c.list("labels"),
		Extra: map[string]any{}}
	return reply{201, g.issue(g.add(i, false)), nil}
}

func (g *gitHub) change(c *call, i *Issue) reply {
	for name, field := range map[string]*string{"title": &i.Title, "body": &i.Text, "state_reason": &i.State} {
		if c.fields[name] != nil {
			*field = c.text(name)
		}
	}
	if state := c.text("state"); state != "" {
		i.Closed = state == "closed"
	}
	g.touch(i)
	return reply{200, g.issue(i), nil}
}
