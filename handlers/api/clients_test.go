package api_test

import (
	"net/http"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
)

// TestReportsState checks the states of bugs as the tracker reports them (§9.7).
func TestReportsState(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.save(1, now, crashtest.Native())
	c := h.Visitor(t)
	var got struct {
		Reports map[string][2]any `json:"reports"`
	}
	c.PostJSON(api("reports-state/"), map[string]any{"reports": []any{"7", 8, "x"}}).Want(http.StatusCreated).JSON(&got)
	for _, number := range []string{"7", "8", "x"} {
		if state, ok := got.Reports[number]; !ok || state != [2]any{nil, nil} {
			t.Errorf("%s: got %v, want an unknown state", number, state)
		}
	}

	// Create one bug and read it from the tracker.
	triager := h.As(t, crash.RoleTriager)
	var made struct {
		Report string `json:"report"`
	}
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": nativeSignature()}).Want(
		http.StatusCreated).JSON(&made)
	number := h.Tracker.Bugs()[0].Number
	state := func(release string, tasks ...crash.BugTask) [2]any {
		t.Helper()
		reading := crash.BugReading{Number: number, Tasks: tasks, DuplicateOf: 5}
		if len(tasks) == 0 {
			reading = crash.BugReading{Number: number, Hidden: true}
		}
		checktest.NoError(t, h.Bugs.SaveBugReading(t.Context(), reading, "https://tracker.example/bugs/5", time.Hour))
		got.Reports = nil
		c.PostJSON(api("reports-state/"), map[string]any{"reports": []any{made.Report}, "release": release}).Want(
			http.StatusCreated).JSON(&got)
		return got.Reports[made.Report]
	}
	whole := crash.BugTask{Target: "/ubuntu/+source/tidewatch", Status: "Fix Released", Complete: true}
	noble := crash.BugTask{Target: "/ubuntu/noble/+source/tidewatch", Status: "New"}
	other := crash.BugTask{Target: "/tidewatch", Status: "New"}
	for _, tt := range []struct {
		name, release string
		tasks         []crash.BugTask
		want          any
	}{
		{"private", "", nil, nil},
		{"all of Ubuntu complete", "", []crash.BugTask{whole, other}, true},
		{"one of Ubuntu open", "", []crash.BugTask{whole, noble}, false},
		{"the series decides", "Ubuntu 24.04", []crash.BugTask{whole, noble}, false},
		{"a series without a task", "Ubuntu 26.04", []crash.BugTask{whole}, true},
	} {
		if got := state(tt.release, tt.tasks...); got[0] != tt.want || tt.tasks != nil && got[1] != "5" {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
