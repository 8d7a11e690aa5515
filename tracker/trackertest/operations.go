package trackertest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
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
	return s.subscribe(c, p, bug)
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

func (s *Server) subscribe(c *call, p *params, b *Bug) response {
	person := p.person(c, "person")
	if p.wrong != nil {
		return p.refusal()
	}
	if !slices.Contains(b.Subscribers, person) {
		b.Subscribers = append(b.Subscribers, person)
		s.save()
	}
	return object(c.entry("bug_subscription", b.path()+"/+subscription/"+person))
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
	return object(c.sourcePackageEntry(name))
}

func bare(v any) response {
	b, err := json.Marshal(v)
	if err != nil {
		return text(500, "TypeError")
	}
	return text(200, string(b)).with("Content-Type", "application/json")
}

func object(entry map[string]any) response {
	entry["http_etag"] = etag(entry)
	return bare(entry).with("ETag", etag(entry))
}

// etag returns an entity tag of the attributes that PATCH can change, which is what If-Match compares.
func etag(entry map[string]any) string {
	b, _ := json.Marshal([]any{entry["title"], entry["description"], entry["tags"], entry["information_type"]})
	return fmt.Sprintf(`"practice-%x"`, sha256.Sum256(b))
}

func (s *Server) list(c *call, all []any) response {
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
	end := min(start+size, len(all))
	page := map[string]any{"start": start, "entries": slices.Concat([]any{}, all[min(start, end):end])} // not null
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

func (c *call) entry(kind, path string) map[string]any {
	return map[string]any{
		"self_link": c.root() + path, "web_link": c.origin + path, "resource_type_link": c.root() + "/#" + kind,
	}
}

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
	e["id"], e["title"], e["description"] = b.Number, b.Title, b.Description
	e["tags"] = slices.Concat([]string{}, b.Tags) // not null
	e["information_type"], e["private"] = b.InformationType, b.private()
	e["owner_link"], e["duplicate_of_link"] = c.root()+"/~"+b.Reporter, nil
	if b.DuplicateOf != 0 {
		e["duplicate_of_link"] = fmt.Sprintf("%s/bugs/%d", c.root(), b.DuplicateOf)
	}
	e["message_count"] = 1 + len(b.Messages)
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
	e["bug_target_display_name"] = name
	e["status"], e["importance"] = status, cmp.Or(b.Importance, "Undecided")
	e["is_complete"] = slices.Contains(complete, status)
	e["assignee_link"] = c.linkOr("/~", b.Assignee)
	e["milestone_link"] = c.linkOr("/"+b.Distribution+"/+milestone/", b.Milestone)
	e["date_closed"], e["date_fix_released"] = isoTime(closed), nil
	if status == "Fix Released" {
		e["date_fix_released"] = isoTime(closed)
	}
	return e
}

// message returns the nth message of a bug. Message 0 is the description.
func (b *Bug) message(c *call, n int) map[string]any {
	m := Message{Owner: b.Reporter, Content: b.Description}
	if n > 0 {
		m = b.Messages[n-1]
	}
	e := c.entry("message", b.commentPath(n))
	e["owner_link"], e["content"] = c.root()+"/~"+m.Owner, m.Content
	return e
}

func (b *Bug) commentPath(n int) string {
	return fmt.Sprintf("%s/+bug/%d/comments/%d", b.taskPath(0), b.Number, n)
}

func (c *call) personEntry(name string) map[string]any {
	e := c.entry("person", "/~"+name)
	e["name"] = name
	return e
}

func (c *call) sourcePackageEntry(name string) map[string]any {
	e := c.entry("distribution_source_package", "/"+distribution+"/+source/"+escapePath(name))
	e["name"] = name
	return e
}

