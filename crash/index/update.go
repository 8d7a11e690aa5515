package index

import (
	"encoding/binary"
	"slices"

	"mishap/crash"
)

// Updater changes an index; see [Index.Update].
type Updater struct {
	ix       *Index
	heads    map[crash.BucketID]bool // problems to rebuild
	updated  []*bucket               // buckets that were added or replaced
	unsorted []*bucket
	moved    map[*bucket]bool // buckets whose first or last day may have changed
}

// Update calls change while it holds the lock of the index. Lists see either all of the changes or
// none.
func (ix *Index) Update(change func(*Updater)) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	u := &Updater{ix: ix, heads: map[crash.BucketID]bool{}, moved: map[*bucket]bool{}}
	change(u)
	u.finish()
}

// SetBucket adds a bucket, or replaces its data. seen has an entry for each release. The days of the
// bucket are not affected.
func (u *Updater) SetBucket(l Bucket, seen ...crash.SeenSpan) {
	l.Signature = crash.Truncate(l.Signature, MaxSignature)
	u.ix.shareTexts(&l)
	releases := make([]Facts, len(seen))
	for i, span := range seen {
		releases[i] = u.ix.labels.facts(span)
	}
	l.setSeen(releases)
	l.fold()
	l.setPublic()
	known := u.ix.buckets[l.ID]
	before := &Bucket{}
	if known == nil {
		known = &bucket{}
		u.ix.buckets[l.ID] = known
	} else {
		before = known.Bucket
		u.heads[known.Head] = true
	}
	known.Bucket = &l
	known.changed = u.ix.change + 1
	u.addToPackage(known, before, l.Package)
	if l.Source != l.Package {
		u.addToPackage(known, before, l.Source)
	}
	u.heads[l.Head] = true
	u.updated = append(u.updated, known)
	if l.Type != "" {
		u.ix.types[l.Type] = true
	}
}

// addToPackage adds a bucket to the buckets of a package, unless before had the same package.
func (u *Updater) addToPackage(l *bucket, before *Bucket, name string) {
	if name != "" && name != before.Package && name != before.Source {
		u.ix.byPackage[name] = append(u.ix.byPackage[name], l)
	}
}

// ClearDays removes the days of a bucket, before SetCell sets them again.
func (u *Updater) ClearDays(id crash.BucketID) {
	if l := u.ix.buckets[id]; l != nil {
		l.cells, l.unsorted = nil, false
		l.changed = u.ix.change + 1
		u.moved[l] = true
	}
}

// SetCell sets the number of reports of a bucket on a day. It ignores unknown buckets: their cells
// follow when they are added. machine and pkg are the architectures of the machine and of the
// package.
func (u *Updater) SetCell(id crash.BucketID, day Day, release, version, machine, pkg []byte, reports int64) {
	l := u.ix.buckets[id]
	if l == nil {
		return
	}
	l.changed = u.ix.change + 1
	c := cell{
		day: day, origin: u.originNumber(release, machine, pkg), version: u.versionNumber(version),
		n: uint32(min(max(reports, 0), 1<<32-1)),
	}
	if len(l.cells) == 0 && !l.unsorted {
		l.unsorted = true
		u.unsorted = append(u.unsorted, l)
		u.moved[l] = true
	}
	if l.unsorted {
		l.cells = append(l.cells, c)
		return
	}
	i, found := slices.BinarySearchFunc(l.cells, c, cell.compare)
	if found {
		l.cells[i].n = c.n
		return
	}
	l.cells = slices.Insert(l.cells, i, c)
	u.moved[l] = true
}

// versionNumber returns the number of a version. The lookup does not copy the text.
func (u *Updater) versionNumber(text []byte) uint32 {
	if n, ok := u.ix.versions.of[string(text)]; ok {
		return n
	}
	return u.ix.versions.add(string(text))
}

