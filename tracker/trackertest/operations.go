package trackertest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	validTag  = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	validName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`)

	informationTypes = []string{"Public", "Public Security", "Private Security", "Private"}
	openStatuses     = []string{"New", "Incomplete", "Confirmed", "Triaged", "In Progress", "Deferred", "Fix Committed"}
	complete         = []string{"Fix Released", "Opinion", "Invalid", "Won't Fix", "Expired", "Does Not Exist"}
	statuses         = slices.Concat([]string{"Unknown"}, openStatuses, complete)
)

// post answers POST requests, which need a named operation and permission to change data.
func (s *Server) post(c *call, token *accessToken) response {
	var bug *Bug
	switch p := c.parts; {
	case c.name == "":
		return text(400, "No operation name given.")
	case len(p) == 1 && p[0] == "bugs" && c.name == "createBug":
		if token == nil {
			return text(401, "You need to be logged in to view this URL.")
		}
	case len(p) == 2 && p[0] == "bugs" && (c.name == "newMessage" || c.name == "subscribe"):
		if bug = s.visible(p[1], token); bug == nil {
			return notFound(p[1])
		}
	default:
		return text(400, "No such operation: "+c.name)
	}
	p := &params{Values: c.form}
	switch {
	case !token.writes():
		return text(401, "(<practice>, '"+c.name+"', 'launchpad.AnyPerson')")
	case c.name == "createBug":
		return s.createBug(c, p, token)
	case c.name == "newMessage":
		return s.newMessage(c, p, bug, token)
	}
	return s.subscribe(c, p, bug, token)
}

func (s *Server) createBug(c *call, p *params, token *accessToken) response {
	bug := &Bug{Reporter: token.Person, Status: "New", InformationType: "Public", Distribution: distribution}
	bug.set(p, "title")
	bug.set(p, "description")
	if p.Has("tags") {
		bug.set(p, "tags")
	}
	if p.Has("information_type") {
		bug.set(p, "information_type")
	}
	path := p.link(c, "target")
	if len(path) == 3 {
		bug.Package = path[2]
	}
	switch {
	case p.wrong != nil:
	case !s.exists(path):
		p.refuse("target", "No such object %s.", c.form.Get("target"))
	case slices.Contains(s.opts.Unpublished, bug.Package):
		return text(400, fmt.Sprintf("Package %s not published in %s", bug.Package, displayName(distribution)))
	}
	if p.wrong != nil {
		return p.refusal()
	}
	bug.Number, bug.Created, bug.Subscribers = s.state.nextBug(s.opts.FirstBug), s.now(), []string{token.Person}
	s.state.Bugs = append(s.state.Bugs, bug)
	s.save()
	return text(201, "").with("Location", c.root()+bug.path())
}

func (s *Server) newMessage(c *call, p *params, b *Bug, token *accessToken) response {
	content := p.text("content")
	if p.wrong != nil {
		return p.refusal()
	}
	s.change(b, func(b *Bug) { b.Messages = append(b.Messages, Message{Owner: token.Person, Content: content}) })
	return text(201, "").with("Location", c.root()+b.commentPath(len(b.Messages)))
}

func (s *Server) subscribe(c *call, p *params, b *Bug, token *accessToken) response {
	person := p.person(c, "person")
	if p.wrong != nil {
		return p.refusal()
	}
	if !slices.Contains(b.Subscribers, person) {
		b.Subscribers = append(b.Subscribers, person)
		s.save()
	}
	return object(b.subscription(c, person, token.Person))
}

func (s *Server) patch(c *call, token *accessToken) response {
	var bug *Bug
	if len(c.parts) == 2 && c.parts[0] == "bugs" {
		bug = s.visible(c.parts[1], token)
	}
	changes := map[string]json.RawMessage{}
	switch media, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); {
	case bug == nil:
		return notFound(c.parts[len(c.parts)-1])
	case !token.writes():
		return text(401, "(<practice>, 'title', 'launchpad.Edit')")
	case media != "application/json":
		return text(415, "")
	case c.r.Header.Get("If-Match") != "" && c.r.Header.Get("If-Match") != etag(bug.json(c)):
		return text(412, "")
	case json.Unmarshal(c.body, &changes) != nil:
		return text(400, "Entity-body was not a well-formed JSON document.")
	}
	changed, p := bug.copied(), &params{Values: url.Values{}}
	for name, value := range changes {
		p.Set(name, string(value))
		changed.set(p, name)
	}
	if p.wrong != nil {
		return p.refusal()
	}
	s.change(bug, func(b *Bug) { *b = changed })
	r := object(bug.json(c))
	r.status = 209 // a status of lazr.restful: the answer contains the changed entry
	return r
}

func (b *Bug) set(p *params, name string) {
	switch name {
	case "title":
		if b.Title = p.sized(name, 200); strings.Contains(b.Title, "\n") {
			p.refuse(name, `('%s', 'title')`, strings.ReplaceAll(b.Title, "\n", `\n`))
		}
	case "description":
		b.Description = p.sized(name, 50000)
	case "tags":
		b.Tags = p.list(name)
		var bad []string
		for _, tag := range b.Tags {
			if !validTag.MatchString(tag) {
				bad = append(bad, fmt.Sprintf("ConstraintNotSatisfied('%s', '')", tag))
			}
		}
		if bad != nil {
			p.refuse(name, "([%s], 'tags')", strings.Join(bad, ", "))
		}
	case "information_type": // a form contains it without quotes
		b.InformationType = p.choice(name, strings.Trim(p.Get(name), `"`), informationTypes)
	default:
		p.refuse(name, "You tried to modify a read-only attribute.")
	}
}

func (p *params) sized(name string, most int) string {
	value := p.text(name)
	switch n := utf8.RuneCountInString(strings.TrimRight(value, " \t\n\v\f\r")); {
	case p.wrong != nil:
	case n < 1:
		p.refuse(name, "('%s', 1)", value)
	case n > most:
		p.refuse(name, "('%s', %d)", value, most)
	}
	return value
}

const distribution = "ubuntu"

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

func (s *Server) get(c *call, token *accessToken) response {
	p := c.parts
	switch last := p[len(p)-1]; {
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
	case len(p) == 1 && strings.HasPrefix(last, "~"):
		return object(c.personEntry(last[1:]))
	default:
		return notFound(last)
	}
}

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

func (s *Server) visible(number string, token *accessToken) *Bug {
	n, _ := strconv.ParseInt(number, 10, 64) // 0 is not a bug
	bug := s.state.bug(n)
	if bug == nil || !token.sees(bug) {
		return nil
	}
	return bug
}

func (s *Server) getBug(c *call, token *accessToken) response {
	bug := s.visible(c.parts[1], token)
	if bug == nil {
		return notFound(c.parts[1])
	}
	list := []any{}
	switch path := strings.Join(c.parts[2:], "/"); path {
	case "":
		return object(bug.json(c))
	case "bug_tasks":
		for i := range 1 + len(bug.Series) {
			list = append(list, bug.task(c, i))
		}
	case "messages":
		for i := range 1 + len(bug.Messages) {
			list = append(list, bug.message(c, i))
		}
	default:
		return notFound(path)
	}
	return s.list(c, list)
}

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
