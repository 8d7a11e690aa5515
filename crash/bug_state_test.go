package crash_test

import (
	"testing"

	"mishap/crash"
)

// task returns a task of a bug. In these tests, "New" is the only incomplete status.
func task(target, status string) crash.BugTask {
	return crash.BugTask{Target: target, Status: status, Complete: status != "New"}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []crash.BugTask
		want  bool
	}{
		"no tasks": {nil, false},
		"all": {[]crash.BugTask{task("/ubuntu/+source/a", "Invalid"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, true},
		"one is open": {[]crash.BugTask{task("/ubuntu/+source/a", "New"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, false},
		"upstream does not mind": {[]crash.BugTask{task("/a", "New"), task("/ubuntu/+source/a", "Fix Released")}, true},
		"upstream alone":         {[]crash.BugTask{task("/a", "New")}, false},
	} {
		if got := (crash.BugReading{Tasks: tt.tasks}).Closed(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