// originNumber returns the number of an origin. If there are more than 16 bits can number, the last
// number stands for the others.
func (u *Updater) originNumber(release, machine, pkg []byte) uint16 {
	n, ok := u.ix.origins.of[origin{string(release), string(machine), string(pkg)}]
	if !ok && len(u.ix.origins.values) < 1<<16 {
		n = u.ix.origins.add(origin{string(release), string(machine), string(pkg)})
	} else if !ok {
		n = 1<<16 - 1
	}
	return uint16(n)
}

// finish sorts the new days and rebuilds the changed problems.
func (u *Updater) finish() {
	for _, l := range u.unsorted {
		slices.SortFunc(l.cells, cell.compare)
		l.cells, l.unsorted = append(make([]cell, 0, len(l.cells)), lastOfEach(l.cells)...), false // without spare capacity
	}
	if len(u.heads) > 0 {
		u.rebuild()
	}
	for l := range u.moved {
		if p := u.ix.problems[l.Head]; p != nil {
			u.ix.scan[p.place].update(p, u.ix.buckets[p.ID])
		}
	}
	u.ix.change++
}

// lastOfEach returns the last cell of each run of equal ones.
func lastOfEach(cells []cell) []cell {
	kept := cells[:0]
	for _, c := range cells {
		if n := len(kept); n > 0 && kept[n-1].compare(c) == 0 {
			kept[n-1] = c
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// rebuild builds the changed problems from all their buckets.
func (u *Updater) rebuild() {
	members := map[crash.BucketID][]*bucket{}
	if len(u.heads) > 1000 {
		for _, l := range u.ix.buckets {
			members[l.Head] = append(members[l.Head], l)
		}
	} else {
		u.collectMembers(members)
	}
	for id := range u.heads {
		u.ix.replace(id, members[id])
	}
}

// collectMembers finds the buckets of the changed problems without a scan of all buckets: those
// that a problem had, and the updated ones.
func (u *Updater) collectMembers(members map[crash.BucketID][]*bucket) {
	seen := map[*bucket]bool{}
	add := func(l *bucket) {
		if l != nil && !seen[l] {
			seen[l] = true
			members[l.Head] = append(members[l.Head], l)
		}
	}
	for id := range u.heads {
		add(u.ix.buckets[id])
		if p := u.ix.problems[id]; p != nil {
			for _, l := range p.buckets {
				add(l)
			}
		}
	}
	for _, l := range u.updated {
		add(l)
	}
}

// replace stores a problem made of these buckets, or removes it if its head no longer exists.
func (ix *Index) replace(id crash.BucketID, buckets []*bucket) {
	head := ix.buckets[id]
	old := ix.problems[id]
	if head == nil || head.Head != id {
		if old != nil {
			ix.remove(old)
		}
		return
	}
	head.changed = ix.change + 1
	p := &Problem{Bucket: head.Bucket, buckets: buckets}
	if len(buckets) > 1 {
		sum := *head.Bucket
		p.Bucket = &sum
		var facts []Facts
		for _, l := range buckets {
			facts = append(facts, l.byRelease()...)
			if l != head {
				sum.Reports += l.Reports
				sum.Systems += l.Systems
			}
		}
		sum.setSeen(joinReleases(facts))
		sum.fold()
		sum.setPublic()
	}
	if old != nil {
		p.State, p.Bug, p.Triage, p.place = old.State, old.Bug, old.Triage, old.place // until SetStates is called
		p.People = old.People
		ix.order[p.place] = p
	} else {
		p.place = len(ix.order)
		ix.order, ix.scan = append(ix.order, p), append(ix.scan, scan{})
	}
	ix.problems[id] = p
	s := scan{key: binary.BigEndian.Uint64(id[:]), muted: p.Muted()}
	s.update(p, head)
	ix.scan[p.place] = s
}

func (ix *Index) remove(p *Problem) {
	delete(ix.problems, p.ID)
	last := len(ix.order) - 1
	moved := *ix.order[last]
	moved.place = p.place
	ix.order[p.place], ix.scan[p.place] = &moved, ix.scan[last]
	ix.order, ix.scan = ix.order[:last], ix.scan[:last]
	if p.place < last {
		ix.problems[moved.ID] = &moved
	}
}
