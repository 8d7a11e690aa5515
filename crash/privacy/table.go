// Package privacy decides who may read which field of a report. The table of classes is the only
// place for that: pages, downloads, the API, bugs, comparisons of fields and retention use it.
package privacy

import (
	"maps"
	"slices"
	"strings"

	"mishap/crash"
)

// Class says who may read a field. A higher class permits fewer people.
type Class int

// The classes. A field that is restricted or private is stored; one that is secret never is.
const (
	Public     Class = iota // visitors, redacted, as part of lists and of the names of problems
	Restricted              // people with a role
	Private                 // people with the right to private data of the source package
	Secret                  // nobody: the field is dropped on arrival
)

// Unlisted is the class of fields that neither the table nor the configuration knows, unless the
// configuration sets another.
const Unlisted = Restricted

var classNames = [...]string{"public", "restricted", "private", "secret"}

// Classes are all classes, from the most visible to the least.
var Classes = []Class{Public, Restricted, Private, Secret}

func (c Class) String() string { return classNames[c] }

// ParseClass returns the class with a name, and whether there is one.
func ParseClass(name string) (Class, bool) {
	i := slices.Index(classNames[:], name)
	return Class(max(i, 0)), i >= 0
}

// Table assigns classes to fields. It is immutable. A nil Table has the built-in classes.
type Table struct {
	exact    map[string]Class
	prefixes []prefix // longest first
	unlisted Class
}

type prefix struct {
	text  string
	class Class
}

// Class returns the class of a field. The configuration comes first, then the names in the
// built-in table, then the names of secrets, then the beginnings of names in the built-in table, then
// the class of unlisted fields. What a machine has sent before mishap
// symbolised a report is at most as visible as the field that replaced it.
func (t *Table) Class(name string) Class {
	known, listed := builtIn[name]
	if listed && known.fixed {
		return known.Class
	}
	if class, ok := t.configured(name); ok {
		return class
	}
	if listed {
		return known.Class
	}
	if replaced, ok := strings.CutPrefix(name, senderPrefix); ok {
		if _, listed := builtIn[replaced]; listed {
			return max(Private, t.Class(replaced))
		}
	}
	if IsSecretName(name) {
		return Secret
	}
	for begins, f := range builtIn {
		if begins, ok := strings.CutSuffix(begins, "*"); ok && strings.HasPrefix(name, begins) {
			return f.Class // no two of these names overlap
		}
	}
	return t.Unlisted()
}

// senderPrefix is the prefix of the fields that mishap has replaced when it symbolised the report.
const senderPrefix = "Sender"

// Excerpt returns the class of the lines of a field that explain a crash, and of what comparisons
// extract from it, such as the version of the kernel. A configured class applies to them, too.
func (t *Table) Excerpt(name string) Class {
	class := t.Class(name)
	if _, changed := t.configured(name); !changed && class == Private && builtIn[name].Excerpt != "" {
		return Restricted
	}
	return class
}

// Unlisted returns the class of fields that are not in the table.
func (t *Table) Unlisted() Class {
	if t == nil {
		return Unlisted
	}
	return t.unlisted
}

// configured returns the class that the configuration gives to a field.
func (t *Table) configured(name string) (Class, bool) {
	if t == nil {
		return 0, false
	}
	if class, ok := t.exact[name]; ok {
		return class, true
	}
	for _, p := range t.prefixes {
		if strings.HasPrefix(name, p.text) {
			return p.class, true
		}
	}
	return 0, false
}

// Readable returns the highest class that a person may read in reports of a source package.
func Readable(u crash.User, source string) Class {
	switch {
	case u.Private.Include(source):
		return Private
	case u.Role.Allows(crash.RoleViewer):
		return Restricted
	}
	return Public
}

// Visible returns the fields of a report that a person may read, and the sorted names of the others.
// Secret fields of reports that were stored before they became secret are never visible.
func (t *Table) Visible(u crash.User, fields crash.Fields, source string) (visible crash.Fields, hidden []string) {
	readable := Readable(u, source)
	visible = crash.Fields{}
	for name, value := range fields {
		if t.Class(name) <= readable {
			visible[name] = value
		} else {
			hidden = append(hidden, name)
		}
	}
	slices.Sort(hidden)
	return visible, hidden
}

// Permits reports whether readers up to a class may see a value that is made of some fields. If
// excerpt is set, the value is an excerpt of them.
func (t *Table) Permits(readable Class, names []string, excerpt bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		if excerpt {
			return t.Excerpt(name) > readable
		}
		return t.Class(name) > readable
	})
}

// Excerpts returns the fields of which readers up to a class may see excerpts. The caller must show
// no more of them than excerpts.
func (t *Table) Excerpts(fields crash.Fields, readable Class) crash.Fields {
	some := crash.Fields{}
	for name, value := range fields {
		if t.Excerpt(name) <= readable {
			some[name] = value
		}
	}
	return some
}

// ForBugs returns the fields of which bugs may contain redacted excerpts. It omits private fields.
func (t *Table) ForBugs(fields crash.Fields) crash.Fields { return t.Excerpts(fields, Restricted) }

// The limits of lists of names that mishap stores in reports.
const (
	maxNames = 100
	maxName  = 100 // code points
)

// DropSecrets returns the fields of a report without those that are secret, and their sorted names.
// It does not change fields. If some are dropped, crash.DroppedField lists them.
func (t *Table) DropSecrets(fields crash.Fields) (rest crash.Fields, dropped []string) {
	for name := range fields {
		if t.Class(name) == Secret {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) == 0 {
		return fields, nil
	}
	rest = maps.Clone(fields)
	for _, name := range dropped {
		delete(rest, name)
	}
	slices.Sort(dropped)
	AddNames(rest, crash.DroppedField, dropped)
	return rest, dropped
}

// AddNames adds names to a field that lists them, one a line, sorted and without duplicates.
func AddNames(fields crash.Fields, field string, names []string) {
	var all []string
	if before := fields[field]; before != "" {
		all = strings.Split(before, "\n")
	}
	for _, name := range names {
		all = append(all, plainName(name))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	fields[field] = strings.Join(all[:min(len(all), maxNames)], "\n")
}

// plainName returns a name on one line, truncated.
func plainName(name string) string {
	return crash.Truncate(strings.Join(strings.Fields(name), " "), maxName)
}

// secretNames are parts of names of fields that hold secrets, without separators.
var secretNames = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "privatekey",
	"accesskey", "sshkey", "sessionid", "cookie", "authorization"}

// IsSecretName reports whether an unlisted field must be a secret, by its name.
func IsSecretName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. \t", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(plain, part) })
}
