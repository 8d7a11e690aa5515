package mcp

import (
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/events"
)

var inbox = definition{
	name: "inbox", title: "Inbox",
	description: "The notices of the account of the token, newest first: what happened to problems that it follows or " +
		"is responsible for. Use it to learn what needs attention. Reading them here does not mark them as read.",
	access: reading,
	full:   limits{items: maxNotices, line: 400, text: 400},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["package"], maxName)
		words := []string{""}
		for _, kind := range crash.EventKinds {
			words = append(words, string(kind))
		}
		oneOf(in["kind"], "", words...)
		between(in["limit"], 1, maxNotices, 20)
		between(in["before"], 0, 1<<53, 0)
	},
}

const maxNotices = 50

type inboxQuestion struct {
	Unread  bool   `json:"unread,omitempty" jsonschema:"only unread notices"`
	Kind    string `json:"kind,omitempty" jsonschema:"only notices of this kind; empty: all"`
	Package string `json:"package,omitempty" jsonschema:"only notices about this binary or source package"`
	Limit   int    `json:"limit,omitempty"`
	Before  int64  `json:"before,omitempty" jsonschema:"next of the answer before, to continue"`
}

type notice struct {
	ID       int64  `json:"id"`
	At       string `json:"at"`
	Kind     string `json:"kind"`
	Read     bool   `json:"read"`
	Problem  string `json:"problem,omitempty" jsonschema:"id"`
	Link     string `json:"link,omitempty" jsonschema:"the page on which to act"`
	Machines int64  `json:"machines,omitempty"`

	Untrusted struct {
		Title   string `json:"title"`
		Text    string `json:"text"`
		Package string `json:"package,omitempty"`
		Release string `json:"release,omitempty"`
		Version string `json:"version,omitempty"`
		Reason  string `json:"reason,omitempty" jsonschema:"why the account gets it"`
	} `json:"untrusted"`
}

type inboxAnswer struct {
	answer
	Link    string   `json:"link"`
	Unread  int64    `json:"unread" jsonschema:"number of all unread notices, counted up to a limit"`
	Notices []notice `json:"notices"`
	Next    int64    `json:"next,omitempty" jsonschema:"send it as before to get older notices"`
}

func (s *Server) inbox(r *http.Request, in inboxQuestion) (func(*pen) inboxAnswer, error) {
	user := web.CurrentUser(r).ID
	filter := crash.NoticeFilter{Kind: crash.EventKind(in.Kind), Package: strings.TrimSpace(in.Package),
		Unread: in.Unread, Before: in.Before}
	if strings.ContainsRune(filter.Package, 0) {
		return nil, web.ErrBadCursor
	}
	all, err := s.Events.Inbox(r.Context(), user, filter, in.Limit+1)
	if err != nil {
		return nil, err
	}
	unread, err := s.Events.Unread(r.Context(), user)
	if err != nil {
		return nil, err
	}
	more := len(all) > in.Limit
	all = all[:min(len(all), in.Limit)]
	return func(p *pen) inboxAnswer {
		filter.Before = 0
		out := inboxAnswer{Link: s.base + view.InboxURL(crash.NoticeFilter{Unread: in.Unread}), Unread: unread,
			Notices: []notice{}}
		some := shown(p, all, "notices")
		for _, n := range some {
			e := n.Event
			one := notice{ID: n.ID, At: stamp(n.At), Kind: string(e.Kind), Read: !n.Read.IsZero(), Machines: e.Machines}
			if e.Bucket != nil {
				one.Problem = e.Bucket.String()
			}
			if path := e.Path(); path != "" {
				one.Link = s.base + path
			}
			u := &one.Untrusted
			u.Title, u.Text, u.Reason = p.line(e.Title), p.line(e.Text), p.line(n.Reason)
			u.Package, u.Release, u.Version = p.line(e.Package), p.line(string(e.Release)), p.line(e.Version)
			out.Notices = append(out.Notices, one)
		}
		if n := len(some); n > 0 && (more || n < len(all)) {
			out.Next = some[n-1].ID
		}
		out.answer = p.answer("Ask again with before = next.")
		return out
	}, nil
}
