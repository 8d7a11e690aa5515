package trackertest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// distribution is the only distribution of the practice tracker.
const distribution = "ubuntu"

// api answers API requests. It checks the credentials before it resolves the path.
func (s *Server) api(c *call) response {
	token, refusal := s.authenticate(c)
	if refusal != nil {
		return *refusal
	}
	if c.op == OpArchive {
		return s.archive(c)
	}
	switch c.r.Method {
	case http.MethodGet:
		return s.get(c, token)
	case http.MethodPost:
		return s.post(c, token)
	case http.MethodPatch:
		return s.patch(c, token)
	}
	return text(405, "").with("Allow", "GET, POST, PATCH")
}

func notFound(name string) response {
	return text(404, fmt.Sprintf("Object: <lp.systemhomes.WebServiceApplication object>, name: '%s'", name))
}

// get answers GET requests.
func (s *Server) get(c *call, token *accessToken) response {
	p := c.parts
	switch last := p[len(p)-1]; {
	case len(p) == 1 && last == "":
		return s.serviceRoot(c)
	case c.name == "searchTasks", len(p) == 1 && last == "bugs":
		return s.search(c, token)
	case c.name == "getSourcePackage":
		return s.sourcePackage(c)
	case c.name != "":
		return text(400, "No such operation: "+c.name)
	case p[0] == "bugs":
		return s.getBug(c, token)
	case c.op == OpMe && token == nil:
		return text(401, "You need to be logged in to view this URL.")
	case c.op == OpMe:
		return text(303, "").with("Location", c.root()+"/~"+token.Person)
	case len(p) == 1 && last == "people":
		return s.list(c, "person", []any{c.personEntry(s.opts.Person)})
	case len(p) == 1 && last == "distros":
		return s.list(c, "distribution", []any{c.target([]string{distribution})})
	case len(p) == 1 && strings.HasPrefix(last, "~"):
		return object(c.personEntry(last[1:]))
	case slices.Contains(p, "+bug"):
		return s.getTask(c, token)
	case c.isArchive():
		return object(c.archiveEntry())
	case s.exists(p):
		return object(c.target(p))
	default:
		return notFound(last)
	}
}

// exists reports whether there is a distribution or a package at a path.
func (s *Server) exists(path []string) bool {
	return path[0] == distribution &&
		(len(path) == 1 || len(path) == 3 && path[1] == "+source" && s.knowsPackage(path[2]))
}

func (s *Server) knowsPackage(name string) bool {
	if s.opts.Packages == nil {
		return validName.MatchString(name)
	}
	return slices.Contains(s.opts.Packages, name) || slices.Contains(s.opts.Unpublished, name)
}

// visible returns a bug that the token may see, or nil.
func (s *Server) visible(number string, token *accessToken) *Bug {
	n, _ := strconv.ParseInt(number, 10, 64) // 0 is not a bug
	bug := s.state.bug(n)
	if bug == nil || !token.sees(bug) {
		return nil
	}
	return bug
}

// getBug answers requests for /bugs/N and paths below it.
func (s *Server) getBug(c *call, token *accessToken) response {
	bug := s.visible(c.parts[1], token)
	if bug == nil {
		return notFound(c.parts[1])
	}
	kind, list := "", []any{}
	switch path := strings.Join(c.parts[2:], "/"); path {
	case "":
		return object(bug.json(c))
	case "bug_tasks":
		kind = "bug_task"
		for i := range 1 + len(bug.Series) {
			list = append(list, bug.task(c, i))
		}
	case "messages":
		kind = "message"
		for i := range 1 + len(bug.Messages) {
			list = append(list, bug.message(c, i))
		}
	case "subscriptions":
		kind = "bug_subscription"
		for _, person := range bug.Subscribers {
			list = append(list, bug.subscription(c, person, bug.Reporter))
		}
	default:
		return notFound(path)
	}
	return s.list(c, kind, list)
}

// getTask answers requests for TARGET/+bug/N and its comments.
func (s *Server) getTask(c *call, token *accessToken) response {
	bug, task, rest := s.taskAt(c.parts, token)
	switch {
	case bug == nil:
	case len(rest) == 0:
		return object(bug.task(c, task))
	case len(rest) == 2 && rest[0] == "comments":
		if n, err := strconv.Atoi(rest[1]); err == nil && n >= 0 && n <= len(bug.Messages) {
			return object(bug.message(c, n))
		}
	}
	return notFound(c.parts[len(c.parts)-1])
}

// taskAt returns the bug at a path, the index of its task, and the path after the number. The bug is
// nil if it has no task on that target.
func (s *Server) taskAt(path []string, token *accessToken) (bug *Bug, task int, rest []string) {
	at := slices.Index(path, "+bug")
	if at < 0 || len(path) < at+2 {
		return nil, 0, nil
	}
	bug = s.visible(path[at+1], token)
	if bug == nil {
		return nil, 0, nil
	}
	for i := range 1 + len(bug.Series) {
		if slices.Equal(splitPath(bug.taskPath(i)), path[:at]) {
			return bug, i, path[at+2:]
		}
	}
	return nil, 0, nil
}

// sourcePackage answers getSourcePackage, with null if there is no such package.
func (s *Server) sourcePackage(c *call) response {
	p := &params{Values: c.query}
	name := p.text("name")
	switch {
	case p.wrong != nil:
		return p.refusal()
	case !s.knowsPackage(name):
		return bare(nil)
	}
	return object(c.target([]string{distribution, "+source", name}))
}
