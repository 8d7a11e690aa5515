package index

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/similar"
	"mishap/crash/version"
)

// MaxQueryLength is the largest length of a query, in bytes.
const MaxQueryLength = 2000

// Query is a parsed search: words, and fields with values, such as
//
//	package:zsh release:"Ubuntu 24.04" frame:parse_row seen:>=5.9 -state:fixed
//
// All adjacent terms must match. OR separates alternatives, parentheses group, and a leading "-"
// negates a term. The search page, the API and exports use the same language. The zero value matches
// everything.
type Query struct {
	node node

	// counted contains the terms that restrict the reports that a list counts, in addition to the
	// problems that it contains. Only Release, Version, Architecture and the days are used.
	counted            Filter
	hasSince, hasUntil bool

	personal string // its text, if it depends on the person who asks it
	person   string // whom "assignee:me" means; see For
	muted    bool   // the query itself says whether it wants muted problems
	byFacts  bool   // see [Filter.ByFacts]
}

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
	return !slices.ContainsFunc(n, func(part node) bool { return !part.match(p) })
}

func (n anyOf) match(p *Problem) bool {
	return slices.ContainsFunc(n, func(part node) bool { return part.match(p) })
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

// With returns the text of the query with one more term.
func (q Query) With(field, value string) string {
	added := term{field: field, value: value}
	if q.Empty() {
		return added.text(bindAnd)
	}
	return q.node.text(bindAnd) + " " + added.text(bindAnd)
}

// Term is a field with a value that everything found has.
type Term struct {
	Field, Value string
	Without      string // text of the query without the term
}

// Terms returns the terms with a field that stand by themselves, without OR, a minus or an operator.
func (q Query) Terms() []Term {
	parts, ok := q.node.(allOf)
	if !ok {
		parts = allOf{q.node}
	}
	var terms []Term
	for i, part := range parts {
		if t, ok := part.(term); ok && t.field != "" && t.op == "" {
			rest := append(slices.Clone(parts[:i]), parts[i+1:]...)
			terms = append(terms, Term{t.field, t.value, rest.text(bindOr)})
		}
	}
	return terms
}

// Empty reports whether the query matches everything.
func (q Query) Empty() bool { return q.node == nil }

// Match reports whether the query matches a problem.
func (q Query) Match(p *Problem) bool { return q.node == nil || q.node.match(p) }

// Matcher returns a function that reports whether the query matches a problem, or nil if it matches everything. Terms
// that only restrict the reports that count match everything.
func (q Query) Matcher() func(*Problem) bool {
	parts, ok := q.node.(allOf)
	if !ok && !q.Empty() {
		parts = allOf{q.node}
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(part node) bool {
		t, ok := part.(term)
		return ok && fields[t.field].counts
	})
	if len(parts) == 0 {
		return nil
	}
	return parts.match
}

// Narrow restricts a filter to the reports that the query counts: by release, version, architecture
// or days. The filter then belongs to the list with q.Match, since its Query identifies that match.
func (q Query) Narrow(f Filter) Filter {
	f.Query, f.ByFacts = q.String(), q.byFacts
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

const maxDepth = 20

// maxTerms is the largest number of terms, since each is evaluated for each problem.
const maxTerms = 64

// ParseQuery parses a query. Its errors are of type *Error, and say what is wrong and where.
func ParseQuery(text string) (Query, error) { return parseQuery(text, nil) }

func parseQuery(text string, names []string) (Query, error) {
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
	p := &parser{tokens: tokens, names: names}
	if p.peek().kind == end {
		return Query{}, nil
	}
	n, err := p.anyOf(0)
	if err != nil {
		return Query{}, err
	}
	if t := p.peek(); t.kind != end {
		return Query{}, errorAt(t.at, 1, "There is one parenthesis too many.")
	}
	q := Query{node: n, muted: p.muted, byFacts: p.byFacts}
	if p.personal {
		q.personal = text
	}
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

	byFacts bool // a term compares versions, days or numbers

	names    []string // of the person who asks
	personal bool     // a term is about that person
}

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

func (p *parser) factor(depth int) (node, *QueryError) {
	if p.terms++; p.terms > maxTerms {
		return nil, errorAt(p.peek().at, p.peek().length, "A query has at most %d terms.", maxTerms)
	}
	switch t := p.next(); t.kind {
	case minus:
		first := len(p.counts)
		if k := p.peek().kind; k != word && k != open {
			return nil, errorAt(t.at, 1, "Something must follow the minus sign.")
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
	if t.field == "assignee" && strings.EqualFold(t.value, me) {
		names := p.names
		p.personal, holds = true, func(p *Problem) bool { return p.AssignedTo(names) }
	}
	p.muted = p.muted || t.field == "is" && strings.EqualFold(t.value, isMuted)
	p.byFacts = p.byFacts || f.ordered
	if f.counts {
		p.counts = append(p.counts, count{token: t})
	}
	return term{field: t.field, op: t.op, value: t.value, holds: holds}, nil
}

func (q *Query) gather(p *parser) *QueryError {
	for _, c := range p.counts {
		if c.nested {
			return errorAt(c.at, c.length, "%s: cannot be combined with OR or a minus sign, because it selects the "+
				"counted reports.", c.field)
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
			q.counted.Since, _ = dayOf(c.value) // term has checked it
			q.hasSince = true
		case "until":
			q.counted.Until, _ = dayOf(c.value)
			q.hasUntil = true
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

// me is the value of the field assignee that stands for the person who searches.
const me = "me"

// assignee returns a match for who takes care of a problem. A name without a tilde also matches
// that name at the tracker. The parser handles "me".
func assignee(_, value string) (func(*Problem) bool, string) {
	if holds := noneOrAny(value, func(p *Problem) bool { return p.Assignee().Name != "" }); holds != nil {
		return holds, ""
	}
	is := glob(value)
	return func(p *Problem) bool {
		name := p.Assignee().Name
		return name != "" && (is(name) || is(strings.TrimPrefix(name, "~")))
	}, ""
}

// noneOrAny returns a match for the values "none" and "any", or nil for others.
func noneOrAny(value string, has func(*Problem) bool) func(*Problem) bool {
	switch strings.ToLower(value) {
	case "none":
		return func(p *Problem) bool { return !has(p) }
	case "any":
		return has
	}
	return nil
}

func tag(_, value string) (func(*Problem) bool, string) {
	if holds := noneOrAny(value, func(p *Problem) bool { return len(p.Tags()) > 0 }); holds != nil {
		return holds, ""
	}
	is := glob(value)
	return func(p *Problem) bool { return slices.ContainsFunc(p.Tags(), is) }, ""
}

// For returns the query as a person with these names asks it: "assignee:me" matches problems that
// are assigned to one of the names. Names at the tracker begin with a tilde. Without names, it matches
// none.
func (q Query) For(names []string) Query {
	if q.personal == "" {
		return q
	}
	q, _ = parseQuery(q.personal, names) // no error, since it was parsed before
	q.person = strings.ToLower(strings.Join(names, " "))
	return q
}

// Personal reports whether the query depends on the person who asks it.
func (q Query) Personal() bool { return q.personal != "" }

// QueryError says what is wrong with a query, and where. At and Length are in bytes.
type QueryError struct {
	At, Length int
	Message    string // a sentence
}

func (e *QueryError) Error() string { return e.Message }

func errorAt(at, length int, format string, args ...any) *QueryError {
	return &QueryError{At: at, Length: length, Message: fmt.Sprintf(format, args...)}
}

type kind int

const (
	end kind = iota
	word
	open
	shut
	or
	minus
)

type token struct {
	kind       kind
	at, length int
	field, op  string // of a word: the name before ":", and the operator after it
	value      string
	valueAt    int
}

var marks = map[rune]kind{'(': open, ')': shut, '-': minus}

func scanQuery(text string) ([]token, *QueryError) {
	var tokens []token
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
		case marks[r] != 0 && (r != '-' || at+1 < len(text) && !unicode.IsSpace(rune(text[at+1])) && text[at+1] != ')'):
			tokens = append(tokens, token{kind: marks[r], at: at, length: 1})
			at++
		default:
			t, err := scanWord(text, at)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t)
			at += t.length
		}
	}
	return append(tokens, token{kind: end, at: len(text)}), nil
}

// scanWord scans a word, or a field with its value. Only known names are fields, since C++ names
// and times contain colons, too.
func scanWord(text string, at int) (token, *QueryError) {
	t := token{kind: word, at: at, valueAt: at}
	if name, _, ok := strings.Cut(text[at:], ":"); ok {
		if _, known := fields[strings.ToLower(name)]; known {
			t.field = strings.ToLower(name)
			t.valueAt = at + len(name) + 1
			for _, op := range []string{"<=", ">=", "<", ">", "="} {
				if strings.HasPrefix(text[t.valueAt:], op) {
					t.op = op
					t.valueAt += len(op)
					break
				}
			}
			if t.op == "=" {
				t.op = ""
			}
		}
	}
	value, length, err := scanValue(text, t.valueAt)
	if err != nil {
		return t, err
	}
	t.value, t.length = value, t.valueAt+length-at
	if t.field == "" && t.value == "OR" && text[at] != '"' {
		t.kind = or
	}
	if t.field != "" && t.value == "" {
		return t, errorAt(at, t.length, "%s: needs a value, as in %s:%s.", t.field, t.field, fields[t.field].example)
	}
	return t, nil
}

func scanValue(text string, at int) (value string, length int, err *QueryError) {
	if at < len(text) && text[at] == '"' {
		var b strings.Builder
		for i := at + 1; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				return b.String(), i + 1 - at, nil
			case c == '\\' && i+1 < len(text):
				i++
				b.WriteByte(text[i])
			default:
				b.WriteByte(c)
			}
		}
		return "", 0, errorAt(at, len(text)-at, "The quotation mark is not closed.")
	}
	ends := func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"' }
	i := strings.IndexFunc(text[at:], ends)
	if i < 0 {
		i = len(text) - at
	}
	// Parentheses inside a name belong to it, as in operator()(int). Those of a group are at its
	// ends.
	for at+i < len(text) && text[at+i] == '(' && i > 0 {
		shut := strings.IndexByte(text[at+i:], ')')
		if shut < 0 || strings.ContainsFunc(text[at+i:at+i+shut], unicode.IsSpace) {
			break
		}
		i += shut + 1
		more := strings.IndexFunc(text[at+i:], ends)
		if more < 0 {
			more = len(text) - at - i
		}
		i += more
	}
	return text[at : at+i], i, nil
}

// Completion is a possible completion of a query.
type Completion struct {
	Text  string // the whole query, completed
	Means string // a short explanation, which contains the query if Text does not begin with it; may be empty
}

// Known provides values for completions. Each function returns the values with a prefix, the most
// frequent first.
type Known struct {
	Packages, Sources, Programs, Frames, Releases, Architectures, Types, Assignees, Tags func(begins string) []string

	// Versions returns the versions of a package, or of all packages if pkg is empty.
	Versions func(begins, pkg string) []string
}

const (
	maxCandidates = 10
	maxPackages   = 4 // among the candidates for a word without a field; functions follow
	minNameLength = 2 // bytes of a word for which Complete suggests packages and functions
)

// Complete returns candidates for the last word of a query: fields, packages and functions, or the values of its
// field.
func Complete(text string, known Known) []Completion {
	at := lastWord(text)
	head, begun := text[:at], text[at:]
	sign := ""
	if strings.HasPrefix(begun, "-") {
		sign, begun = "-", begun[1:]
	}
	var found []Completion
	offer := func(shown, means string) {
		if len(found) < maxCandidates && shown != begun {
			found = append(found, Completion{Text: head + sign + shown, Means: means})
		}
	}
	name, value, isField := strings.Cut(begun, ":")
	f, ok := fields[strings.ToLower(name)]
	if !isField || !ok || name == "" {
		for _, name := range fieldOrder {
			if strings.HasPrefix(name, strings.ToLower(begun)) {
				offer(name+":", fields[name].means)
			}
		}
		named := func(name, field, kind string) {
			offer(field+":"+quoted(name), head+sign+name+" ("+kind+")")
		}
		if len(begun) >= minNameLength {
			packages := known.Packages(begun)
			for _, name := range packages[:min(len(packages), maxPackages)] {
				named(name, "package", "package")
			}
			for _, name := range known.Frames(begun) {
				named(name, "frame", "function")
			}
		}
		return found
	}
	name = strings.ToLower(name)
	value = strings.TrimPrefix(value, `"`)
	for _, v := range f.values {
		if strings.HasPrefix(v, strings.ToLower(value)) {
			offer(name+":"+v, "")
		}
	}
	from := map[string]func(string) []string{
		"package": known.Packages, "source": known.Sources, "program": known.Programs, "frame": known.Frames,
		"release": known.Releases, "arch": known.Architectures, "type": known.Types,
		"assignee": known.Assignees, "tag": known.Tags,
	}[name]
	operator := ""
	if f.versions && known.Versions != nil {
		from = func(begins string) []string { return known.Versions(begins, packageOf(head)) }
		if f.ordered {
			operator = value[:len(value)-len(strings.TrimLeft(value, "<>="))]
			value = strings.TrimPrefix(value[len(operator):], `"`)
		}
	}
	if from != nil {
		for _, v := range from(value) {
			offer(name+":"+operator+quoted(v), "")
		}
	}
	if len(found) == 0 && value == "" {
		offer(name+":"+f.example, f.means)
	}
	return found
}

// NotFields returns the prefixes of words that look like field names but are not: "pkg" of
// "pkg:zsh". A search looks for such words literally, since signatures contain colons.
func NotFields(text string) []string {
	tokens, _ := scanQuery(text) // tokens up to the first error
	var names []string
	for _, t := range tokens {
		name, rest, ok := strings.Cut(t.value, ":")
		if t.kind == word && t.field == "" && ok && name != "" && rest != "" && rest[0] != ':' && rest[0] != '/' &&
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") == "" {
			names = append(names, name)
		}
	}
	return names
}

func packageOf(text string) string {
	tokens, _ := scanQuery(text) // tokens up to the first error
	name := ""
	for i, t := range tokens {
		if t.kind == word && (t.field == "package" || t.field == "source") && (i == 0 || tokens[i-1].kind != minus) {
			name = t.value
		}
	}
	return name
}

// lastWord returns the index of the last word of a query, which may be an open quotation.
func lastWord(text string) int {
	begin, inQuotes := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && inQuotes:
			i++
		case c == '"':
			inQuotes = !inQuotes
		case !inQuotes && (c == ' ' || c == '(' || c == '\t'):
			begin = i + 1
		}
	}
	return begin
}

