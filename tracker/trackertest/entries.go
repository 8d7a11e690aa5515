package trackertest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bare returns any value as JSON, escaped for HTML as in Launchpad.
func bare(v any) response {
	b, err := json.Marshal(v)
	if err != nil {
		return text(500, "TypeError")
	}
	return text(200, string(b)).with("Content-Type", "application/json")
}

// object returns an entry.
func object(entry map[string]any) response {
	entry["http_etag"] = etag(entry)
	return bare(entry).with("ETag", etag(entry))
}

// etag returns an entity tag of the attributes that PATCH can change, which is what If-Match compares.
func etag(entry map[string]any) string {
	b, _ := json.Marshal([]any{entry["title"], entry["description"], entry["tags"], entry["information_type"]})
	return fmt.Sprintf(`"practice-%x"`, sha256.Sum256(b))
}

// list returns one page of a collection of entries of one type, or its size. In version devel, the result of an
// operation has no size unless it fits on one page. A link leads to the size instead.
func (s *Server) list(c *call, kind string, all []any) response {
	const maxPage = 300
	size, start := s.opts.PageSize, 0
	if v := c.query.Get("ws.size"); v != "" {
		size, _ = strconv.Atoi(v) // the next line refuses invalid text
	}
	if size < 1 || size > maxPage {
		return text(400, fmt.Sprintf(`Maximum for "ws.size" parameter is %d.`, maxPage))
	}
	if v, err := strconv.Atoi(c.query.Get("ws.start")); err == nil {
		start = max(v, 0)
	}
	if c.query.Get("ws.show") == "total_size" {
		return bare(len(all))
	}
	end := min(start+size, len(all))
	entries := slices.Concat([]any{}, all[min(start, end):end]) // not null
	for _, v := range entries {
		if entry := v.(map[string]any); entry["self_link"] != nil {
			entry["http_etag"] = etag(entry)
		}
	}
	page := map[string]any{"start": start, "entries": entries}
	if c.name == "" {
		page["resource_type_link"] = c.root() + "/#" + kind + "-page-resource"
	}
	if c.name == "" || c.version != "devel" || len(entries) == len(all) {
		page["total_size"] = len(all)
	} else {
		page["total_size_link"] = c.address("ws.show", "total_size")
	}
	if end < len(all) {
		page["next_collection_link"] = c.address("ws.size", strconv.Itoa(size), "memo", strconv.Itoa(end),
			"ws.start", strconv.Itoa(end))
	}
	return bare(page)
}

// address returns the address of the request with some parameters changed, given as names and
// values.
func (c *call) address(change ...string) string {
	q := url.Values{}
	for name, values := range c.query {
		q[name] = values
	}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return c.origin + c.r.URL.EscapedPath() + "?" + q.Encode()
}

// entry returns the attributes that all entries of a type have.
func (c *call) entry(kind, path string) map[string]any {
	return map[string]any{
		"self_link": c.root() + path, "web_link": c.origin + path, "resource_type_link": c.root() + "/#" + kind,
	}
}

// linkOr returns the link of a name, or null if name is empty.
func (c *call) linkOr(path, name string) any {
	if name == "" {
		return nil
	}
	return c.root() + path + name
}

func isoTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000+00:00")
}

func (b *Bug) path() string { return fmt.Sprintf("/bugs/%d", b.Number) }

func (b *Bug) json(c *call) map[string]any {
	e := c.entry("bug", b.path())
	e["id"], e["title"], e["description"], e["name"] = b.Number, b.Title, b.Description, nil
	e["tags"] = slices.Concat([]string{}, b.Tags) // not null
	e["information_type"], e["private"] = b.InformationType, b.private()
	e["security_related"] = strings.HasSuffix(b.InformationType, "Security")
	e["owner_link"], e["duplicate_of_link"] = c.root()+"/~"+b.Reporter, nil
	if b.DuplicateOf != 0 {
		e["duplicate_of_link"] = fmt.Sprintf("%s/bugs/%d", c.root(), b.DuplicateOf)
	}
	e["date_created"], e["date_last_updated"] = isoTime(b.Created), isoTime(b.updated())
	e["message_count"] = 1 + len(b.Messages)
	for _, name := range []string{"bug_tasks", "messages", "subscriptions"} {
		e[name+"_collection_link"] = c.root() + b.path() + "/" + name
	}
	return e
}

