package index

import (
	"slices"

	"mishap/crash"
)

// week is the number of UTC days that [crash.VersionSeen.Week] counts, today included.
const week = 7

// Occurrences returns the versions and releases in which a problem was seen on the days of the
// index, in no order. It leaves out versions of merged buckets of other packages, which cannot be
// compared.
func (b *Index) Occurrences(p *Problem, today Day) []crash.VersionSeen {
	b.mu.RLock()
	defer b.mu.RUnlock()
	type key struct {
		version int64 // number of the version, or -1 if it cannot be compared
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

// Changed returns the problems that have changed after a change of the index, and the latest
// change. Change 0 is before all.
func (b *Index) Changed(since uint64) (changed []*Problem, now uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, p := range b.order {
		if slices.ContainsFunc(p.leaves, func(l *leaf) bool { return l.changed > since }) {
			changed = append(changed, p)
		}
	}
	return changed, b.change
}

// Select returns the problems that ok accepts, in no order. It must not call methods of the index.
func (b *Index) Select(ok func(*Problem) bool) []*Problem {
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

// State is the state of a problem and the number of its bug, or 0.
type State struct {
	Word crash.StateWord
	Bug  int64
}

// SetStates sets the states of some problems. New problems have none.
func (b *Index) SetStates(states map[crash.BucketID]State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	for id, s := range states {
		p := b.problems[id]
		if p == nil || p.State == s.Word && p.Bug == s.Bug {
			continue
		}
		other := *p // rows that were returned keep the old state
		other.State, other.Bug = s.Word, s.Bug
		b.order[p.place], b.problems[id] = &other, &other
		changed = true
	}
	if changed {
		b.change++
	}
}

// statePlace returns the place of a problem in the order of states: those that need a person first,
// those without a bug last.
func statePlace(p *Problem) int {
	if p.Bug == 0 {
		return len(crash.StateWords) + 1
	}
	if i := slices.Index(crash.StateWords, p.State); i >= 0 {
		return i
	}
	return len(crash.StateWords)
}
