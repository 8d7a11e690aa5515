package index

import (
	"slices"
	"strings"
)

// me is the value of the field assignee that stands for the person who searches.
const me = "me"

// assignee returns a match for who takes care of a problem. A name without a tilde also matches
// that name at the tracker. "me" matches nothing until [Query.For] says who that is.
func assignee(_, value string) (func(*Problem) bool, string) {
	switch strings.ToLower(value) {
	case me:
		return func(*Problem) bool { return false }, ""
	case "none":
		return func(p *Problem) bool { return p.Assignee().Name == "" }, ""
	case "any":
		return func(p *Problem) bool { return p.Assignee().Name != "" }, ""
	}
	is := glob(value)
	return func(p *Problem) bool {
		name := p.Assignee().Name
		return name != "" && (is(name) || is(strings.TrimPrefix(name, "~")))
	}, ""
}

// tag returns a match for problems with a tag.
func tag(_, value string) (func(*Problem) bool, string) {
	switch strings.ToLower(value) {
	case "none":
		return func(p *Problem) bool { return len(p.Tags()) == 0 }, ""
	case "any":
		return func(p *Problem) bool { return len(p.Tags()) > 0 }, ""
	}
	is := glob(value)
	return func(p *Problem) bool { return slices.ContainsFunc(p.Tags(), is) }, ""
}

// For returns the query as a person with these names asks it: "assignee:me" matches problems that
// are assigned to one of the names. Names at the tracker begin with a tilde.
func (q Query) For(names []string) Query {
	if !q.Personal() {
		return q
	}
	q.node = bind(q.node, names)
	q.person = strings.ToLower(strings.Join(names, " "))
	return q
}

// Personal reports whether the query depends on the person who asks it.
func (q Query) Personal() bool { return q.node != nil && mentionsMe(q.node) }

func (n term) isMe() bool { return n.field == "assignee" && strings.EqualFold(n.value, me) }

func mentionsMe(n node) bool {
	switch n := n.(type) {
	case allOf:
		return slices.ContainsFunc(n, mentionsMe)
	case anyOf:
		return slices.ContainsFunc(n, mentionsMe)
	case not:
		return mentionsMe(n.node)
	case term:
		return n.isMe()
	}
	return false
}

// bind returns a copy of a node in which "assignee:me" means the names.
func bind(n node, names []string) node {
	bindAll := func(parts []node) []node {
		bound := make([]node, len(parts))
		for i, part := range parts {
			bound[i] = bind(part, names)
		}
		return bound
	}
	switch n := n.(type) {
	case allOf:
		return allOf(bindAll(n))
	case anyOf:
		return anyOf(bindAll(n))
	case not:
		return not{bind(n.node, names)}
	case term:
		if n.isMe() {
			n.holds = func(p *Problem) bool { return p.AssignedTo(names) }
		}
		return n
	}
	return n
}
