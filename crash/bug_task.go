package crash

import "strings"

// Pick returns the tasks for which ok returns true.
func Pick(tasks []BugTask, ok func(BugTask) bool) []BugTask {
	var out []BugTask
	for _, t := range tasks {
		if ok(t) {
			out = append(out, t)
		}
	}
	return out
}

// SourcePackage returns the distribution's source package that the task is about, or "" if it is
// about anything else.
func (t BugTask) SourcePackage() string {
	if p := t.path(); len(p) >= 3 && p[len(p)-2] == "+source" {
		return p[len(p)-1]
	}
	return ""
}

// Distribution returns the distribution whose source package the task is about, or "" if it is
// about anything else.
func (t BugTask) Distribution() string {
	if t.SourcePackage() == "" {
		return ""
	}
	return t.path()[0]
}

// Series returns the series that the task is about, or "" if it is about every series.
func (t BugTask) Series() string {
	if p := t.path(); len(p) == 4 && p[2] == "+source" || len(p) == 2 {
		return p[1]
	}
	return ""
}

func (t BugTask) path() []string { return strings.Split(strings.Trim(t.Target, "/"), "/") }
