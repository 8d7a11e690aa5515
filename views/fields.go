package views

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/views/text"
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

// groups lists the groups in the order of the page.
var groups = []string{text.FieldsWhat, text.FieldsWhere, text.FieldsWhen, text.FieldsTraces, text.FieldsSystem,
	text.FieldsLogs, text.FieldsRest}

// describeField returns the meaning and position of a field. The name of an unknown field decides its
// group.
func describeField(name string) (m text.FieldMeaning, place int) {
	for i, known := range text.FieldMeanings {
		if known.Name == name {
			return known.FieldMeaning, i
		}
	}
	last := len(text.FieldMeanings)
	switch {
	case strings.HasPrefix(name, "SenderStacktrace"):
		return text.FieldMeaning{Group: text.FieldsTraces, Meaning: text.FieldAsSent}, last
	case strings.HasPrefix(name, "dmi."):
		return text.FieldMeaning{Group: text.FieldsWhere, Meaning: text.FieldHardware}, last
	case strings.Contains(name, "Stacktrace"), strings.Contains(name, "Traceback"):
		return text.FieldMeaning{Group: text.FieldsTraces, Meaning: text.FieldOtherStack}, last
	case strings.Contains(name, "Log"), strings.Contains(name, "Dmesg"), strings.Contains(name, "log"):
		return text.FieldMeaning{Group: text.FieldsLogs, Meaning: text.FieldOtherLog}, last
	case strings.HasPrefix(name, "Proc"):
		return text.FieldMeaning{Group: text.FieldsSystem, Meaning: text.FieldFromProc}, last
	case strings.HasPrefix(name, "etc."), strings.HasPrefix(name, "modified.conffile."),
		strings.HasPrefix(name, "mtime.conffile."):
		return text.FieldMeaning{Group: text.FieldsSystem, Meaning: text.FieldConfiguration}, last
	case strings.HasPrefix(name, "upstart."), strings.HasPrefix(name, "systemd."):
		return text.FieldMeaning{Group: text.FieldsSystem, Meaning: text.FieldService}, last
	default:
		return text.FieldMeaning{Group: text.FieldsRest, Meaning: text.FieldUnknown}, last
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
		m, place := describeField(name)
		byGroup[m.Group] = append(byGroup[m.Group], placed{Field{
			Name: name, Meaning: m.Meaning, Value: value,
			Trace:  m.Group == text.FieldsTraces || name == "CurrentDmesg" || name == "VmCoreDmesg",
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
