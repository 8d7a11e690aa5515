package trackertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// api answers API requests. It checks the credentials before it resolves the path.
func (s *Server) api(c *call) response {
	token, refusal := s.authenticate(c)
	if refusal != nil {
		return api(*refusal)
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPatch}, c.method()) {
		return api(text(405, "").with("Allow", "GET, POST, PATCH"))
	}
	r := s.route(c, token)
	tag := r.header.Get("ETag")
	if c.r.Method == http.MethodGet && tag != "" && c.r.Header.Get("If-None-Match") == tag {
		return api(text(304, "").with("ETag", tag))
	}
	return api(r)
}

// api adds the headers that every API answer has.
func api(r response) response {
	return r.with("Vary", "Accept").with("X-Lazr-Notifications", "[]").
		with("X-Powered-By", "Zope (www.zope.org), Python (www.python.org)")
}

func (s *Server) route(c *call, token *accessToken) response {
	op, write := c.wsOp(), c.method() == http.MethodPost
	if c.op == OpArchive && !write {
		return s.archive(c, op)
	}
	p := c.parts
	if c.method() == http.MethodPatch {
		return s.change(c, token)
	}
	switch {
	case len(p) == 0 || len(p) == 1 && p[0] == "":
		return s.serviceRoot(c)
	case p[0] == "bugs" && len(p) > 1:
		return s.bug(c, token)
	case p[0] == "bugs" && write:
		return operation(op, "createBug", func() response { return s.createBug(c, token) })
	case p[0] == "bugs":
		return s.searchOr(c, token, nil)
	case write: // the paths below do not accept POST
	case slices.Equal(p, []string{"people", "+me"}):
		if token == nil {
			return text(401, "You need to be logged in to view this URL.")
		}
		return text(303, "").with("Location", c.root()+"/~"+token.Person)
	case slices.Equal(p, []string{"people"}):
		return s.list(c, "person", []any{personJSON(c, s.opts.Person)})
	case slices.Equal(p, []string{"distros"}):
		return s.list(c, "distribution", []any{s.thingJSON(c, []string{s.opts.Distribution})})
	case len(p) == 1 && strings.HasPrefix(p[0], "~"):
		return object(personJSON(c, p[0][1:]))
	case slices.Contains(p, "+bug"):
		return s.task(c, token)
	case slices.Equal(p, []string{s.opts.Distribution, "+archive", "primary"}):
		return object(s.archiveJSON(c))
	case s.exists(p):
		return s.searchOr(c, token, p)
	}
	return notFound(p[len(p)-1])
}

// serviceRoot returns the API description, or the root resource with links to the collections.
func (s *Server) serviceRoot(c *call) response {
	if c.accepts(wadlMedia) {
		return text(200, wadl(c.root())).with("Content-Type", wadlMedia)
	}
	b, err := json.Marshal(map[string]any{
		"resource_type_link": c.root() + "/#service-root", "me_link": c.root() + "/people/+me",
		"bugs_collection_link": c.root() + "/bugs", "people_collection_link": c.root() + "/people",
		"distributions_collection_link": c.root() + "/distros",
	})
	if err != nil {
		return text(500, "TypeError")
	}
	return text(200, string(b)).with("Content-Type", "application/json")
}

// bug answers requests for /bugs/N and paths below it.
func (s *Server) bug(c *call, token *accessToken) response {
	bug, write, op := s.visible(c.parts[1], token), c.method() == http.MethodPost, c.wsOp()
	switch {
	case bug == nil:
		return notFound(c.parts[1])
	case len(c.parts) == 2 && write && op == "newMessage":
		return s.newMessage(c, bug, token)
	case len(c.parts) == 2 && write:
		return operation(op, "subscribe", func() response { return s.subscribe(c, bug, token) })
	case len(c.parts) == 2:
		return object(bug.json(c))
	case len(c.parts) == 4 && c.parts[2] == "+subscription" && slices.Contains(bug.Subscribers, c.parts[3]):
		return object(bug.subscriptionJSON(c, c.parts[3], bug.Reporter))
	case len(c.parts) > 3 || write:
		return notFound(c.parts[len(c.parts)-1])
	}
	switch c.parts[2] {
	case "bug_tasks":
		return s.list(c, "bug_task", bug.tasks(c))
	case "messages":
		return s.list(c, "message", bug.messages(c))
	case "subscriptions":
		list := []any{}
		for _, person := range bug.Subscribers {
			list = append(list, bug.subscriptionJSON(c, person, bug.Reporter))
		}
		return s.list(c, "bug_subscription", list)
	case "duplicates":
		list := []any{}
		for _, other := range s.state.Bugs {
			if other.DuplicateOf == bug.Number && s.visible(strconv.FormatInt(other.Number, 10), token) != nil {
				list = append(list, other.json(c))
			}
		}
		return s.list(c, "bug", list)
	}
	return notFound(c.parts[2])
}

// task answers requests for TARGET/+bug/N and its comments. The target may be one series.
func (s *Server) task(c *call, token *accessToken) response {
	bug, series, rest := s.taskAt(c.parts, token)
	switch {
	case bug == nil:
	case len(rest) == 0:
		return object(bug.tasks(c)[series+1].(map[string]any))
	case len(rest) == 2 && rest[0] == "comments":
		all := bug.messages(c)
		if n, err := strconv.Atoi(rest[1]); err == nil && n >= 0 && n < len(all) {
			return object(all[n].(map[string]any))
		}
	}
	return notFound(c.parts[len(c.parts)-1])
}

// taskAt returns the bug at a path, the index of its series or -1, and the path after the number.
// The bug is nil if it has no task on that target.
func (s *Server) taskAt(path []string, token *accessToken) (bug *Bug, series int, rest []string) {
	at := slices.Index(path, "+bug")
	if at < 0 || len(path) < at+2 {
		return nil, -1, nil
	}
	bug = s.visible(path[at+1], token)
	if bug == nil {
		return nil, -1, nil
	}
	target := "/" + strings.Join(path[:at], "/")
	for i := -1; i < len(bug.Series); i++ {
		if unescape(bug.taskPath(i)) == target {
			return bug, i, path[at+2:]
		}
	}
	return nil, -1, nil
}

// change answers PATCH requests.
func (s *Server) change(c *call, token *accessToken) response {
	if len(c.parts) == 2 && c.parts[0] == "bugs" {
		if bug := s.visible(c.parts[1], token); bug != nil {
			return s.patch(c, bug, token, "Bug", func(b *Bug) map[string]any { return b.json(c) }, s.setBug(c))
		}
	}
	if bug, series, rest := s.taskAt(c.parts, token); bug != nil && len(rest) == 0 {
		read := func(b *Bug) map[string]any { return b.tasks(c)[series+1].(map[string]any) }
		return s.patch(c, bug, token, "BugTask", read, s.setTask(c, series))
	}
	return notFound(c.parts[len(c.parts)-1])
}
