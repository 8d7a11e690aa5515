package problems_test

import (
	"testing"

	"mishap/crash"
	"mishap/db"
)

// TestDecisionsOfMerged checks that a merged problem is muted if the problem that it was merged into is, that the
// conditions count the reports of both, and that undoing the merge restores what was before.
func TestDecisionsOfMerged(t *testing.T) {
	t.Parallel()
	f := start(t)
	from, into := f.crash(1, 1), f.crash(2, 1)
	decisions := db.NewDecisions(f.Store.Store)
	merge := func() {
		t.Helper()
		if _, err := decisions.Merge(t.Context(), into, []crash.BucketID{from}, "anna", ""); err != nil {
			t.Fatal(err)
		}
	}
	separate := func() {
		t.Helper()
		all, err := decisions.Decisions(t.Context(), into, 1)
		if err != nil || len(all) != 1 {
			t.Fatalf("got %v, %v", all, err)
		}
		if _, err := decisions.Undo(t.Context(), all[0].ID, "anna"); err != nil {
			t.Fatal(err)
		}
	}

	// Only the problem that is merged is muted: the other one stays visible, and the history says why.
	hidden := f.mute(from, crash.MuteUntil{Reports: 2})
	f.set(crash.Mark{Bucket: from, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Version: "1.4-3"}}})
	if _, err := f.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	merge()
	f.wantMuted(into, false, "merged into a visible problem")
	m, history, err := f.Triage(t.Context(), into)
	if err != nil || len(m.Fixes) != 1 || m.Returned != nil || len(history) != 2 || !history[0].Merged {
		t.Errorf("merged: got %+v, %+v, %v; want the fix, and a mute that the merge has ended", m, history, err)
	}
	f.end()
	separate()
	f.wantMuted(from, true, "separated")
	if m := f.status(into); len(m.Fixes) != 0 || m.Muted != nil {
		t.Errorf("separated: got %+v, want nothing", m)
	}

	// Both are muted: the mute of the other problem counts, and can be replaced.
	shown := f.mute(into, crash.MuteUntil{Reports: 3})
	merge()
	if m := f.status(into); m.Muted == nil || m.Muted.ID != shown.ID {
		t.Errorf("got %+v, want the mute of the problem that stays", m.Muted)
	}
	later := f.set(crash.Mark{Bucket: from, Kind: crash.MarkMuted, Until: crash.MuteUntil{Reports: 2},
		Replaces: shown.ID})
	f.end()
	f.crash(2, 1)
	f.end()
	f.wantMuted(into, true, "after one report")
	f.crash(1, 1)
	f.end()
	f.wantMuted(into, false, "after two reports, one of the merged problem")
	if m := f.status(into); m.Returned == nil || m.Returned.ID != later.ID {
		t.Errorf("got %+v, want the return of mute %d", m, later.ID)
	}
	separate()
	if m := f.status(from); m.Muted == nil || m.Muted.ID != hidden.ID || len(m.Fixes) != 1 {
		t.Errorf("separated: got %+v, want the first mute and the fix", m)
	}

	// Only the problem that stays is muted: it remains so.
	if _, err := f.Undo(t.Context(), hidden.ID, "anna"); err != nil {
		t.Fatal(err)
	}
	f.mute(into, crash.MuteUntil{Newer: true})
	merge()
	f.wantMuted(into, true, "merged into a muted problem")
}
