// Package query parses the language of searches: words, and fields with values, such as
//
//	package:zsh release:"Ubuntu 24.04" frame:parse_row seen:>=5.9 -state:fixed
//
// All adjacent terms must match. OR separates alternatives, parentheses group, and a leading "-"
// negates a term. The search page, the API and exports use the same language. The package is pure.
package index

import (
	"cmp"
	"strings"
	"unicode"
)

// MaxQueryLength is the largest length of a query, in bytes.
const MaxQueryLength = 2000

// Query is a parsed search. The zero value matches everything.
type Query struct {
	node node

	// counted contains the terms that restrict the reports that a list counts, in addition to the
	// problems that it contains. Only Release, Version, Architecture and the days are used.
	counted            Filter
	hasSince, hasUntil bool

	person string // whom "assignee:me" means; see For
	muted  bool   // the query itself says whether it wants muted problems
}

// node is a part of a query.
type node interface {
	match(*Problem) bool
	text(inside int) string // inside: precedence of the enclosing node
}

// The precedence of nodes. A node needs parentheses inside one of higher precedence.
const (
	bindOr = iota
	bindAnd
	bindNot
)

type (
	allOf []node
	anyOf []node
	not   struct{ node }
	term  struct {
		field string // empty: a word
		op    string // "", "<", "<=", ">", ">="
		value string
		holds func(*Problem) bool
	}
)

func (n allOf) match(p *Problem) bool {
	for _, part := range n {
		if !part.match(p) {
			return false
		}
	}
	return true
}

func (n anyOf) match(p *Problem) bool {
	for _, part := range n {
		if part.match(p) {
			return true
		}
	}
	return false
}

func (n not) match(p *Problem) bool  { return !n.node.match(p) }
func (n term) match(p *Problem) bool { return n.holds(p) }

func (n allOf) text(inside int) string { return join(n, " ", bindAnd, inside) }
func (n anyOf) text(inside int) string { return join(n, " OR ", bindOr, inside) }
func (n not) text(int) string          { return "-" + n.node.text(bindNot) }

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

// quoted adds quotation marks to s if it would be parsed differently without.
func quoted(s string) string {
	if s != "" && s != "OR" && !strings.ContainsAny(s, "\"()\\") && !strings.ContainsFunc(s, unicode.IsSpace) &&
		!strings.Contains(s, ":") && !strings.HasPrefix(s, "-") &&
		!strings.HasPrefix(s, "<") && !strings.HasPrefix(s, ">") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// String returns the query in its shortest form. Parsing it again gives the same query.
func (q Query) String() string {
	if q.node == nil {
		return ""
	}
	return q.node.text(bindOr)
}

// Empty reports whether the query matches everything.
func (q Query) Empty() bool { return q.node == nil }

// Match reports whether the query matches a problem.
func (q Query) Match(p *Problem) bool { return q.node == nil || q.node.match(p) }

// Matcher returns q.Match, or nil if the query matches everything.
func (q Query) Matcher() func(*Problem) bool {
	if q.Empty() {
		return nil
	}
	return q.Match
}

// Narrow restricts a filter to the reports that the query counts: by release, version, architecture
// or days. The filter then belongs to the list with q.Match, since its Query identifies that match.
func (q Query) Narrow(f Filter) Filter {
	f.Query = q.String()
	if q.person != "" {
		f.Query += "\x00" + q.person
	}
	f.Release = cmp.Or(q.counted.Release, f.Release)
	f.Version = cmp.Or(q.counted.Version, f.Version)
	f.Architecture = cmp.Or(q.counted.Architecture, f.Architecture)
	if q.muted && f.Muted == MutedHidden {
		f.Muted = MutedShown
	}
	if q.hasSince {
		f.Since = q.counted.Since
	}
	if q.hasUntil {
		f.Until = q.counted.Until
	}
	return f
}

// HasDays reports whether the query restricts the days.
func (q Query) HasDays() bool { return q.hasSince || q.hasUntil }
