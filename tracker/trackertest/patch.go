package trackertest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Attributes that PATCH can change. They form the second half of an entity tag, which If-Match
// compares.
var (
	writableBug = []string{
		"title", "description", "tags", "information_type", "private", "security_related", "duplicate_of_link",
	}
	writableTask = []string{"status", "importance", "assignee_link", "milestone_link"}
)

// statusReturned is a status of lazr.restful: the answer contains the changed entry.
const statusReturned = 209

// patch changes attributes of a bug or of one of its tasks. read returns the entry as JSON. set
// changes one attribute of a copy and returns a message about an invalid value.
func (s *Server) patch(c *call, bug *Bug, token *accessToken, kind string, read func(*Bug) map[string]any,
	set func(*Bug, string, any) string,
) response {
	before := read(bug)
	switch media, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); {
	case token == nil || !token.writes():
		return text(401, fmt.Sprintf("(<%s %d>, 'title', 'launchpad.Edit')", kind, bug.Number))
	case media != "application/json":
		return text(415, "")
	case !sameWritable(c.r.Header.Get("If-Match"), etag(before)):
		return text(412, "")
	}
	changes := map[string]any{}
	if err := json.Unmarshal(c.body, &changes); err != nil {
		return text(400, "Entity-body was not a well-formed JSON document.")
	}
	changed := bug.copied()
	changed.Tags, changed.Subscribers = slices.Clone(bug.Tags), slices.Clone(bug.Subscribers)
	var wrong []string
	for name, value := range changes {
		message := ""
		switch was, known := before[name]; {
		case !known:
			message = "You tried to modify a nonexistent attribute."
		case slices.Contains(writableBug, name) || slices.Contains(writableTask, name):
			message = set(&changed, name, value)
		case !sameJSON(was, value):
			message = "You tried to modify a read-only attribute."
		}
		if message != "" {
			wrong = append(wrong, name+": "+message)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return text(400, strings.Join(wrong, "\n")).with("Content-Type", "text/plain")
	}
	changed.settle(bug.copied(), s.now())
	*bug = changed
	s.save()
	r := object(read(bug))
	r.status = statusReturned
	return r
}

// sameWritable compares the second halves of two entity tags. An empty given tag matches all.
func sameWritable(given, tag string) bool {
	half := func(tag string) string {
		_, second, _ := strings.Cut(strings.TrimSuffix(strings.Trim(tag, `"`), "-gzip"), "-")
		return second
	}
	return given == "" || half(given) == half(tag)
}

func sameJSON(a, b any) bool {
	one, err1 := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(one) == string(two)
}

// setBug changes an attribute of a bug.
func (s *Server) setBug(c *call) func(*Bug, string, any) string {
	return func(b *Bug, name string, value any) (wrong string) {
		// The rules for values are those of createBug, which parses them from a form.
		raw, err := json.Marshal(value)
		if err != nil {
			return "not JSON"
		}
		form := url.Values{name: {string(raw)}}
		switch name {
		case "title":
			b.Title, wrong = title(form)
		case "description":
			b.Description, wrong = description(form)
		case "tags":
			b.Tags, wrong = tags(form)
		case "information_type":
			word, _ := value.(string)
			if !slices.Contains(forDistributions, word) {
				return fmt.Sprintf("Invalid value %q. Acceptable values are: %s", word, strings.Join(forDistributions, ", "))
			}
			b.InformationType = word
		case "private", "security_related":
			on, ok := value.(bool)
			if !ok {
				return fmt.Sprintf("got '%s', expected bool: %s", pyType(number(value)), pyRepr(number(value)))
			}
			private, security := b.private(), b.securityRelated()
			if name == "private" {
				private = on
			} else {
				security = on
			}
			b.InformationType = informationTypeOf(private, security)
		case "duplicate_of_link":
			b.DuplicateOf, wrong = s.duplicateOf(c, b, value)
		}
		return wrong
	}
}

// duplicateOf parses the link to the bug that another bug duplicates.
func (s *Server) duplicateOf(c *call, b *Bug, value any) (number int64, wrong string) {
	if value == nil {
		return 0, ""
	}
	link, _ := value.(string)
	path, wrong := s.resolve(c, link)
	if wrong != "" {
		return 0, wrong
	}
	var master *Bug
	if len(path) == 2 && path[0] == "bugs" {
		number, _ = strconv.ParseInt(path[1], 10, 64) // 0 is not a bug
		master = s.state.bug(number)
	}
	switch {
	case master == nil || number == b.Number:
		return 0, fmt.Sprintf("No such object %q.", link)
	case master.DuplicateOf != 0:
		return 0, fmt.Sprintf("Bug %d is already a duplicate of bug %d. You can only mark a bug report as duplicate "+
			"of one that "+
			"isn&#x27;t a duplicate itself.", master.Number, master.DuplicateOf)
	}
	return number, ""
}

// setTask changes an attribute of a task. series is the index of the task's series, or -1 for the
// main task.
func (s *Server) setTask(c *call, series int) func(*Bug, string, any) string {
	return func(b *Bug, name string, value any) (wrong string) {
		word, _ := value.(string)
		allowed := map[string][]string{"status": statuses, "importance": importances}[name]
		if allowed != nil && !slices.Contains(allowed, word) {
			return fmt.Sprintf("Invalid value %q. Acceptable values are: %s", word, strings.Join(allowed, ", "))
		}
		switch name {
		case "status":
			if series >= 0 {
				b.Series[series].Status = word
			} else {
				b.Status = word
			}
		case "importance":
			b.Importance = word
		case "assignee_link":
			b.Assignee, wrong = s.named(c, value, "~")
		case "milestone_link":
			b.Milestone, wrong = s.named(c, value, "")
		}
		return wrong
	}
}

// named parses a link to a person or a milestone and returns its name. null means nobody.
func (s *Server) named(c *call, value any, prefix string) (name, wrong string) {
	if value == nil {
		return "", ""
	}
	link, _ := value.(string)
	path, wrong := s.resolve(c, link)
	if wrong != "" {
		return "", wrong
	}
	name, ok := strings.CutPrefix(path[len(path)-1], prefix)
	if !ok || prefix != "" && len(path) != 1 {
		return "", fmt.Sprintf("No such object %q.", link)
	}
	return name, ""
}

// method returns the method of a request. A POST may stand for another method.
func (c *call) method() string {
	if over := c.r.Header.Get("X-HTTP-Method-Override"); over != "" && c.r.Method == http.MethodPost {
		return over
	}
	return c.r.Method
}
