// Package retention compares stored reports with the table of classes: it counts fields, removes
// secret ones, and removes private ones of old reports. It also says what will be removed when.
// Whole months of reports are dropped by package db, core dumps by package worker.
package retention

import (
	"maps"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
)

// Expire returns the fields of a report without private ones, and the sorted names of those that it
// changed. It does not change fields, which must have no secret ones. The report stays in its problem
// when grouping rules are applied again: of a private field that determines the grouping, Expire leaves
// the lines that the rule used, or the whole field if these are not enough. address is the stored
// signature of modules and offsets.
func Expire(table *privacy.Table, fields crash.Fields, address string) (rest crash.Fields, removed []string) {
	rest = maps.Clone(fields)
	for name := range fields {
		if table.Class(name) == privacy.Private {
			delete(rest, name)
			removed = append(removed, name)
		}
	}
	if len(removed) == 0 {
		return fields, nil
	}
	slices.Sort(removed)
	if address != "" && rest["StacktraceAddressSignature"] == "" { // it was computed from private fields
		rest["StacktraceAddressSignature"] = address
	}
	if e := grouping.Explain(fields); !groupedAs(rest, e) {
		for _, name := range removed {
			rest[name] = fields[name]
		}
		for _, name := range removed {
			if delete(rest, name); groupedAs(rest, e) {
				continue
			}
			if rest[name] = usedLines(e, name, fields[name]); !groupedAs(rest, e) {
				rest[name] = fields[name]
			}
		}
	}
	removed = slices.DeleteFunc(removed, func(name string) bool {
		value, there := rest[name]
		return there && value == fields[name]
	})
	if len(removed) == 0 {
		return fields, nil
	}
	privacy.AddNames(rest, crash.ExpiredField, removed)
	return rest, removed
}

// groupedAs reports whether the rules give fields the same result as e.
func groupedAs(fields crash.Fields, e grouping.Explanation) bool {
	now := grouping.SignatureOf(fields)
	return now.Signature == e.Signature && now.Rule == e.Rule
}

// usedLines returns the lines of a field that the grouping rule used.
func usedLines(e grouping.Explanation, name, value string) string {
	for _, p := range e.Passages {
		if p.Field == name {
			return strings.Join(p.UsedLines(value), "\n")
		}
	}
	return ""
}
