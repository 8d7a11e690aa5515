package index

import (
	"slices"

	"mishap/crash"
)

// Occurrences returns the versions and releases in which a problem was seen, in no particular
// order, for the days of the index. It omits versions of merged buckets of other packages, which
// are not comparable.
func (ix *Index) Occurrences(p *Problem, today Day) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	const incomparable = 1 << 48         // instead of the number of a version
	week := Day(crash.PeriodWeek.Days()) //nolint:gosec // 7
	var keys []uint64                    // of a version and a release
	var list []crash.VersionSeen
	var first, last []Day
	for l := range ix.bucketsOf(p) {
		for _, c := range l.cells {
			if c.n == 0 {
				continue
			}
			k := ix.inRelease(c)
			if l.Package != p.Package {
				k = incomparable | k&(1<<16-1)
			}
			i := slices.Index(keys, k) // linear search: most problems have few versions
			if i < 0 {
				i = len(keys)
				keys = append(keys, k)
				o := crash.VersionSeen{Release: crash.Release(ix.origins.values[c.origin].release)}
				if l.Package == p.Package {
					o.Version = ix.versions.values[c.version]
				}
				list = append(list, o)
				first, last = append(first, c.day), append(last, c.day)
			}
			list[i].Reports += int64(c.n)
			if c.day+week > today && c.day <= today {
				list[i].Week += int64(c.n)
			}
			first[i], last[i] = min(first[i], c.day), max(last[i], c.day)
		}
	}
	for i := range list {
		list[i].First, list[i].Last = first[i].Time(), last[i].Time()
	}
	return list
}

// Changed returns the problems that have changed since a change of the index, and the number of the
// latest change. Change 0 precedes all others.
func (ix *Index) Changed(since uint64) (changed []*Problem, now uint64) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, p := range ix.order {
		if ix.hidden[p.ID] {
			continue
		}
		for l := range ix.bucketsOf(p) {
			if l.changed > since {
				changed = append(changed, p)
				break
			}
		}
	}
	return changed, ix.change
}

// Select returns the problems for which ok returns true, in no particular order. ok must not call
// methods of the index.
func (ix *Index) Select(ok func(*Problem) bool) []*Problem {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var found []*Problem
	for _, p := range ix.order {
		if !ix.hidden[p.ID] && ok(p) {
			found = append(found, p)
		}
	}
	return found
}

// State is the state of a problem, the number of its bug or 0, and who takes care of it.
type State struct {
	Word   crash.StateWord
	Bug    int64
	People *People
}

// SetStates sets the states of some problems. New problems have no state.
func (ix *Index) SetStates(states map[crash.BucketID]State) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	changed := false
	for id, s := range states {
		p := ix.problem(id)
		if p == nil || p.State == s.Word && p.Bug == s.Bug && samePeople(p.People, s.People) {
			continue
		}
		other := *p // rows that were returned earlier keep the old state
		other.State, other.Bug = s.Word, s.Bug
		other.People = s.People
		ix.order[p.place] = &other
		changed = true
	}
	if changed {
		ix.change++
	}
}

// stateRank returns the rank of a problem by state. States that need a person come first, problems
// without a bug last.
func stateRank(p *Problem) int {
	if p.Bug == 0 {
		return len(crash.StateWords) + 1
	}
	if i := slices.Index(crash.StateWords, p.State); i >= 0 {
		return i
	}
	return len(crash.StateWords)
}
