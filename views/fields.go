package views

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// FieldGroup is a heading with the fields below it.
type FieldGroup struct {
	Name   string
	Fields []Field
}

// Field is one field of a report.
type Field struct {
	Name, Meaning, Value string
	Folded               bool // too long to show unfolded
	Trace                bool // a stack, a traceback or output of the kernel
}

// The groups, in the order of the page.
const (
	groupWhat   = "What crashed"
	groupWhere  = "Where"
	groupWhen   = "When"
	groupTraces = "Traces"
	groupSystem = "System"
	groupLogs   = "Logs"
	groupRest   = "Everything else"
)

var groups = []string{groupWhat, groupWhere, groupWhen, groupTraces, groupSystem, groupLogs, groupRest}

// describeField returns the entry and position of a field. The name of an unknown field decides its
// group.
func describeField(name string) (e entry, place int) {
	for i, known := range dictionary {
		if known.name == name {
			return known.entry, i
		}
	}
	last := len(dictionary)
	switch {
	case strings.HasPrefix(name, "SenderStacktrace"):
		return entry{groupTraces, "as the machine sent it, before mishap symbolised the report"}, last
	case strings.HasPrefix(name, "dmi."):
		return entry{groupWhere, "hardware, according to its firmware"}, last
	case strings.Contains(name, "Stacktrace"), strings.Contains(name, "Traceback"):
		return entry{groupTraces, "a stack that the program or a hook added"}, last
	case strings.Contains(name, "Log"), strings.Contains(name, "Dmesg"), strings.Contains(name, "log"):
		return entry{groupLogs, "a log that a hook of the package added"}, last
	case strings.HasPrefix(name, "Proc"):
		return entry{groupSystem, "from the folder of the process, or of the system, in /proc"}, last
	case strings.HasPrefix(name, "etc."), strings.HasPrefix(name, "modified.conffile."),
		strings.HasPrefix(name, "mtime.conffile."):
		return entry{groupSystem, "configuration file that was changed on the machine"}, last
	case strings.HasPrefix(name, "upstart."), strings.HasPrefix(name, "systemd."):
		return entry{groupSystem, "how the service is started"}, last
	default:
		return entry{groupRest, "added by a hook of the package or by the program"}, last
	}
}

// Values beyond these limits are folded, so that the next one stays visible.
const (
	foldLines = 12
	foldRunes = 800
)

// FieldGroups returns the fields of a report by group, without empty groups. It includes empty
// values, because they may matter.
func FieldGroups(fields crash.Fields) []FieldGroup {
	type placed struct {
		Field
		place int
	}
	byGroup := map[string][]placed{}
	for name, value := range fields {
		e, place := describeField(name)
		byGroup[e.group] = append(byGroup[e.group], placed{Field{
			Name: name, Meaning: e.meaning, Value: value,
			Trace:  e.group == groupTraces || name == "CurrentDmesg" || name == "VmCoreDmesg",
			Folded: strings.Count(value, "\n") >= foldLines || utf8.RuneCountInString(value) > foldRunes,
		}, place})
	}
	var sorted []FieldGroup
	for _, name := range groups {
		list := byGroup[name]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b placed) int {
			if a.place != b.place {
				return a.place - b.place
			}
			return strings.Compare(a.Name, b.Name)
		})
		group := FieldGroup{Name: name}
		for _, f := range list {
			group.Fields = append(group.Fields, f.Field)
		}
		sorted = append(sorted, group)
	}
	return sorted
}

// oneLine reports whether the value fits into one line.
func (f Field) oneLine() bool {
	return !strings.Contains(f.Value, "\n") && utf8.RuneCountInString(f.Value) <= 200
}

// wide reports whether the value needs the width of both columns.
func (f Field) wide() bool { return f.Folded || !f.oneLine() || utf8.RuneCountInString(f.Value) > 60 }

// id returns the id of the group's element.
func (g FieldGroup) id() string {
	return "fields-" + strings.ReplaceAll(strings.ToLower(g.Name), " ", "-")
}

// lines returns the number of lines of the value.
func (f Field) lines() int { return strings.Count(strings.TrimSuffix(f.Value, "\n"), "\n") + 1 }