// taskPath returns the path of the target of a task. Task 0 is that of the bug's target, the others
// are those of series.
func (b *Bug) taskPath(task int) string {
	path := "/" + b.Distribution
	if task > 0 {
		path += "/" + b.Series[task-1].Series
	}
	if b.Package != "" {
		path += "/+source/" + escapePath(b.Package)
	}
	return path
}

func (b *Bug) task(c *call, task int) map[string]any {
	name, status, closed := displayName(b.Distribution), b.Status, b.Closed
	if task > 0 {
		series := b.Series[task-1]
		name, status, closed = name+" "+displayName(series.Series), series.Status, series.Closed
	}
	if b.Package != "" {
		name = b.Package + " (" + name + ")"
	}
	e := c.entry("bug_task", fmt.Sprintf("%s/+bug/%d", b.taskPath(task), b.Number))
	e["title"] = fmt.Sprintf("Bug #%d in %s: \"%s\"", b.Number, name, b.Title)
	e["bug_link"], e["target_link"] = c.root()+b.path(), c.root()+b.taskPath(task)
	e["bug_target_name"], e["bug_target_display_name"] = name, name
	e["status"], e["importance"] = status, cmp.Or(b.Importance, "Undecided")
	e["is_complete"] = slices.Contains(complete, status)
	e["owner_link"], e["assignee_link"] = c.root()+"/~"+b.Reporter, c.linkOr("/~", b.Assignee)
	e["milestone_link"] = c.linkOr("/"+b.Distribution+"/+milestone/", b.Milestone)
	e["date_created"], e["date_closed"], e["date_fix_released"] = isoTime(b.Created), isoTime(closed), nil
	if status == "Fix Released" {
		e["date_fix_released"] = isoTime(closed)
	}
	return e
}

// message returns the nth message of a bug. Message 0 is the description.
func (b *Bug) message(c *call, n int) map[string]any {
	m := Message{Owner: b.Reporter, Content: b.Description, Created: b.Created}
	if n > 0 {
		m = b.Messages[n-1]
	}
	e := c.entry("message", b.commentPath(n))
	e["owner_link"], e["content"], e["date_created"] = c.root()+"/~"+m.Owner, m.Content, isoTime(m.Created)
	e["subject"], e["parent_link"] = "Re: "+b.Title, nil
	return e
}

func (b *Bug) commentPath(n int) string {
	return fmt.Sprintf("%s/+bug/%d/comments/%d", b.taskPath(0), b.Number, n)
}

func (b *Bug) subscription(c *call, person, by string) map[string]any {
	e := c.entry("bug_subscription", b.path()+"/+subscription/"+person)
	delete(e, "web_link")
	e["bug_link"], e["date_created"] = c.root()+b.path(), isoTime(b.Created)
	e["person_link"], e["subscribed_by_link"] = c.root()+"/~"+person, c.root()+"/~"+by
	e["bug_notification_level"] = "Discussion"
	return e
}

func (c *call) personEntry(name string) map[string]any {
	e := c.entry("person", "/~"+name)
	e["name"], e["display_name"], e["is_team"], e["is_valid"] = name, name, false, true
	return e
}

// target returns a distribution, or a package at the path DISTRIBUTION/+source/PACKAGE.
func (c *call) target(path []string) map[string]any {
	self, title := "/"+path[0], displayName(path[0])
	if len(path) == 1 {
		e := c.entry("distribution", self)
		e["name"], e["display_name"], e["title"] = path[0], title, title
		e["main_archive_link"] = c.root() + archivePath
		return e
	}
	e := c.entry("distribution_source_package", self+"/+source/"+escapePath(path[2]))
	e["name"], e["display_name"], e["title"] = path[2], path[2]+" in "+title, path[2]+" package in "+title
	e["distribution_link"] = c.root() + self
	return e
}

// displayName returns a name for people, such as "Ubuntu".
func displayName(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
