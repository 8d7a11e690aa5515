package privacy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mishap/crash"
)

// Parse returns the built-in table with changes: words like "JournalErrors=secret" or "Acme*=restricted",
// where * at the end stands for any characters, and the class of unlisted fields. The longest
// matching name applies. The error is a sentence for people.
func Parse(changes, unlisted string) (*Table, error) {
	t := &Table{exact: map[string]Class{}}
	var err error
	if t.unlisted, err = ParseUnlisted(unlisted); err != nil {
		return nil, err
	}
	for word := range strings.FieldsSeq(changes) {
		name, class, err := parseChange(word)
		if err != nil {
			return nil, err
		}
		begin, open := strings.CutSuffix(name, "*")
		if !open {
			if old, twice := t.exact[name]; twice && old != class {
				return nil, fmt.Errorf("%s has two classes, %s and %s", name, old, class)
			}
			t.exact[name] = class
			continue
		}
		t.prefixes = append(t.prefixes, prefix{begin, class})
	}
	slices.SortStableFunc(t.prefixes, func(a, b prefix) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), strings.Compare(a.text, b.text))
	})
	return t, nil
}

func parseChange(word string) (name string, class Class, err error) {
	at := strings.LastIndexByte(word, '=')
	if at < 1 {
		return "", 0, fmt.Errorf("%q is not a field, = and a class", crash.Shorten(word, 100))
	}
	name = word[:at]
	class, ok := ParseClass(word[at+1:])
	begin := strings.TrimSuffix(name, "*")
	switch {
	case !ok:
		return "", 0, fmt.Errorf("%q is not a class", crash.Shorten(word[at+1:], 100))
	case class == Public:
		return "", 0, fmt.Errorf("%s cannot be public: visitors see no fields of reports", name)
	case begin == "":
		return "", 0, fmt.Errorf("* alone is not possible: privacy_unlisted is the class of unlisted fields")
	case strings.Contains(begin, "*"):
		return "", 0, fmt.Errorf("%s: * is possible at the end only", name)
	case builtIn[name].fixed:
		return "", 0, fmt.Errorf("%s is always %s", name, builtIn[name].Class)
	}
	return name, class, nil
}

// ParseUnlisted returns the class of unlisted fields: restricted, private or secret.
func ParseUnlisted(name string) (Class, error) {
	class, ok := ParseClass(name)
	if !ok || class == Public {
		return 0, fmt.Errorf("%q is not restricted, private or secret", crash.Shorten(name, 100))
	}
	return class, nil
}

// Row is a row of the table for people.
type Row struct {
	Name    string // may end with *
	Class   Class
	Before  Class  // the built-in class; other than Class: the configuration changed it
	Excerpt string // what people who may not read the field see of it; empty: nothing
	Fixed   bool   // the configuration cannot change the class
}

// Changed reports whether the configuration has changed the class.
func (r Row) Changed() bool { return r.Class != r.Before }

// Rows returns the table: the listed fields, and the names and patterns of the configuration, sorted
// by name. The class of unlisted fields is [Table.Unlisted].
func (t *Table) Rows() []Row {
	var standard *Table
	rows := make([]Row, 0, len(builtIn))
	for name, f := range builtIn {
		row := Row{Name: name, Class: t.Class(name), Before: f.Class, Fixed: f.fixed}
		if t.Excerpt(name) < row.Class {
			row.Excerpt = f.Excerpt
		}
		rows = append(rows, row)
	}
	if t != nil {
		for name, class := range t.exact {
			if _, listed := builtIn[name]; !listed {
				rows = append(rows, Row{Name: name, Class: class, Before: standard.Class(name)})
			}
		}
		for _, p := range t.prefixes {
			rows = append(rows, Row{Name: p.text + "*", Class: p.class, Before: standard.Class(p.text)})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// SecretNames returns the parts of names that make an unlisted field secret.
func SecretNames() []string { return slices.Clone(secretNames) }
