package crash

import "strings"

// Pick returns the tasks that ok accepts.
func Pick(tasks []BugTask, ok func(BugTask) bool) []BugTask {
	var out []BugTask
	for _, t := range tasks {
		if ok(t) {
			out = append(out, t)
		}
	}
	return out
}

// SourcePackage is the package of a distribution that the task is about; empty: it is about something else.
func (t BugTask) SourcePackage() string {
	if p := t.path(); len(p) >= 3 && p[len(p)-2] == "+source" {
		return p[len(p)-1]
	}
	return ""
}

// Distribution is the distribution whose package the task is about; empty: it is about something else.
func (t BugTask) Distribution() string {
	if t.SourcePackage() == "" {
		return ""
	}
	return t.path()[0]
}

// Series is the series of a distribution that the task is about; empty: it is about all of them.
func (t BugTask) Series() string {
	if p := t.path(); len(p) == 4 && p[2] == "+source" || len(p) == 2 {
		return p[1]
	}
	return ""
}

func (t BugTask) path() []string { return strings.Split(strings.Trim(t.Target, "/"), "/") }
