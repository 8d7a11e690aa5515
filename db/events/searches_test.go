package events_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/events"
	"mishap/db/people"
	dbproblems "mishap/db/problems"
	"mishap/handlers/problems"
)

// search saves a search and lets people follow it.
func (w *world) search(t *testing.T, owner int64, name, path string, shared bool, followers ...int64) int64 {
	t.Helper()
	a := people.New(w.store)
	id, err := dbproblems.New(w.store).SaveSearch(t.Context(), crash.SavedSearch{Name: name, Path: path, OwnerID: owner,
		Shared: shared})
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range followers {
		f := crash.Follow{Kind: crash.FollowSearch, Name: strconv.FormatInt(id, 10)}
		if err := a.Follow(t.Context(), user, f); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// searching returns options of rules that read saved searches as the pages do.
func (w *world) searching() events.EvaluatorOptions {
	return events.EvaluatorOptions{Searches: problems.NewSearches(bugs.New(w.store), w.now)}
}

// TestSearchFollowers checks that people who follow a search hear of problems in it, once each, and of
// no others; also by searches of other kinds, and of storms.
func TestSearchFollowers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.o = w.searching()
	w.restart(t, 2)
	fay := w.user(t, "fay", crash.RoleTriager)
	gus := w.user(t, "gus", crash.RoleViewer, follow("tide")) // also follows the package: one notice
	hal := w.user(t, "hal", "")                               // sees what visitors see
	ida := w.user(t, "ida", crash.RoleTriager)
	w.search(t, fay, "tide", "/search?period=week&q=package%3Atide", true, fay, gus, hal)
	w.search(t, ida, "mine", "/search?q=assignee%3Ame", false, ida, fay) // fay cannot see it
	w.search(t, ida, "jammy", "/?period=day&release=Ubuntu+22.04", false, ida)
	w.search(t, ida, "old days", "/?from=2026-01-01&to=2026-01-31&package=tide", false, ida)
	w.search(t, ida, "muted", "/?muted=only&package=tide", false, ida)
	w.search(t, ida, "not valid", "/search?q=%28", false, ida)
	gone := w.search(t, ida, "deleted", "/?package=tide", false, ida)
	if err := dbproblems.New(w.store).DeleteSearch(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.evaluate(t)
	w.set(begin.Add(time.Minute))
	w.machines(t, "one", 3, "tide 1.0-1", nil)
	w.machines(t, "other", 3, "reef 1.0-1", nil)
	w.machines(t, "there", 3, "reef 1.0-1", crash.Fields{"DistroRelease": "Ubuntu 22.04"})
	w.evaluate(t)
	told := []string{"01 new one crashed to fay", "01 new one crashed to gus", "01 new one crashed to hal",
		"01 new there crashed to ida"}
	wantLines(t, "new", w.events(t), told...)
	wantLines(t, "reasons", w.lines(t, `select distinct reason from notices`), "you follow tide",
		"you follow the search “tide”", "you follow the search “jammy”")
	w.restart(t, 2)
	w.set(begin.Add(2 * time.Minute))
	w.machines(t, "one", 4, "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "after a restart", w.events(t), told...)

	// A regression of a problem that is assigned to ida.
	w.exec(t, `insert into assignments (bucket_id, assignee, person, at) select id, 'ida', 'ada', now() from buckets
		where signature = 'other'`)
	w.set(begin.Add(24 * time.Hour))
	w.link(t, "other", 7)
	w.report(t, "other", "machine 1", "reef 1.1-1", nil)
	w.evaluate(t)
	told = append(told, "02 regressed other crashed to ida")
	wantLines(t, "regressed", w.events(t), told...)

	// A storm: one notice for those who follow a search with any of its problems.
	w.set(begin.Add(48 * time.Hour))
	for i := range 12 {
		w.machines(t, fmt.Sprint("storm ", i), 3, "tide 2.0-1", nil)
	}
	w.evaluate(t)
	told = append(told, "03 storm Many new problems of tide to fay", "03 storm Many new problems of tide to gus",
		"03 storm Many new problems of tide to hal")
	wantLines(t, "storm", w.events(t), told...)
}
