package board

import (
	"slices"

	"mishap/crash"
)

// week is how many UTC days [crash.VersionSeen.Week] counts, today included.
const week = 7

// Occurrences returns in which versions and releases a problem was seen, as far back as the board knows days, in no order.
// Versions of other packages than the problem's, of buckets that were merged into it, are left out: they cannot be compared.
func (b *Board) Occurrences(p *Problem, today Day) []crash.VersionSeen {
	b.mu.RLock()
	defer b.mu.RUnlock()
	type key struct {
		version int64 // its number; -1: none that can be compared
		release string
	}
	var keys []key
	var list []crash.VersionSeen
	var first, last []Day
	for _, l := range p.leaves {
		for _, c := range l.cells {
			k := key{int64(c.version), b.places.values[c.place].release}
			if l.Package != p.Package {
				k.version = -1
			}
			i := slices.Index(keys, k) // few: most problems are seen in a handful of versions
			if i < 0 {
				i = len(keys)
				keys = append(keys, k)
				o := crash.VersionSeen{Release: crash.Release(k.release)}
				if k.version >= 0 {
					o.Version = b.versions.values[k.version]
				}
				list = append(list, o)
				first, last = append(first, c.day), append(last, c.day)
			}
			list[i].Reports += int64(c.n)
			if c.day+week > today {
				list[i].Week += int64(c.n)
			}
			if c.n > 0 {
				first[i], last[i] = min(first[i], c.day), max(last[i], c.day)
			}
		}
	}
	for i := range list {
		list[i].First, list[i].Last = first[i].Time(), last[i].Time()
	}
	return list
}

// Changed returns the problems of which anything was counted or decided after a moment, and the moment up to which this is
// known. Moment 0 is before everything.
func (b *Board) Changed(since uint64) (changed []*Problem, now uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, p := range b.order {
		if slices.ContainsFunc(p.leaves, func(l *leaf) bool { return l.changed > since }) {
			changed = append(changed, p)
		}
	}
	return changed, b.change
}

// Select returns the problems that ok accepts, in no order. It must not call methods of the board.
func (b *Board) Select(ok func(*Problem) bool) []*Problem {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var found []*Problem
	for _, p := range b.order {
		if ok(p) {
			found = append(found, p)
		}
	}
	return found
}

// State is how a problem stands, in one word, and its bug; 0: none.
type State struct {
	Word crash.StateWord
	Bug  int64
}

// SetStates says how the named problems stand. Others keep what they have; new ones have none.
func (b *Board) SetStates(states map[crash.BucketID]State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	for id, s := range states {
		p := b.problems[id]
		if p == nil || p.State == s.Word && p.Bug == s.Bug {
			continue
		}
		other := *p // lists that were given out keep what they have
		other.State, other.Bug = s.Word, s.Bug
		b.order[p.place], b.problems[id] = &other, &other
		changed = true
	}
	if changed {
		b.change++
	}
}

// statePlace sorts problems by their state: those first that need a person, those without a bug last.
func statePlace(p *Problem) int {
	if p.Bug == 0 {
		return len(crash.StateWords) + 1
	}
	if i := slices.Index(crash.StateWords, p.State); i >= 0 {
		return i
	}
	return len(crash.StateWords)
}
