package stats

import (
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// JudgeManual computes the manual status of a problem. all contains its entries, sorted by ID, and
// seen the versions in which it was seen. It is the only place that compares versions marked as
// fixed with reports; the derived status is Judge's.
func JudgeManual(all []crash.Mark, seen []crash.VersionSeen, now time.Time) crash.ManualStatus {
	m := crash.ManualStatus{Fixes: crash.StandingFixes(all)}
	for i := range all {
		t := &all[i]
		switch {
		case t.Kind == crash.MarkEmbargo && t.Stands() && m.Embargo == nil:
			m.Embargo = t
		case t.Kind == crash.MarkHold && t.Stands() && m.Hold == nil:
			m.Hold = t
		case t.Kind == crash.MarkMuted && t.Stands():
			m.Muted = t
		case t.Kind == crash.MarkWontFix && t.Stands():
			m.WontFix = t
		}
		if t.Kind.Restricts() {
			continue
		}
		switch { // a decision after the return shows that a person has noticed it
		case t.RecentlyReturned(now):
			m.Returned = t
		case m.Returned != nil && t.At.After(m.Returned.EndedAt):
			m.Returned = nil
		}
	}
	if m.Muted != nil {
		m.Returned = nil
	}
	for i := range m.Fixes {
		seenAgain(&m.Fixes[i], seen)
	}
	return m
}

// seenAgain sets how often a problem was seen in a version with the fix since the fix was stored. Of
// versions that the problem had not been seen in then, such as those of a problem that was merged into it
// later, reports count unless all are older.
func seenAgain(f *crash.ManualFix, seen []crash.VersionSeen) {
	decided := crash.Midnight(f.By.At)
	for _, o := range seen {
		before, known := f.By.Before[o.Release][o.Version]
		if o.Reports <= before || !known && o.Last.Before(decided) || !f.Has(o.Release, o.Version) {
			continue
		}
		f.Again += o.Reports - before
		f.Last = later(f.Last, o.Last)
		newer := o.Release.Compare(f.AgainIn)
		if f.AgainAt == "" || newer > 0 || newer == 0 && dpkg.Compare(o.Version, f.AgainAt) > 0 {
			f.AgainIn, f.AgainAt = o.Release, o.Version
		}
	}
}

// Met returns the sentence that says which condition of a mute is met by the versions in which the
// problem was seen, or "" if none is. known contains the highest version per release when it was
// muted.
func Met(u crash.MuteUntil, seen []crash.FixedIn, known map[crash.Release]string) string {
	for _, o := range seen {
		if !dpkg.Valid(o.Version) {
			continue
		}
		if u.Version != "" && (u.Release == "" || u.Release == o.Release) && dpkg.Compare(o.Version, u.Version) >= 0 {
			return crash.SeenIn(o.Release, o.Version)
		}
		if highest, before := known[o.Release]; u.Newer && (!before || dpkg.Order(o.Version, highest) > 0) {
			return crash.SeenIn(o.Release, o.Version)
		}
	}
	return ""
}