func displayName(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func htmlPage(t *template.Template, data any) response {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return text(500, "error in a page of the practice tracker")
	}
	return text(200, b.String()).with("Content-Type", "text/html;charset=utf-8").with("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
}

func (s *Server) page(c *call) response {
	switch c.r.URL.Path {
	case "/":
		return htmlPage(indexTemplate, s.state.Bugs)
	case "/+style.css":
		return text(200, style).with("Content-Type", "text/css;charset=utf-8")
	}
	var bug *Bug
	if n := len(c.parts); n > 1 && (c.parts[n-2] == "+bug" || n == 2 && c.parts[0] == "bugs") {
		number, _ := strconv.ParseInt(c.parts[n-1], 10, 64) // 0 is not a bug
		bug = s.state.bug(number)
	}
	switch {
	case bug == nil:
		return text(404, "Lost something? There is no such page on this tracker.")
	case c.r.Method == http.MethodPost:
		if wrong := s.edit(bug, c.form); wrong != "" {
			return text(400, wrong)
		}
		return text(303, "").with("Location", c.r.URL.EscapedPath())
	}
	return htmlPage(bugTemplate, bugPage{bug, statuses})
}

func (s *Server) edit(b *Bug, form url.Values) (wrong string) {
	status := form.Get("status")
	if status != "" && !slices.Contains(statuses, status) {
		return fmt.Sprintf("status: Invalid value %q.", status)
	}
	s.change(b, func(b *Bug) {
		if status != "" {
			b.Status = status
		}
		if version := form.Get("fixed_in"); version != "" {
			b.Janitor(version, "noble")
		}
		if comment := form.Get("comment"); comment != "" {
			b.Messages = append(b.Messages, Message{Owner: s.opts.Person, Content: comment})
		}
	})
	return ""
}

type bugPage struct {
	*Bug
	Statuses []string
}

// authorizePage is the data of the page on which a person decides: either a message or the levels.
type authorizePage struct {
	Token, Person, Consumer, Message string
	Levels                           []level
}

const (
	pageTop = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Practice tracker</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/+style.css"></head><body>
<header><a href="/">Practice tracker</a> – nothing here is real, and nobody gets mail</header><main>`
	pageBottom = `</main></body></html>
`
	style = `body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #222; background: #fff }
header { border-bottom: 1px solid #ccc; padding-bottom: .5rem; color: #555 }
pre { background: #f4f4f4; padding: 1rem; overflow: auto; white-space: pre-wrap }
dt { font-weight: bold } button { font: inherit; padding: .4rem .8rem }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }
`
)

var (
	authorizeTemplate = template.Must(template.New("authorize").Parse(pageTop + `
<h1>Authorize application to access Launchpad on your behalf</h1>
{{if .Message}}<p>{{.Message}}</p>{{else}}
<p>The application identified as <b>{{.Consumer}}</b> wants to act for you.
To file bugs it needs "Change Non-Private Data".</p>
<form method="post" action="/+authorize-token">
<p><label>You are <input name="person" value="{{.Person}}" maxlength="100" autocomplete="off"></label></p>
<input type="hidden" name="oauth_token" value="{{.Token}}">
{{range .Levels}}<p><button type="submit" name="field.actions.{{.Value}}" value="{{.Title}}">{{.Title}}</button></p>
{{end}}</form>{{end}}
` + pageBottom))
	indexTemplate = template.Must(template.New("index").Parse(pageTop + `
<h1>Bugs</h1>
{{if .}}<table><tr><th>Number</th><th>Title</th><th>Package</th><th>Reporter</th></tr>
{{range .}}<tr><td><a href="/bugs/{{.Number}}">{{.Number}}</a></td><td>{{.Title}}</td>
<td>{{.Package}}</td><td>{{.Reporter}}</td></tr>
{{end}}</table>{{else}}<p>No bugs have been filed yet.</p>{{end}}
` + pageBottom))
	bugTemplate = template.Must(template.New("bug").Parse(pageTop + `
<h1>Bug #{{.Number}}: {{.Title}}</h1>
<dl>
<dt>Reported by</dt><dd>{{.Reporter}}, <time>{{.Created.Format "2006-01-02 15:04:05 UTC"}}</time></dd>
<dt>Affects</dt><dd>{{if .Package}}{{.Package}} ({{.Distribution}}){{else}}{{.Distribution}}{{end}}: {{.Status}}</dd>
{{range .Series}}<dt>In {{.Series}}</dt><dd>{{.Status}}</dd>{{end}}
<dt>Importance</dt><dd>{{or .Importance "Undecided"}}</dd>
<dt>Information type</dt><dd>{{.InformationType}}</dd>
<dt>Tags</dt><dd>{{range .Tags}}{{.}} {{else}}none{{end}}</dd>
<dt>Subscribers</dt><dd>{{range .Subscribers}}{{.}} {{end}}</dd>
{{with .DuplicateOf}}<dt>Duplicate of</dt><dd><a href="/bugs/{{.}}">{{.}}</a></dd>{{end}}
</dl>
<h2>Bug description</h2>
<pre>{{.Description}}</pre>
{{range .Messages}}<h2>{{.Owner}}, <time>{{.Created.Format "2006-01-02 15:04:05 UTC"}}</time></h2>
<pre>{{.Content}}</pre>
{{end}}<h2>Change</h2>
<form method="post">
{{$b := .}}<p><label>Status <select name="status">
{{range .Statuses}}<option{{if eq . $b.Status}} selected{{end}}>{{.}}</option>{{end}}</select></label></p>
{{if .Package}}<p><label>Fixed by an upload of version <input name="fixed_in"></label>
(closes the bug with the message that names the version)</p>
{{end}}<p><label>Comment<br><textarea name="comment" rows="3" cols="60"></textarea></label></p>
<p><button>Save</button></p>
</form>
` + pageBottom))
)

type query struct {
	target     []string // nil: all bugs
	statuses   []string
	reporter   string
	since      time.Time
	modified   time.Time
	duplicates bool // include duplicates
	words      []string
	order      string
	token      *accessToken
}

func (c *call) readQuery(p *params, token *accessToken) query {
	q := query{token: token, statuses: openStatuses, order: "id",
		duplicates: p.Get("omit_duplicates") == "false"}
	if c.parts[0] != "bugs" {
		q.target = c.parts
	}
	if p.Has("status") {
		q.statuses = p.list("status")
		for _, status := range q.statuses {
			p.choice("status", status, statuses)
		}
	}
	if p.Has("bug_reporter") {
		q.reporter = p.person(c, "bug_reporter")
	}
	if p.Has("created_since") {
		q.since = p.time("created_since")
	}
	if p.Has("modified_since") {
		q.modified = p.time("modified_since")
	}
	if p.Has("search_text") {
		q.words = strings.Fields(strings.ToLower(p.text("search_text")))
	}
	if p.Has("order_by") {
		q.order = p.list("order_by")[0]
	}
	return q
}

func (q query) matches(b *Bug) bool {
	switch {
	case q.target != nil && (b.Distribution != q.target[0] || len(q.target) == 3 && b.Package != q.target[2]),
		!q.token.sees(b),
		!slices.Contains(q.statuses, b.Status),
		b.DuplicateOf != 0 && !q.duplicates,
		q.reporter != "" && b.Reporter != q.reporter,
		!q.since.IsZero() && !b.Created.After(q.since),
		!q.modified.IsZero() && !b.updated().After(q.modified):
		return false
	}
	text := strings.ToLower(b.Title + " " + b.Description)
	return !slices.ContainsFunc(q.words, func(word string) bool { return !strings.Contains(text, word) })
}

func (s *Server) search(c *call, token *accessToken) response {
	if c.parts[0] != "bugs" && !s.exists(c.parts) {
		return notFound(c.parts[len(c.parts)-1])
	}
	p := &params{Values: c.query}
	q := c.readQuery(p, token)
	order, newestFirst := strings.CutPrefix(q.order, "-")
	if order != "id" && order != "datecreated" {
		p.refuse("order_by", "practice: cannot order by %s", q.order)
	}
	if p.wrong != nil {
		return p.refusal()
	}
	var found []*Bug
	for _, b := range s.state.Bugs {
		if q.matches(b) {
			found = append(found, b)
		}
	}
	if newestFirst {
		slices.Reverse(found)
	}
	entries := make([]any, len(found))
	for i, b := range found {
		entries[i] = b.task(c, 0)
	}
	return s.list(c, entries)
}

// Archive is what the distribution has published, with package sets and subscriptions.
type Archive struct {
	Sources       map[string][]crash.Publication // by source package: what is published now
	Superseded    map[string][]crash.Publication // what was published in the past
	Binaries      map[string][]crash.Publication // by binary package
	Sets          map[string][]string            // by codename, slash, name: source packages
	Subscriptions map[string][]string            // by person or team: source packages
}

// archivePath is the path of the main archive.
const archivePath = "/" + distribution + "/+archive/primary"

// archive answers operations on the archive, package sets and subscriptions, which are public.
func (s *Server) archive(c *call) response {
	var a Archive
	if s.opts.Archive != nil {
		a = *s.opts.Archive
	}
	p, path := &params{Values: c.query}, strings.Join(c.parts, "/")
	list := []any{}
	switch {
	case c.name == "getSourcesIncluded":
		set, ok := a.Sets[strings.TrimPrefix(path, "package-sets/"+distribution+"/")]
		if !ok {
			return notFound(path)
		}
		return bare(set)
	case c.name == "getBugSubscriberPackages":
		packages, ok := a.Subscriptions[strings.TrimPrefix(path, "~")]
		if !ok {
			return notFound(path)
		}
		for _, pkg := range packages {
			list = append(list, c.sourcePackageEntry(pkg))
		}
		return s.list(c, list)
	case "/"+path != archivePath:
		return notFound(path)
	case c.name == "getPublishedBinaries":
		name := p.text("binary_name")
		for _, pub := range a.Binaries[name] {
			list = append(list, c.publishedBinary(pub))
		}
	default:
		name, version := p.text("source_name"), ""
		if p.Has("version") {
			version = p.text("version")
		}
		published := a.Sources[name]
		if !p.Has("status") {
			published = slices.Concat(published, a.Superseded[name])
		}
		if s.opts.Archive == nil && version != "" {
			published = []crash.Publication{{Series: "noble", Pocket: "Updates", Version: version}}
		}
		for _, pub := range published {
			if version == "" || pub.Version == version {
				list = append(list, c.publishedSource(pub))
			}
		}
	}
	if p.wrong != nil {
		return p.refusal()
	}
	return s.list(c, list)
}

func (c *call) publishedSource(pub crash.Publication) map[string]any {
	e := c.entry("source_package_publishing_history", archivePath+"/+sourcepub/1")
	e["source_package_version"], e["pocket"] = pub.Version, pub.Pocket
	e["distro_series_link"] = c.root() + "/" + distribution + "/" + pub.Series
	return e
}

func (c *call) publishedBinary(pub crash.Publication) map[string]any {
	e := c.entry("binary_package_publishing_history", archivePath+"/+binarypub/1")
	e["binary_package_version"], e["pocket"], e["source_package_name"] = pub.Version, pub.Pocket, pub.Source
	e["distro_arch_series_link"] = c.root() + "/" + distribution + "/" + pub.Series + "/" + pub.Architecture
	return e
}
