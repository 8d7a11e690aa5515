// Package query is the language of searches: words, and fields with values, such as
//
//	package:zsh release:"Ubuntu 24.04" frame:parse_row seen:>=5.9 -state:fixed
//
// Terms that stand side by side must all hold; OR stands between alternatives, parentheses group, "-" in front says that a
// term must not hold. It is the same on the search page, in the API and in exports. Pure: nothing is looked up anywhere.
package query

import (
	"cmp"
	"strings"
	"unicode"

	"mishap/crash/index"
)

// MaxLength is how long a query may be, in bytes.
const MaxLength = 2000

// Query is a search that has been understood. The zero value finds everything.
type Query struct {
	node node

	// What the query says about when and where reports were counted. It narrows what a list counts,
	// not only which problems the list has. A query can say Release, Version, Architecture and the
	// days.
	counted            index.Filter
	hasSince, hasUntil bool
}

// node is a part of a query.
type node interface {
	match(*index.Problem) bool
	text(inside int) string // inside: how strongly what is around binds
}

// How strongly parts bind: an alternative of an alternative needs no parentheses, one of terms that must all hold does.
const (
	bindOr = iota
	bindAnd
	bindNot
)

type (
	all  []node
	some []node
	not  struct{ node }
	term struct {
		field string // empty: a word
		op    string // "", "<", "<=", ">", ">="
		value string
		holds func(*index.Problem) bool
	}
)

func (n all) match(p *index.Problem) bool {
	for _, part := range n {
		if !part.match(p) {
			return false
		}
	}
	return true
}

func (n some) match(p *index.Problem) bool {
	for _, part := range n {
		if part.match(p) {
			return true
		}
	}
	return false
}

func (n not) match(p *index.Problem) bool  { return !n.node.match(p) }
func (n term) match(p *index.Problem) bool { return n.holds(p) }

func (n all) text(inside int) string  { return join(n, " ", bindAnd, inside) }
func (n some) text(inside int) string { return join(n, " OR ", bindOr, inside) }
func (n not) text(int) string         { return "-" + n.node.text(bindNot) }

func join(parts []node, with string, binds, inside int) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text(binds)
	}
	s := strings.Join(texts, with)
	if inside > binds {
		return "(" + s + ")"
	}
	return s
}

func (n term) text(int) string {
	if n.field == "" {
		return quoted(n.value)
	}
	return n.field + ":" + n.op + quoted(n.value)
}

// quoted puts what would be read otherwise between quotes.
func quoted(s string) string {
	if s != "" && s != "OR" && !strings.ContainsAny(s, "\"()\\") && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.Contains(s, ":") && !strings.HasPrefix(s, "-") &&
		!strings.HasPrefix(s, "<") && !strings.HasPrefix(s, ">") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// String is the query as it is written in the shortest way; read again, it means the same.
func (q Query) String() string {
	if q.node == nil {
		return ""
	}
	return q.node.text(bindOr)
}

// Empty reports whether it says nothing.
func (q Query) Empty() bool { return q.node == nil }

// Match reports whether a problem is meant.
func (q Query) Match(p *index.Problem) bool { return q.node == nil || q.node.match(p) }

// Narrow makes a list count only what the query speaks of: a release, version, architecture or days that all of it must
// have. The filter is then for a list that q.Match chooses, and for no other.
func (q Query) Narrow(f index.Filter) index.Filter {
	f.Query = q.String()
	f.Release = cmp.Or(q.counted.Release, f.Release)
	f.Version = cmp.Or(q.counted.Version, f.Version)
	f.Architecture = cmp.Or(q.counted.Architecture, f.Architecture)
	if q.hasSince {
		f.Since = q.counted.Since
	}
	if q.hasUntil {
		f.Until = q.counted.Until
	}
	return f
}

// HasDays reports whether the query says itself which days count.
func (q Query) HasDays() bool { return q.hasSince || q.hasUntil }