type field struct {
	means    string // short explanation for people
	example  string
	values   []string // all possible values; nil: any
	ordered  bool     // supports < and >
	versions bool     // its values are versions
	counts   bool     // restricts the reports that count
	read     func(op, value string) (holds func(*Problem) bool, problem string)
}

// Field describes a field of the query language, for help and completion.
type Field struct {
	Name, Means, Example string
	Values               []string
}

// Fields returns all fields, in the order in which the help shows them.
func Fields() []Field {
	out := make([]Field, len(fieldOrder))
	for i, name := range fieldOrder {
		f := fields[name]
		out[i] = Field{Name: name, Means: f.means, Example: f.example, Values: f.values}
	}
	return out
}

var fieldOrder = []string{
	"package", "source", "program", "frame", "file", "signature", "title", "release", "version", "arch", "type",
	"rule", "state", "is", "bug", "assignee", "tag", "seen", "first", "last", "lowest", "highest", "reports", "machines",
	"since", "until", "new", "gone", "id",
}

// states lists the states that are one word, and "none" for problems without a bug.
var states = func() (values []string) {
	for _, word := range crash.StateWords {
		if !strings.Contains(string(word), " ") {
			values = append(values, string(word))
		}
	}
	return append(values, "none")
}()

// The values of the field "is" for the manual status.
const (
	isMuted       = "muted"
	isWontFix     = "wontfix"
	isFixedByHand = "fixed-by-hand"
	isHeld        = "held"
	isEmbargoed   = "embargoed"
)

