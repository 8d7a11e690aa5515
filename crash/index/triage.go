package index

import (
	"slices"

	"mishap/crash"
)

// Triage is the part of a problem's manual status that lists show. It is immutable.
type Triage struct {
	Muted, WontFix bool
	Held           bool            // nothing of it is removed because of its age
	Embargoed      bool            // only some people see it
	Until          crash.MuteUntil // of a mute
	Fixes          []crash.Triage  // standing entries with versions marked as fixed, without persons and reasons
}

// MutedChoice says what a list does with muted problems.
type MutedChoice string

// The choices. Lists for people hide muted problems unless the person wants them.
const (
	MutedShown  MutedChoice = ""
	MutedHidden MutedChoice = "hidden"
	MutedOnly   MutedChoice = "only"
)

// Muted reports whether the problem is muted.
func (p *Problem) Muted() bool { return p.Triage != nil && p.Triage.Muted }

// Held reports whether nothing of the problem is removed because of its age.
func (p *Problem) Held() bool { return p.Triage != nil && p.Triage.Held }

// SetTriage sets the manual status of all problems. Problems without an entry have none. Rows that
// were returned earlier keep the old status.
func (ix *Index) SetTriage(all map[crash.BucketID]*Triage) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	changed := false
	for i, p := range ix.order {
		t := all[p.ID]
		if p.Triage.equal(t) {
			continue
		}
		other := *p
		other.Triage = t
		ix.order[i] = &other
		ix.scan[i].muted = other.Muted()
		changed = true
	}
	if changed {
		ix.change++
	}
}

func (t *Triage) equal(other *Triage) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Muted == other.Muted && t.Held == other.Held && t.Embargoed == other.Embargoed &&
		t.Until.Equal(other.Until) && t.WontFix == other.WontFix &&
		slices.EqualFunc(t.Fixes, other.Fixes, func(a, b crash.Triage) bool { return a.ID == b.ID }) // entries never change
}
