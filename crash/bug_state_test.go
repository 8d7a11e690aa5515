package crash_test

import (
	"testing"

	"mishap/crash"
)

func task(target, status string) crash.BugTask {
	t := crash.BugTask{Target: target, Status: status}
	switch status {
	case "Fix Released", "Invalid", "Won't Fix", "Opinion", "Expired", "Does Not Exist":
		t.Complete, t.Closed = true, closing
	}
	return t
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []crash.BugTask
		want  bool
	}{
		"no tasks":               {nil, false},
		"all":                    {[]crash.BugTask{task("/ubuntu/+source/a", "Invalid"), task("/ubuntu/noble/+source/a", "Fix Released")}, true},
		"one is open":            {[]crash.BugTask{task("/ubuntu/+source/a", "New"), task("/ubuntu/noble/+source/a", "Fix Released")}, false},
		"upstream does not mind": {[]crash.BugTask{task("/a", "New"), task("/ubuntu/+source/a", "Fix Released")}, true},
		"upstream alone":         {[]crash.BugTask{task("/a", "New")}, false},
	} {
		if got := (crash.BugReading{Tasks: tt.tasks}).Closed(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
