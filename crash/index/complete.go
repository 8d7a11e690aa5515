package index

import (
	"strings"
)

// Completion is a possible completion of a query.
type Completion struct {
	Text  string // the whole query, completed
	Shown string // the part to show: "state:regression"
	Means string // a short explanation; may be empty
}

// Known provides values for completions. Each function returns the values with a prefix, the most
// frequent first.
type Known struct {
	Packages, Sources, Programs, Frames, Releases, Architectures, Types, Assignees, Tags func(begins string) []string

	// Versions returns the versions of a package, or of all packages if pkg is empty.
	Versions func(begins, pkg string) []string
}

// maxCandidates is the largest number of candidates.
const maxCandidates = 10

// Complete returns candidates for the last word of a query.
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
			found = append(found, Completion{Text: head + sign + shown, Shown: sign + shown, Means: means})
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

// packageOf returns the last package that a query names, or "".
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