// kinds lists the values of the field "is": these and the states.
var kinds = func() []string {
	values := []string{"filed", "unfiled", "symbolised", "provisional", "named", isMuted, isWontFix, isFixedByHand, isHeld,
		isEmbargoed}
	for _, s := range states {
		if s != "none" && !slices.Contains(values, s) {
			values = append(values, s)
		}
	}
	return values
}()

var fields = map[string]field{
	"": {read: contains((*Problem).folded)},
	"package": {means: "binary or source package; * stands for any characters", example: "zsh",
		read: names(func(p *Problem) [2]string { return [2]string{p.Package, p.Source} })},
	"source": {means: "source package", example: "mesa",
		read: names(func(p *Problem) [2]string { return [2]string{p.Source} })},
	"program": {means: "program, by its path or name", example: "nautilus",
		read: names(func(p *Problem) [2]string { return [2]string{p.Executable, path.Base(p.Executable)} })},
	"frame": {means: "name of a function in the signature, or part of it", example: "parse_row", read: frame},
	"file": {means: "path of the program or of a file in the traceback, or part of it", example: "gnome-shell",
		read: file},
	"signature": {means: "part of the signature", example: "g_list_free", read: contains((*Problem).foldedSignature)},
	"title":     {means: "part of the title, or of the name that people gave", example: "SIGSEGV", read: title},
	"release": {means: "count only reports from this release", example: `"Ubuntu 24.04"`, counts: true,
		read: counted},
	"version": {means: "count only reports of this package version", example: "5.9-4", counts: true, versions: true,
		read: counted},
	"arch": {means: "count only reports from this architecture", example: "arm64", counts: true, read: counted},
	"type": {means: "problem type", example: "Crash",
		read: names(func(p *Problem) [2]string { return [2]string{p.Type} })},
	"rule": {means: "grouping rule", example: "traceback",
		read: names(func(p *Problem) [2]string { return [2]string{string(p.Rule)} })},
	"state": {means: "state, as on the page of the problem", example: "regression", values: states, read: state},
	"is": {means: "filed, unfiled (without a bug), symbolised, provisional, named, muted, wontfix, fixed-by-hand, " +
		"held (for people with a role), embargoed (for people who may see that), or a state",
		example: "unfiled",
		values:  kinds, read: is},
	"bug": {means: "number of the bug, none or any", example: "2101233", values: []string{"none", "any"}, read: bug},
	"assignee": {means: "who takes care of it: a name, me (your account and your name at the tracker), none or any",
		example: "me", values: []string{"me", "none", "any"}, read: assignee},
	"tag": {means: "tag, none or any; * stands for any characters", example: "any", values: []string{"none", "any"},
		read: tag},
	"seen": {means: "seen in any such version", example: ">=5.9", ordered: true, versions: true,
		read: seen},
	"first": {means: "version of the oldest report", example: ">=5.9", ordered: true, versions: true,
		read: ofVersion(func(p *Problem) label { return p.version(p.first.version) })},
	"last": {means: "version of the newest report", example: "<5.9", ordered: true, versions: true,
		read: ofVersion(func(p *Problem) label { return p.version(p.last.version) })},
	"lowest": {means: "lowest version", example: ">=5.9", ordered: true, versions: true,
		read: ofVersion(func(p *Problem) label { return p.version(p.lowest) })},
	"highest": {means: "highest version", example: "<5.9", ordered: true, versions: true,
		read: ofVersion(func(p *Problem) label { return p.version(p.highest) })},
	"reports": {means: "number of reports (all time)", example: ">100", ordered: true,
		read: number(func(p *Problem) int64 { return p.Reports })},
	"machines": {means: "number of machines (all time)", example: ">5", ordered: true,
		read: number(func(p *Problem) int64 { return p.Systems })},
	"since": {means: "count only reports from this day on", example: "2026-11-01", counts: true, read: dated},
	"until": {means: "count only reports up to this day", example: "2026-11-21", counts: true, read: dated},
	"new": {means: "day of the oldest report", example: ">=2026-11-01", ordered: true,
		read: day(func(p *Problem) time.Time { return p.First().At })},
	"gone": {means: "day of the newest report", example: "<2026-10-01", ordered: true,
		read: day(func(p *Problem) time.Time { return p.Last().At })},
	"id": {means: "beginning of the problem id", example: "9f3ac1", read: id},
}

