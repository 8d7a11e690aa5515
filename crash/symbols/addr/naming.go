package addr

import (
	"debug/dwarf"
	"strings"
	"time"
)

// Languages whose functions have other names than in C++.
const (
	langGo   = 0x16
	langRust = 0x1c
)

// nameOf returns the name of a function as gdb prints it. The caller holds the lock.
func (u *unit) nameOf(function reference, until time.Time) string {
	name, linkage := "", ""
	in := u // the unit with the entry
	for range 8 {
		s, to := in.scopeOf(function, until)
		if to == nil {
			break
		}
		if name == "" {
			name = s.name
		}
		if linkage == "" {
			linkage = s.linkage
		}
		if s.from.at == 0 {
			return qualified(name, linkage, s, to, u.languageOf(to), until)
		}
		in, function = to, s.from
	}
	return clean(name)
}

// languageOf returns the language of a unit. Parts of units have none; u refers to the part.
func (u *unit) languageOf(to *unit) int64 {
	if to.language != 0 {
		return to.language
	}
	return u.language
}

// qualified returns the name of a function with its classes and namespaces. s is the entry at its
// place in them.
func qualified(name, linkage string, s scope, in *unit, language int64, until time.Time) string {
	switch {
	case language == langGo && name != "":
		return clean(name)
	case language != langRust && linkage != "":
		if name := functionName(linkage); name != "" {
			return name
		}
		return clean(linkage)
	case name == "":
		return ""
	}
	for range 100 {
		if s.parent == 0 {
			break
		}
		var to *unit
		if s, to = in.scopeOf(reference{at: s.parent}, until); to == nil || s.tag == dwarf.TagSubprogram {
			break
		}
		outer := s.name
		for from, at := s, to; outer == "" && from.from.at != 0; outer = from.name { // a class that is defined elsewhere
			if from, at = at.scopeOf(from.from, until); at == nil {
				break
			}
		}
		switch {
		case outer == "" && s.tag == dwarf.TagNamespace:
			outer = "(anonymous namespace)"
		case outer == "":
			continue
		}
		if len(name)+len(outer) > maxMangled {
			break
		}
		name = outer + "::" + name
	}
	return clean(strings.TrimSpace(name))
}
