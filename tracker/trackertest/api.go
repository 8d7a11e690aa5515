package trackertest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // entity tags, as the real one makes them
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// api answers below a version's root. Credentials are judged before the address is even looked up.
func (s *Server) api(c *call) response {
	token, refusal := s.authenticate(c)
	if refusal != nil {
		return api(*refusal)
	}
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodPost {
		return api(text(405, "").with("Allow", "GET, POST"))
	}
	return api(s.route(c, token))
}

// api adds the headers that all answers of the API have.
func api(r response) response {
	return r.with("Vary", "Accept").with("X-Lazr-Notifications", "[]").
		with("X-Powered-By", "Zope (www.zope.org), Python (www.python.org)")
}

func (s *Server) route(c *call, token *accessToken) response {
	op, write := c.param("ws.op"), c.r.Method == http.MethodPost
	if c.op == OpArchive && !write {
		return s.archive(c, op)
	}
	switch p := c.parts; {
	case len(p) == 1 && p[0] == "" || len(p) == 0:
		return object(map[string]any{
			"resource_type_link": c.root() + "/#service-root", "me_link": c.root() + "/people/+me",
			"bugs_collection_link": c.root() + "/bugs", "people_collection_link": c.root() + "/people",
		})
	case len(p) == 1 && p[0] == "bugs" && write:
		return operation(op, "createBug", func() response { return s.createBug(c, token) })
	case len(p) == 1 && p[0] == "bugs":
		return s.searchOr(c, token, nil)
	case len(p) == 2 && p[0] == "bugs":
		bug := s.visible(p[1], token)
		switch {
		case bug == nil:
			return notFound(p[1])
		case write && op == "newMessage":
			return s.newMessage(c, bug, token)
		case write:
			return operation(op, "subscribe", func() response { return s.subscribe(c, bug, token) })
		}
		return object(s.bugJSON(c, bug))
	case len(p) == 3 && p[0] == "bugs" && !write && (p[2] == "bug_tasks" || p[2] == "messages"):
		bug := s.visible(p[1], token)
		switch {
		case bug == nil:
			return notFound(p[1])
		case p[2] == "bug_tasks":
			return s.list(c, s.tasks(c, bug))
		}
		return s.list(c, s.messages(c, bug))
	case slices.Equal(p, []string{"people", "+me"}) && !write:
		if token == nil {
			return text(401, "You need to be logged in to view this URL.")
		}
		return text(303, "").with("Location", c.root()+"/~"+token.Person)
	case len(p) == 1 && strings.HasPrefix(p[0], "~") && !write:
		return s.person(c, p[0][1:])
	case len(p) >= 4 && p[len(p)-2] == "+bug" && !write && s.exists(p[:len(p)-2]):
		if bug := s.visible(p[len(p)-1], token); bug != nil {
			return object(s.taskJSON(c, bug))
		}
		return notFound(p[len(p)-1])
	case s.exists(p) && !write:
		return s.searchOr(c, token, p)
	}
	return notFound(c.parts[len(c.parts)-1])
}

// operation runs a named operation when it is the one that was asked for.
func operation(op, name string, run func() response) response {
	switch op {
	case name:
		return run()
	case "":
		return text(400, "No operation name given.")
	}
	return text(400, "No such operation: "+op)
}

func notFound(name string) response {
	return text(404, fmt.Sprintf("Object: <lp.systemhomes.WebServiceApplication object>, name: %s", pyQuote(name)))
}

// object writes an entry or a collection as JSON, with what HTML would mind escaped, as the real one does. Entries get their
// entity tag.
func object(v map[string]any) response {
	r := text(200, "").with("Content-Type", "application/json")
	if _, entry := v["self_link"]; entry {
		tag := etag(v)
		v["http_etag"] = tag
		r = r.with("ETag", tag)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return text(500, "TypeError")
	}
	r.body = string(b)
	return r
}

func etag(v map[string]any) string {
	b, _ := json.Marshal(v) // only tells one content from another
	sum := sha1.Sum(b)      //nolint:gosec // as the real one does
	return `"` + hex.EncodeToString(sum[:]) + "-" + hex.EncodeToString(sum[:]) + `"`
}

// visible finds a bug that the token's person may see; a hidden one is as if it were not there.
func (s *Server) visible(number string, token *accessToken) *Bug {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	bug := s.state.bug(n)
	if bug == nil || bug.private() && (token == nil || !token.seesPrivate()) {
		return nil
	}
	return bug
}

// isoTime writes a time as the API does.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