// contains returns a match for a part of a text, which is in lower case. Like all matches, it ignores case.
func contains(of func(*Problem) []byte) func(op, value string) (func(*Problem) bool, string) {
	return func(_, value string) (func(*Problem) bool, string) {
		lower := []byte(strings.ToLower(value))
		return func(p *Problem) bool { return bytes.Contains(of(p), lower) }, ""
	}
}

func glob(pattern string) func(string) bool {
	if !strings.Contains(pattern, "*") {
		return func(s string) bool { return strings.EqualFold(s, pattern) }
	}
	parts := strings.Split(strings.ToLower(pattern), "*")
	return func(s string) bool {
		rest, ok := strings.CutPrefix(strings.ToLower(s), parts[0])
		if !ok {
			return false
		}
		for _, part := range parts[1 : len(parts)-1] {
			i := strings.Index(rest, part)
			if i < 0 {
				return false
			}
			rest = rest[i+len(part):]
		}
		return strings.HasSuffix(rest, parts[len(parts)-1])
	}
}

func names(of func(*Problem) [2]string) func(op, value string) (func(*Problem) bool, string) {
	return func(_, value string) (func(*Problem) bool, string) {
		is := glob(value)
		return func(p *Problem) bool {
			for _, s := range of(p) {
				if s != "" && is(s) {
					return true
				}
			}
			return false
		}, ""
	}
}

