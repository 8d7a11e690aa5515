package trackertest

import (
	"slices"
	"strings"
	"time"
)

// query is a parsed search.
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

// readQuery parses the parameters of a search. It silently ignores unknown ones.
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

// search returns one page of the tasks of matching bugs.
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
	return s.list(c, "bug_task", entries)
}
