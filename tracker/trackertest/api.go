package trackertest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // Launchpad uses it for entity tags
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operation runs the named operation if op is its name.
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

// object returns an entry or a collection as JSON, escaped for HTML as in Launchpad. Entries get an
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

// etag returns an entity tag of two halves. The first hashes the attributes that only the tracker
// changes, the second those that clients can change.
func etag(v map[string]any) string {
	halves := [2]map[string]any{{}, {}}
	for name, value := range v {
		half := 0
		if slices.Contains(writableBug, name) || slices.Contains(writableTask, name) {
			half = 1
		}
		if name != "http_etag" {
			halves[half][name] = value
		}
	}
	var sums [2]string
	for i, half := range halves {
		b, _ := json.Marshal(half) // only identifies the content
		sum := sha1.Sum(b)         //nolint:gosec // as Launchpad does
		sums[i] = hex.EncodeToString(sum[:])
	}
	return `"` + sums[0] + "-" + sums[1] + `"`
}

// visible returns a bug that the token may see, or nil.
func (s *Server) visible(number string, token *accessToken) *Bug {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	bug := s.state.bug(n)
	if bug == nil || !token.sees(bug) {
		return nil
	}
	return bug
}

// isoTime formats a time for the API.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

func (b *Bug) json(c *call) map[string]any {
	self := fmt.Sprintf("%s/bugs/%d", c.root(), b.Number)
	var master any
	if b.DuplicateOf != 0 {
		master = fmt.Sprintf("%s/bugs/%d", c.root(), b.DuplicateOf)
	}
	return map[string]any{
		"self_link": self, "web_link": fmt.Sprintf("%s/bugs/%d", c.origin, b.Number), "resource_type_link": c.root() +
			"/#bug",
		"id": b.Number, "title": b.Title, "description": b.Description, "tags": orEmpty(b.Tags), "name": nil,
		"owner_link": c.root() + "/~" + b.Reporter, "information_type": b.InformationType, "private": b.private(),
		"security_related": b.securityRelated(), "duplicate_of_link": master, "date_created": isoTime(b.Created),
		"date_last_updated": isoTime(b.updated()), "date_last_message": isoTime(b.updated()), "heat": 4, "message_count": 1 +
			len(b.Messages),
		"users_affected_count": 1, "bug_tasks_collection_link": self + "/bug_tasks", "messages_collection_link": self +
			"/messages",
		"subscriptions_collection_link": self + "/subscriptions", "duplicates_collection_link": self + "/duplicates",
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// linkOr returns the link of a name, or null if name is empty.
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

// targetPath returns the path of the bug's target.
func (b *Bug) targetPath() string {
	if b.Package == "" {
		return "/" + b.Distribution
	}
	return "/" + b.Distribution + "/+source/" + escapePath(b.Package)
}

func (b *Bug) taskJSON(c *call) map[string]any {
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
		"status": b.Status, "importance": cmp.Or(b.Importance, "Undecided"), "is_complete": slices.Contains(complete,
			b.Status),
		"owner_link": c.root() + "/~" + b.Reporter, "bug_watch_link": nil,
		"assignee_link": linkOr(c, "/~", b.Assignee), "milestone_link": linkOr(c, "/"+b.Distribution+"/+milestone/",
			b.Milestone),
		"date_closed": when(b.Closed), "date_fix_released": released,
		"title": fmt.Sprintf("Bug #%d in %s: \"%s\"", b.Number, name, b.Title), "date_created": isoTime(b.Created),
	}
}

// subscribe subscribes the person in a link, or the caller if there is none.
func (s *Server) subscribe(c *call, bug *Bug, token *accessToken) response {
	if token == nil || !token.writes() {
		return text(401, fmt.Sprintf("(<Bug %d>, 'subscribe', 'launchpad.AnyPerson')", bug.Number))
	}
	person := token.Person
	if link, ok := textParam(c.form, "person"); ok {
		path, wrong := s.resolve(c, link)
		if wrong == "" && (len(path) != 1 || !strings.HasPrefix(path[0], "~") || path[0] == "~") {
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
	return object(bug.subscriptionJSON(c, person, token.Person))
}

func (b *Bug) subscriptionJSON(c *call, person, by string) map[string]any {
	return map[string]any{
		"self_link":          fmt.Sprintf("%s/bugs/%d/+subscription/%s", c.root(), b.Number, person),
		"resource_type_link": c.root() + "/#bug_subscription", "bug_link": fmt.Sprintf("%s/bugs/%d", c.root(), b.Number),
		"date_created": isoTime(b.Created), "person_link": c.root() + "/~" + person,
		"subscribed_by_link": c.root() + "/~" + by, "bug_notification_level": "Discussion",
	}
}

func personJSON(c *call, name string) map[string]any {
	return map[string]any{
		"self_link": c.root() + "/~" + name, "web_link": c.origin + "/~" + name, "resource_type_link": c.root() + "/#person",
		"name": name, "display_name": name, "is_team": false, "is_valid": true,
	}
}