func title(_, value string) (func(*Problem) bool, string) {
	lower := strings.ToLower(value)
	return func(p *Problem) bool {
		return bytes.Contains(p.folded(), []byte(lower)) && (strings.Contains(strings.ToLower(p.Title), lower) ||
			strings.Contains(strings.ToLower(p.Name), lower))
	}, ""
}

// partOrGlob returns a match for texts in lower case that contain a value or, if that has a *, match it. They
// all contain hint.
func partOrGlob(value string) (has func(string) bool, hint []byte) {
	if strings.Contains(value, "*") {
		return glob(value), nil
	}
	lower := strings.ToLower(value)
	return func(text string) bool { return strings.Contains(text, lower) }, []byte(lower)
}

// frame returns a match for functions in a signature, that is, for its parts after the program and
// the signal.
func frame(_, value string) (func(*Problem) bool, string) {
	has, hint := partOrGlob(value)
	return func(p *Problem) bool {
		if !bytes.Contains(p.foldedSignature(), hint) {
			return false
		}
		_, functions, _ := strings.Cut(p.FoldedSignature(), ":")
		for functions != "" {
			var f string
			f, functions = similar.NextPart(functions)
			if has(f) {
				return true
			}
		}
		return false
	}, ""
}

// file returns a match for the program's path, and for parts of the signature that are paths or
// positions in files: "/usr/lib/python3/dist-packages/apt/cache.py@83", "src/buffer.rs".
func file(_, value string) (func(*Problem) bool, string) {
	has, hint := partOrGlob(value)
	return func(p *Problem) bool {
		if !bytes.Contains(p.folded(), hint) {
			return false
		}
		if program := strings.ToLower(p.Executable); program != "" && (has(program) || has(path.Base(program))) {
			return true
		}
		for parts := p.FoldedSignature(); parts != ""; {
			var part string
			part, parts = similar.NextPart(parts)
			part, _, at := strings.Cut(part, "@")
			if (at || strings.Contains(part, "/") || path.Ext(part) != "" && !strings.Contains(part, " ")) &&
				(has(part) || has(path.Base(part))) {
				return true
			}
		}
		return false
	}, ""
}

