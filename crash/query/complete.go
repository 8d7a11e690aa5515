package query

import (
	"strings"
)

// Candidate is a way to go on with a query.
type Candidate struct {
	Text  string // the whole query with it
	Shown string // what is offered: "state:regression"
	Means string // a few words; empty: nothing to say
}

// Known is what values can be completed from. Each returns what there is that begins with a text, the most usual first.
type Known struct {
	Packages, Sources, Programs, Frames, Releases, Architectures, Types func(begins string) []string

	// Versions are those of a package, or all without one.
	Versions func(begins, pkg string) []string
}

// maxCandidates is how many are offered at once.
const maxCandidates = 10

// Complete offers ways to end the last word of a query.
func Complete(text string, known Known) []Candidate {
	at := lastWord(text)
	head, begun := text[:at], text[at:]
	sign := ""
	if strings.HasPrefix(begun, "-") {
		sign, begun = "-", begun[1:]
	}
	var found []Candidate
	offer := func(shown, means string) {
		if len(found) < maxCandidates && shown != begun {
			found = append(found, Candidate{Text: head + sign + shown, Shown: sign + shown, Means: means})
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
		"package": known.Packages, "source": known.Sources, "program": known.Programs, "frame": known.Frames, "release": known.Releases, "arch": known.Architectures, "type": known.Types,
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

// NotFields are what words of a query begin with that look as if they named a field, and do not: "pkg" of "pkg:zsh". Such words
// are looked for as they are, since signatures have colons.
func NotFields(text string) []string {
	tokens, _ := scan(text) // as far as it can be read
	var names []string
	for _, t := range tokens {
		name, rest, ok := strings.Cut(t.value, ":")
		if t.kind == word && t.field == "" && ok && name != "" && rest != "" && rest[0] != ':' && rest[0] != '/' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") == "" {
			names = append(names, name)
		}
	}
	return names
}

// packageOf is the package that a query has spoken of last; empty: of none.
func packageOf(text string) string {
	tokens, _ := scan(text) // as far as it can be read
	name := ""
	for i, t := range tokens {
		if t.kind == word && (t.field == "package" || t.field == "source") && (i == 0 || tokens[i-1].kind != minus) {
			name = t.value
		}
	}
	return name
}

// lastWord is where the last word of a query begins, which may be an open quotation.
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
