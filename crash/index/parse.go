package index

import (
	"strings"
	"unicode/utf8"
)

// maxDepth is the largest nesting depth of parentheses.
const maxDepth = 20

// maxTerms is the largest number of terms, since each is evaluated for each problem.
const maxTerms = 64

// ParseQuery parses a query. Its errors are of type *Error, and say what is wrong and where.
func ParseQuery(text string) (Query, error) {
	if len(text) > MaxQueryLength {
		return Query{}, errorAt(MaxQueryLength, len(text)-MaxQueryLength,
			"A query has at most %d characters.", MaxQueryLength)
	}
	if !utf8.ValidString(text) {
		return Query{}, errorAt(0, len(text), "The query is not valid text (UTF-8).")
	}
	tokens, err := scanQuery(text)
	if err != nil {
		return Query{}, err
	}
	p := &parser{tokens: tokens}
	if p.peek().kind == end {
		return Query{}, nil
	}
	n, err := p.anyOf(0)
	if err != nil {
		return Query{}, err
	}
	if t := p.peek(); t.kind != end {
		return Query{}, errorAt(t.at, 1, "There is a parenthesis too many.")
	}
	q := Query{node: n, muted: p.muted}
	if err := q.gather(p); err != nil {
		return Query{}, err
	}
	return q, nil
}

type parser struct {
	tokens []token
	at     int
	terms  int
	counts []count // terms that restrict the reports that count
	muted  bool    // a term is about muted problems
}

// count is a term that restricts the reports that count.
type count struct {
	token
	nested bool // it is in an alternative or negated
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// anyOf parses terms separated by OR.
func (p *parser) anyOf(depth int) (node, *QueryError) {
	first := len(p.counts)
	var parts anyOf
	for {
		n, err := p.allOf(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if p.peek().kind != or {
			break
		}
		p.next()
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	p.nest(first)
	return parts, nil
}

func (p *parser) nest(from int) {
	for i := range p.counts[from:] {
		p.counts[from+i].nested = true
	}
}

// allOf parses terms that must all match.
func (p *parser) allOf(depth int) (node, *QueryError) {
	var parts allOf
	for {
		switch t := p.peek(); t.kind {
		case word, open, minus:
			n, err := p.factor(depth)
			if err != nil {
				return nil, err
			}
			if group, ok := n.(allOf); ok {
				parts = append(parts, group...)
			} else {
				parts = append(parts, n)
			}
			continue
		case or, shut, end:
			if len(parts) == 0 {
				return nil, p.missing(t)
			}
		}
		break
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

func (p *parser) missing(t token) *QueryError {
	switch t.kind {
	case or:
		return errorAt(t.at, 2, `Something has to stand in front of OR. The word itself is written "OR".`)
	case shut:
		return errorAt(t.at, 1, "There is nothing between the parentheses, or one too many.")
	default:
		return errorAt(t.at, 0, "Something is missing at the end.")
	}
}

// factor parses a term, a group in parentheses, or a negation of either.
func (p *parser) factor(depth int) (node, *QueryError) {
	if p.terms++; p.terms > maxTerms {
		return nil, errorAt(p.peek().at, p.peek().length, "A query has at most %d terms.", maxTerms)
	}
	switch t := p.next(); t.kind {
	case minus:
		first := len(p.counts)
		if k := p.peek().kind; k != word && k != open {
			return nil, errorAt(t.at, 1, "Something has to follow the minus.")
		}
		n, err := p.factor(depth)
		if err != nil {
			return nil, err
		}
		p.nest(first)
		return not{n}, nil
	case open:
		if depth == maxDepth {
			return nil, errorAt(t.at, 1, "Parentheses are nested too deeply.")
		}
		n, err := p.anyOf(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.next().kind != shut {
			return nil, errorAt(t.at, 1, "This parenthesis is not closed.")
		}
		return n, nil
	default:
		return p.term(t)
	}
}

func (p *parser) term(t token) (node, *QueryError) {
	f := fields[t.field]
	if t.op != "" && !f.ordered {
		return nil, errorAt(t.valueAt-len(t.op), len(t.op), "%s: cannot be compared with %s; write %s:%s.", t.field, t.op,
			t.field, f.example)
	}
	holds, problem := f.read(t.op, t.value)
	if problem != "" {
		return nil, errorAt(t.valueAt, max(len(t.value), 1), "%s", problem)
	}
	p.muted = p.muted || t.field == "is" && strings.EqualFold(t.value, isMuted)
	if f.counts {
		p.counts = append(p.counts, count{token: t})
	}
	return term{field: t.field, op: t.op, value: t.value, holds: holds}, nil
}

// gather combines the terms that restrict the reports that count.
func (q *Query) gather(p *parser) *QueryError {
	for _, c := range p.counts {
		if c.nested {
			return errorAt(c.at, c.length, "%s: says what is counted, so it stands by itself, without OR or a minus.", c.field)
		}
		var into *string
		switch c.field {
		case "release":
			into = (*string)(&q.counted.Release)
		case "version":
			into = &q.counted.Version
		case "arch":
			into = &q.counted.Architecture
		case "since":
			q.counted.Since, q.hasSince = dayOf(c.value), true
		case "until":
			q.counted.Until, q.hasUntil = dayOf(c.value), true
		}
		if into != nil {
			if *into != "" && !strings.EqualFold(*into, c.value) {
				return errorAt(c.at, c.length, "%s: can be given once.", c.field)
			}
			*into = c.value
		}
	}
	if q.hasSince && q.hasUntil && q.counted.Since > q.counted.Until {
		return errorAt(0, 0, "since: is after until:, so nothing can be found.")
	}
	return nil
}

func dayOf(text string) Day {
	t, _ := date(text) // term has checked it
	return DayOf(t)
}