func counted(_, _ string) (func(*Problem) bool, string) { return everything, "" }

func everything(*Problem) bool { return true }

func oneOf(value string, of []string) string {
	return strconv.Quote(value) + " is none of " + strings.Join(of, ", ") + "."
}

// state returns a match for the state that pages and lists show.
func state(_, value string) (func(*Problem) bool, string) {
	value = strings.ToLower(value)
	if value == "none" {
		return func(p *Problem) bool { return p.Bug == 0 }, ""
	}
	if slices.Contains(states, value) {
		return func(p *Problem) bool { return p.State == crash.StateWord(value) }, ""
	}
	return nil, oneOf(value, states)
}

// is returns a match for a property: with or without a bug, with or without function names, a
// manual status, or a state.
func is(field, value string) (func(*Problem) bool, string) {
	switch value = strings.ToLower(value); value {
	case "filed":
		return func(p *Problem) bool { return p.Bug != 0 }, ""
	case "unfiled":
		return func(p *Problem) bool { return p.Bug == 0 }, ""
	case "symbolised":
		return func(p *Problem) bool { return !p.Provisional }, ""
	case "provisional":
		return func(p *Problem) bool { return p.Provisional }, ""
	case "named":
		return func(p *Problem) bool { return p.Name != "" }, ""
	case isMuted:
		return (*Problem).Muted, ""
	case isWontFix:
		return func(p *Problem) bool { return p.Triage != nil && p.Triage.WontFix }, ""
	case isFixedByHand:
		return func(p *Problem) bool { return p.Triage != nil && len(p.Triage.Fixes) > 0 }, ""
	case isHeld:
		return (*Problem).Held, ""
	case isEmbargoed:
		return func(p *Problem) bool { return p.Triage != nil && p.Triage.Embargoed }, ""
	}
	if slices.Contains(kinds, value) {
		return state(field, value)
	}
	return nil, oneOf(value, kinds)
}