func (s *Server) bugJSON(c *call, b *Bug) map[string]any {
	self := fmt.Sprintf("%s/bugs/%d", c.root(), b.Number)
	var master any
	if b.DuplicateOf != 0 {
		master = fmt.Sprintf("%s/bugs/%d", c.root(), b.DuplicateOf)
	}
	return map[string]any{
		"self_link": self, "web_link": fmt.Sprintf("%s/bugs/%d", c.origin, b.Number), "resource_type_link": c.root() + "/#bug",
		"id": b.Number, "title": b.Title, "description": b.Description, "tags": orEmpty(b.Tags), "name": nil,
		"owner_link": c.root() + "/~" + b.Reporter, "information_type": b.InformationType, "private": b.private(),
		"security_related": b.securityRelated(), "duplicate_of_link": master, "date_created": isoTime(b.Created),
		"date_last_updated": isoTime(b.updated()), "date_last_message": isoTime(b.updated()), "heat": 4, "message_count": 1 + len(b.Messages),
		"users_affected_count": 1, "bug_tasks_collection_link": self + "/bug_tasks", "messages_collection_link": self + "/messages",
		"subscriptions_collection_link": self + "/subscriptions", "duplicates_collection_link": self + "/duplicates",
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// linkOr makes a link of a name; of none it makes null.
func linkOr(c *call, path, name string) any {
	if name == "" {
		return nil
	}
	return c.root() + path + name
}

func (b *Bug) updated() time.Time {
	if b.Updated.After(b.Created) {
		return b.Updated
	}
	return b.Created
}

// targetPath is the path of what the bug is filed against.
func (b *Bug) targetPath() string {
	if b.Package == "" {
		return "/" + b.Distribution
	}
	return "/" + b.Distribution + "/+source/" + escapePath(b.Package)
}

func (s *Server) taskJSON(c *call, b *Bug) map[string]any {
	name := displayName(b.Distribution)
	if b.Package != "" {
		name = b.Package + " (" + name + ")"
	}
	var released any
	if b.Status == "Fix Released" {
		released = when(b.Closed)
	}
	self := fmt.Sprintf("%s%s/+bug/%d", c.root(), b.targetPath(), b.Number)
	return map[string]any{
		"self_link": self, "web_link": fmt.Sprintf("%s%s/+bug/%d", c.origin, b.targetPath(), b.Number),
		"resource_type_link": c.root() + "/#bug_task", "bug_link": fmt.Sprintf("%s/bugs/%d", c.root(), b.Number),
		"target_link": c.root() + b.targetPath(), "bug_target_name": name, "bug_target_display_name": name,
		"status": b.Status, "importance": cmp.Or(b.Importance, "Undecided"), "is_complete": slices.Contains(complete, b.Status),
		"owner_link": c.root() + "/~" + b.Reporter, "bug_watch_link": nil,
		"assignee_link": linkOr(c, "/~", b.Assignee), "milestone_link": linkOr(c, "/"+b.Distribution+"/+milestone/", b.Milestone),
		"date_closed": when(b.Closed), "date_fix_released": released,
		"title": fmt.Sprintf("Bug #%d in %s: \"%s\"", b.Number, name, b.Title), "date_created": isoTime(b.Created),
	}
}

// subscribe adds a person, given by link; without one it is the caller.
func (s *Server) subscribe(c *call, bug *Bug, token *accessToken) response {
	if token == nil || !token.writes() {
		return text(401, fmt.Sprintf("(<Bug %d>, 'subscribe', 'launchpad.AnyPerson')", bug.Number))
	}
	person := token.Person
	if link, ok := textParam(c.form, "person"); ok {
		path, wrong := s.resolve(c, link)
		if wrong == "" && (len(path) != 1 || !strings.HasPrefix(path[0], "~")) {
			wrong = fmt.Sprintf("No such object %q.", link)
		}
		if wrong != "" {
			return text(400, "person: "+wrong)
		}
		person = path[0][1:]
	}
	if !slices.Contains(bug.Subscribers, person) {
		bug.Subscribers = append(bug.Subscribers, person)
		s.save()
	}
	return object(map[string]any{
		"self_link":          fmt.Sprintf("%s/bugs/%d/+subscription/%s", c.root(), bug.Number, person),
		"resource_type_link": c.root() + "/#bug_subscription", "bug_link": fmt.Sprintf("%s/bugs/%d", c.root(), bug.Number),
		"date_created": isoTime(s.now()), "person_link": c.root() + "/~" + person,
		"subscribed_by_link": c.root() + "/~" + token.Person, "bug_notification_level": "Discussion",
	})
}

func (s *Server) person(c *call, name string) response {
	return object(map[string]any{
		"self_link": c.root() + "/~" + name, "web_link": c.origin + "/~" + name, "resource_type_link": c.root() + "/#person",
		"name": name, "display_name": name, "is_team": false, "is_valid": true,
	})
}
