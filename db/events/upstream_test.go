package events_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/rules"
)

// upstream links a bug of an upstream project, at place 1, to a problem, and stores its state.
func (w *world) upstream(t *testing.T, signature string, reading crash.BugReading) {
	t.Helper()
	store := bugs.New(w.store)
	checktest.NoError(t, store.AddBugPlace(t.Context(), crash.BugPlace{Tracker: "gnome", Project: "GNOME/mutter",
		Upstream: true}))
	reading.Number = crash.NumberAt(1, reading.Number)
	if reading.DuplicateOf != 0 {
		reading.DuplicateOf = crash.NumberAt(1, reading.DuplicateOf)
	}
	if signature != "" {
		bug := crash.Bug{Number: reading.Number, URL: "https://gitlab.example/1", By: "ada"}
		dbtest.Must(store.LinkBug(t.Context(), bucketOf(signature), bug))(t)
	}
	checktest.NoError(t, store.SaveBugReading(t.Context(), reading, "https://gitlab.example/2", time.Hour))
}

// taskOf returns the state of a bug with one task, which was closed at a time; zero: it is open.
func taskOf(status string, closed time.Time) []crash.BugTask {
	return []crash.BugTask{{Target: "GNOME/mutter", Name: "GNOME/mutter", Status: status, Complete: status != "Open",
		Closed: closed}}
}

func TestClosedUpstream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"))
	w.exec(t, `update rules set enabled = false`)
	for _, name := range []string{"before", "unknown before", "closed", "fixed", "private", "duplicate", "late"} {
		w.machines(t, name, 2, "tide 1.0-1", nil)
	}
	open := taskOf("Open", time.Time{})
	old := begin.Add(-time.Hour)
	w.upstream(t, "before", crash.BugReading{Number: 1, Title: "Old", Tasks: taskOf("Closed", old)})
	w.upstream(t, "unknown before", crash.BugReading{Number: 2, Title: "Older", Tasks: taskOf("Closed", time.Time{})})
	w.upstream(t, "closed", crash.BugReading{Number: 3, Title: "It falls over", Tasks: open})
	w.upstream(t, "fixed", crash.BugReading{Number: 4, Title: "It breaks", Tasks: open})
	w.upstream(t, "private", crash.BugReading{Number: 5, Tasks: open})
	w.upstream(t, "duplicate", crash.BugReading{Number: 6, Title: "Twice", Tasks: open, DuplicateOf: 7})
	w.upstream(t, "", crash.BugReading{Number: 7, Title: "Once", Tasks: open})
	w.save(t, rules.Rule{When: crash.EventUpstream, Actions: rules.Actions{Followers: true}})
	w.evaluate(t)
	wantLines(t, "at first", w.events(t))

	w.set(begin.Add(time.Hour))
	w.upstream(t, "", crash.BugReading{Number: 3, Title: "It falls over", Tasks: taskOf("Closed", w.now())})
	w.upstream(t, "", crash.BugReading{Number: 4, Title: "It breaks", Tasks: taskOf(crash.FixReleased, w.now())})
	w.upstream(t, "", crash.BugReading{Number: 5, Private: true, Tasks: taskOf("Closed", w.now())})
	w.upstream(t, "", crash.BugReading{Number: 7, Title: "Once", Tasks: taskOf("Closed", w.now())})
	w.upstream(t, "late", crash.BugReading{Number: 8, Title: "Long ago", Tasks: taskOf("Closed", old)})
	w.evaluate(t)
	w.evaluate(t)
	told := []string{"01 upstream closed crashed to fay", "01 upstream duplicate crashed to fay",
		"01 upstream fixed crashed to fay"}
	wantLines(t, "closed", w.events(t), told...)
	wantLines(t, "texts", w.lines(t, `select text from events order by 1`), "Upstream closed mutter#3: It falls over.",
		"Upstream closed mutter#7: Once.", "Upstream fixed mutter#4: It breaks.")

	w.set(begin.Add(2 * time.Hour))
	w.upstream(t, "", crash.BugReading{Number: 3, Title: "It falls over", Tasks: open})
	w.evaluate(t)
	w.set(begin.Add(3 * time.Hour))
	w.upstream(t, "", crash.BugReading{Number: 3, Title: "It falls over", Tasks: taskOf("Closed", w.now())})
	w.evaluate(t)
	wantLines(t, "closed again", w.events(t), append([]string{told[0]}, told...)...)

	found := dbtest.Must(w.rules.Rehearse(t.Context(), rules.Rule{When: crash.EventUpstream, Machines: 1,
		Actions: rules.Actions{Followers: true}, Scope: rules.Scope{Kind: rules.Everything}}, nil))(t)
	var texts []string
	for _, l := range found.Lines {
		texts = append(texts, l.Event.Text)
	}
	wantLines(t, "rehearsal", texts, "Upstream closed mutter#1: Old.", "Upstream closed mutter#3: It falls over.",
		"Upstream closed mutter#7: Once.", "Upstream closed mutter#8: Long ago.", "Upstream fixed mutter#4: It breaks.")
}