func bug(_, value string) (func(*Problem) bool, string) {
	if holds := noneOrAny(value, func(p *Problem) bool { return p.Bug != 0 }); holds != nil {
		return holds, ""
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(value, "#"), 10, 64)
	if err != nil || n < 1 {
		return nil, strconv.Quote(value) + " is neither the number of a bug, nor none, nor any."
	}
	return func(p *Problem) bool { return p.Bug == n || crash.NumberInTracker(p.Bug) == n }, ""
}

func compared(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return c == 0
}

// wanted is a version in a query: the keys of the lowest and the highest version that it stands for, by
// order (see [version.Order.Span]). Empty keys: it is no version in that order.
type wanted [version.Orders]struct{ lowest, highest string }

// wantedVersion returns the version in a query, or what is wrong with it.
func wantedVersion(value string) (w wanted, problem string) {
	if !version.Valid(value) {
		return w, strconv.Quote(value) + " is not a version, such as 1:2.4-1ubuntu3 or 2.4-1.fc43."
	}
	for o := range version.Orders {
		if o.Valid(value) {
			lowest, highest := o.Span(value)
			w[o].lowest, w[o].highest = string(lowest), string(highest)
		}
	}
	return w, ""
}

// holds compares a version with the one in the query. Versions that are not comparable do not match.
func (w *wanted) holds(op string, v label) bool {
	want := &w[v.order]
	if v.key == "" || want.lowest == "" {
		return false
	}
	switch op {
	case "<", ">=":
		return compared(op, cmp.Compare(v.key, want.lowest))
	case "<=", ">":
		return compared(op, cmp.Compare(v.key, want.highest))
	}
	return want.lowest <= v.key && v.key <= want.highest
}

// spans reports whether a problem was seen in such a version, from its lowest to its highest one.
func (w *wanted) spans(op string, lowest, highest label) bool {
	switch op {
	case "<", "<=":
		return w.holds(op, lowest)
	case ">", ">=":
		return w.holds(op, highest)
	}
	return w.holds("<=", lowest) && w.holds(">=", highest)
}

// seen returns a match for the range of versions in which a problem was seen, from the lowest to
// the highest. Releases whose packages have different orders have a range each.
func seen(op, value string) (func(*Problem) bool, string) {
	want, problem := wantedVersion(value)
	return func(p *Problem) bool {
		lowest, highest := p.version(p.lowest), p.version(p.highest)
		if lowest.order == highest.order {
			return want.spans(op, lowest, highest)
		}
		return slices.ContainsFunc(p.byRelease(), func(f facts) bool {
			return want.spans(op, p.version(f.lowest), p.version(f.highest))
		})
	}, problem
}

func ofVersion(of func(*Problem) label) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		want, problem := wantedVersion(value)
		return func(p *Problem) bool { return want.holds(op, of(p)) }, problem
	}
}

func number(of func(*Problem) int64) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return nil, strconv.Quote(value) + " is not a number."
		}
		return func(p *Problem) bool { return compared(op, cmp.Compare(of(p), n)) }, ""
	}
}

// dayOf returns the day in a query, or what is wrong with it.
func dayOf(value string) (Day, string) {
	t, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return 0, strconv.Quote(value) + " is not a day, such as 2026-11-21."
	}
	return DayOf(t), ""
}

func dated(_, value string) (func(*Problem) bool, string) {
	_, problem := dayOf(value)
	return everything, problem
}

func day(of func(*Problem) time.Time) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		want, problem := dayOf(value)
		return func(p *Problem) bool {
			at := of(p)
			return !at.IsZero() && compared(op, cmp.Compare(DayOf(at), want))
		}, problem
	}
}

func id(_, value string) (func(*Problem) bool, string) {
	value = strings.ToLower(value)
	if len(value) > 40 || strings.Trim(value, "0123456789abcdef") != "" {
		return nil, strconv.Quote(value) + " is not the beginning of a problem's address: up to 40 of 0–9 and a–f."
	}
	return func(p *Problem) bool {
		var text [40]byte
		hex.Encode(text[:], p.ID[:])
		return string(text[:len(value)]) == value
	}, ""
}
