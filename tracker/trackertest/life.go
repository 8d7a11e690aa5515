package trackertest

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is a comment on a bug. The description is the first message.
type Message struct {
	Owner   string
	Content string
	Created time.Time
}

// SeriesTask is the state of a bug in one series of its distribution.
type SeriesTask struct {
	Series string // codename
	Status string
	Closed time.Time
}

// Janitor is the name of the tracker's own account.
const Janitor = "janitor"

var importances = []string{"Undecided", "Critical", "High", "Medium", "Low", "Wishlist"}

// Janitor closes a bug as an upload would. It adds a message that names the version and the series.
func (b *Bug) Janitor(version, series string) {
	b.Status = "Fix Released"
	b.Messages = append(b.Messages, Message{Owner: Janitor, Content: fmt.Sprintf(
		"This bug was fixed in the package %s - %s\n\n---------------\n%s (%s) %s; urgency=medium\n\n  * Practice makes "+
			"perfect.\n",
		b.Package, version, b.Package, version, series)})
}

// settle updates the dates after a change.
func (b *Bug) settle(before Bug, now time.Time) {
	b.Updated = now
	b.Closed = closing(b.Closed, before.Status, b.Status, now)
	for i := range b.Series {
		was := ""
		if i < len(before.Series) {
			was = before.Series[i].Status
		}
		b.Series[i].Closed = closing(b.Series[i].Closed, was, b.Series[i].Status, now)
	}
	for i := range b.Messages {
		if b.Messages[i].Created.IsZero() {
			b.Messages[i].Created = now
		}
	}
}

func closing(closed time.Time, before, status string, now time.Time) time.Time {
	switch {
	case !slices.Contains(complete, status):
		return time.Time{}
	case status != before || closed.IsZero():
		return now
	}
	return closed
}

// copied returns a copy that shares no lists with b.
func (b *Bug) copied() Bug {
	c := *b
	c.Series, c.Messages = slices.Clone(b.Series), slices.Clone(b.Messages)
	return c
}

func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return isoTime(t)
}

// tasks returns the tasks of a bug: the one of its target, then those of series.
func (b *Bug) tasks(c *call) []any {
	out := []any{b.taskJSON(c)}
	for i, t := range b.Series {
		entry := b.taskJSON(c)
		path := b.taskPath(i)
		name := fmt.Sprintf("%s (%s %s)", b.Package, displayName(b.Distribution), displayName(t.Series))
		for key, value := range map[string]any{
			"self_link": fmt.Sprintf("%s%s/+bug/%d", c.root(), path, b.Number), "target_link": c.root() + path,
			"bug_target_name": name, "bug_target_display_name": name, "status": t.Status,
			"is_complete": slices.Contains(complete, t.Status), "date_closed": when(t.Closed), "date_fix_released": nil,
		} {
			entry[key] = value
		}
		if t.Status == "Fix Released" {
			entry["date_fix_released"] = when(t.Closed)
		}
		out = append(out, entry)
	}
	return out
}

// taskPath returns the path of a task's target: the bug's target, or one series of it.
func (b *Bug) taskPath(series int) string {
	if series < 0 {
		return b.targetPath()
	}
	return "/" + b.Distribution + "/" + b.Series[series].Series + strings.TrimPrefix(b.targetPath(), "/"+b.Distribution)
}

func (b *Bug) messages(c *call) []any {
	var out []any
	for i, m := range append([]Message{{Owner: b.Reporter, Content: b.Description, Created: b.Created}}, b.Messages...) {
		path := fmt.Sprintf("%s/+bug/%d/comments/%d", b.targetPath(), b.Number, i)
		out = append(out, map[string]any{
			"self_link": c.root() + path, "web_link": c.origin + path, "resource_type_link": c.root() + "/#message",
			"owner_link": c.root() + "/~" + m.Owner,
			"subject":    "Re: " + b.Title, "content": m.Content, "date_created": isoTime(m.Created), "parent_link": nil,
		})
	}
	return out
}

// newMessage adds a comment.
func (s *Server) newMessage(c *call, b *Bug, token *accessToken) response {
	if token == nil || !token.writes() {
		return text(401, fmt.Sprintf("(<Bug %d>, 'newMessage', 'launchpad.Append')", b.Number))
	}
	content, ok := textParam(c.form, "content")
	if !ok {
		return text(400, "content: "+missing)
	}
	b.Messages = append(b.Messages, Message{Owner: token.Person, Content: content, Created: s.now()})
	b.Updated = s.now()
	s.save()
	return text(201, "").with("Location", fmt.Sprintf("%s%s/+bug/%d/comments/%d", c.root(), b.targetPath(), b.Number,
		len(b.Messages)))
}

// list returns one page of a collection.
func (s *Server) list(c *call, kind string, all []any) response {
	size, start, wrong := s.pageSize(c)
	if wrong != nil {
		return *wrong
	}
	return s.collection(c, kind, all, start, size)
}

// edit applies the form of a bug's page, or returns a message about an invalid value.
func (s *Server) edit(b *Bug, form url.Values) (wrong string) {
	before, now := b.copied(), s.now()
	changed := b.copied()
	for name, field := range map[string]struct {
		value   *string
		allowed []string
	}{
		"status":           {&changed.Status, statuses},
		"importance":       {&changed.Importance, importances},
		"information_type": {&changed.InformationType, forDistributions},
	} {
		value := form.Get(name)
		switch {
		case value == "":
		case !slices.Contains(field.allowed, value):
			return fmt.Sprintf("%s: %q is not one of %s", name, value, strings.Join(field.allowed, ", "))
		default:
			*field.value = value
		}
	}
	if form.Has("description") {
		if changed.Description = strings.ReplaceAll(form.Get("description"), "\r\n", "\n"); changed.Description == "" {
			return "description: a description is needed"
		}
	}
	if form.Has("duplicate_of") {
		n, err := strconv.ParseInt(strings.TrimSpace(form.Get("duplicate_of")), 10, 64)
		master := s.state.bug(n)
		switch {
		case strings.TrimSpace(form.Get("duplicate_of")) == "":
			changed.DuplicateOf = 0
		case err != nil || master == nil || master == b || master.DuplicateOf != 0:
			return "duplicate_of: a bug that is itself no duplicate is needed"
		default:
			changed.DuplicateOf = n
		}
	}
	if series, status := form.Get("series"), form.Get("series_status"); series != "" {
		if !slices.Contains(statuses, status) || b.Package == "" {
			return "series_status: a status is needed, and a package"
		}
		i := slices.IndexFunc(changed.Series, func(t SeriesTask) bool { return t.Series == series })
		if i < 0 {
			changed.Series = append(changed.Series, SeriesTask{Series: series})
			i = len(changed.Series) - 1
		}
		changed.Series[i].Status = status
	}
	if version := strings.TrimSpace(form.Get("fixed_in")); version != "" {
		changed.Janitor(version, cmp.Or(form.Get("series"), "resolute"))
	}
	if comment := strings.TrimSpace(form.Get("comment")); comment != "" {
		changed.Messages = append(changed.Messages, Message{Owner: s.opts.Person, Content: comment})
	}
	changed.settle(before, now)
	*b = changed
	s.save()
	return ""
}
