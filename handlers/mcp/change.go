package mcp

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views/layout"
)

// changed is the answer of tools that change something. It contains nothing that machines sent.
type changed struct {
	answer
	Done    string `json:"done" jsonschema:"what happened"`
	Problem string `json:"problem" jsonschema:"id"`
	Link    string `json:"link" jsonschema:"the page that shows it"`
}

func (s *Server) changed(b crash.Bucket, done, link string) func(*pen) changed {
	return func(p *pen) changed {
		return changed{answer: p.answer(""), Done: done, Problem: b.ID.String(), Link: s.base + link}
	}
}

// ofProblem returns the problem that a tool changes, with its status.
func (s *Server) ofProblem(r *http.Request, text string) (crash.Bucket, error) {
	id, err := problemID(text)
	if err != nil {
		return crash.Bucket{}, err
	}
	return s.panel.Bucket(r.Context(), id)
}

// toTriage is ofProblem for callers who may decide about the problem.
func (s *Server) toTriage(r *http.Request, text string) (crash.Bucket, error) {
	b, err := s.ofProblem(r, text)
	if err != nil {
		return b, err
	}
	if err := web.CheckTriage(r, b.SourcePackage); err != nil {
		return b, errNoTriager // the other one names the package, as machines do
	}
	return b, nil
}

var errNoTriager = crash.Errorf(crash.Forbidden, "role_of_package",
	"This needs the role triager for the package of the problem. Ask an administrator for it.")

var writeNote = definition{
	name: "note", title: "Write a note",
	description: "Write a note about a problem, which everyone who may read reports sees on its page. @name tells a " +
		"person. Use it for findings that help the people who work on the problem; they see it as a note of the account.",
	access: assisting,
	full:   limits{items: 1, line: 200, text: 200},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["problem"], maxReference)
		longest(in["text"], crash.MaxNote)
	},
}

type noteQuestion struct {
	Problem string `json:"problem" jsonschema:"id of the problem, 40 hexadecimal digits, or the address of its page"`
	Text    string `json:"text" jsonschema:"plain text"`
}

func (s *Server) note(r *http.Request, in noteQuestion) (func(*pen) changed, error) {
	b, err := s.ofProblem(r, in.Problem)
	if err != nil {
		return nil, err
	}
	id, err := s.People.AddNote(r.Context(), b.ID, in.Text, web.CurrentUser(r).Name)
	if err != nil {
		return nil, err
	}
	return s.changed(b, "Note "+strconv.FormatInt(id, 10)+" saved.", b.ID.Path()+"#notes"), nil
}

var assignProblem = definition{
	name: "assign", title: "Assign a problem",
	description: "Assign a problem to an account, to ~name at the bug tracker, to the account of the token (me), or to " +
		"nobody (an empty text). Needs the role triager for the package. If the problem's bug has an assignee in the " +
		"tracker, that one applies, and the call is refused.",
	access: assisting, again: true,
	full: limits{items: 1, line: 200, text: 200},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["problem"], maxReference)
		longest(in["assignee"], maxName)
	},
}

type assignQuestion struct {
	Problem  string `json:"problem" jsonschema:"id of the problem, 40 hexadecimal digits, or the address of its page"`
	Assignee string `json:"assignee" jsonschema:"name of an account, ~name at the tracker, me, or empty for nobody"`
}

func (s *Server) assign(r *http.Request, in assignQuestion) (func(*pen) changed, error) {
	b, err := s.toTriage(r, in.Problem)
	if err != nil {
		return nil, err
	}
	person := web.CurrentUser(r).Name
	name := strings.TrimSpace(in.Assignee)
	if name == "me" {
		name = person
	}
	stored, err := s.Problems.Assign(r.Context(), crash.Assignment{Bucket: b.ID, Assignee: name, By: person})
	if err != nil {
		return nil, err
	}
	done := "Assigned to " + stored.Assignee + "."
	switch {
	case stored.ID == 0:
		done = "Nothing changed: it was already assigned that way."
	case stored.Assignee == "":
		done = "Assigned to nobody."
	}
	return s.changed(b, done, b.ID.Path()), nil
}

var proposeBug = definition{
	name: "propose_bug", title: "Propose a bug",
	description: "Propose to file a bug for a problem. This files nothing: the proposal waits with its reason on a page " +
		"where triagers approve or decline it. Needs the role triager for the package. Look at problem and similar first: " +
		"problems with a bug are refused.",
	access: assisting, again: true,
	full: limits{items: 1, line: 200, text: 200},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["problem"], maxReference)
		longest(in["reason"], crash.MaxReason)
	},
}

type proposeQuestion struct {
	Problem string `json:"problem" jsonschema:"id of the problem, 40 hexadecimal digits, or the address of its page"`
	Reason  string `json:"reason" jsonschema:"why a bug helps, in one line, for the person who decides"`
}

var errFilingOff = crash.Errorf(crash.Forbidden, "filing_off",
	"Creating bugs is switched off (allow_bug_filing), so nobody could approve a proposal.")

func (s *Server) proposeBug(r *http.Request, in proposeQuestion) (func(*pen) changed, error) {
	b, err := s.toTriage(r, in.Problem)
	switch {
	case err != nil:
		return nil, err
	case !s.web.Config.AllowBugFiling:
		return nil, errFilingOff
	case b.NoFiling() != "":
		return nil, crash.Errorf(crash.Unprocessable, "cannot_file", "%s", b.NoFiling())
	}
	c, err := s.Events.ProposeBug(r.Context(), b, in.Reason, web.CurrentUser(r).Name)
	if err != nil {
		return nil, err
	}
	return s.changed(b, "Proposed as candidate "+strconv.FormatInt(c.ID, 10)+". No bug is filed until a triager "+
		"approves it.", layout.PathCandidates), nil
}
