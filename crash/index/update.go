package index

import (
	"encoding/binary"
	"slices"

	"mishap/crash"
)

// Updater changes an index; see [Index.Update].
type Updater struct {
	ix      *Index
	heads   map[crash.BucketID]bool // problems to rebuild
	updated []int32                 // positions of the buckets that were added or replaced
	moved   map[int32]bool          // positions of buckets with other days
}

// Update calls change while it holds the lock of the index. Lists see either all of the changes or
// none.
func (ix *Index) Update(change func(*Updater)) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	u := &Updater{ix: ix, heads: map[crash.BucketID]bool{}, moved: map[int32]bool{}}
	change(u)
	u.finish()
}

// SetBucket adds a bucket, or replaces its data. seen has an entry for each release. The days of the
// bucket are not affected.
func (u *Updater) SetBucket(l Bucket, seen ...crash.SeenSpan) {
	l.Signature = crash.Truncate(l.Signature, MaxSignature)
	u.ix.shareTexts(&l)
	releases := make([]facts, len(seen))
	for i, span := range seen {
		releases[i] = u.ix.labels.facts(span)
	}
	l.setFacts(u.ix.labels, releases)
	l.fold()
	l.setPublic()
	at, known := u.ix.bucketAt[l.ID]
	before := &Bucket{}
	if known {
		before = u.ix.buckets[at].Bucket
		u.heads[before.Head] = true
	} else {
		at = int32(len(u.ix.buckets)) //nolint:gosec // as many do not fit into memory
		u.ix.bucketAt[l.ID], u.ix.buckets = at, append(u.ix.buckets, bucket{})
	}
	u.ix.buckets[at].Bucket = &l
	u.ix.buckets[at].changed = u.ix.change + 1
	u.addToPackage(at, before, l.Package)
	if l.Source != l.Package {
		u.addToPackage(at, before, l.Source)
	}
	u.heads[l.Head] = true
	u.updated = append(u.updated, at)
	if l.Type != "" {
		u.ix.types[l.Type] = true
	}
}

// SetSystems sets the number of distinct machines of a problem of several buckets. It ignores unknown
// buckets.
func (u *Updater) SetSystems(head crash.BucketID, n int64) {
	if at, ok := u.ix.bucketAt[head]; ok {
		u.ix.buckets[at].systems = n
		u.heads[head] = true
	}
}

// addToPackage adds a bucket to the buckets of a package, unless before had the same package.
func (u *Updater) addToPackage(at int32, before *Bucket, name string) {
	if name != "" && name != before.Package && name != before.Source {
		u.ix.byPackage[name] = append(u.ix.byPackage[name], at)
	}
}

// ClearDays removes the days of a bucket, before SetCell sets them again.
func (u *Updater) ClearDays(id crash.BucketID) {
	if at, ok := u.ix.bucketAt[id]; ok {
		l := &u.ix.buckets[at]
		l.cells = nil
		l.changed = u.ix.change + 1
		u.moved[at] = true
	}
}

// SetCell sets the number of reports of a bucket on a day. It ignores unknown buckets: their cells
// follow when they are added. machine and pkg are the architectures of the machine and of the
// package.
func (u *Updater) SetCell(id crash.BucketID, day Day, release, version, machine, pkg []byte, reports int64) {
	at, ok := u.ix.bucketAt[id]
	if !ok {
		return
	}
	l := &u.ix.buckets[at]
	l.changed = u.ix.change + 1
	c := cell{
		day: day, origin: u.originNumber(release, machine, pkg), version: u.versionNumber(version),
		n: uint32(min(max(reports, 0), 1<<32-1)),
	}
	i, found := slices.BinarySearchFunc(l.cells, c, cell.compare)
	if found {
		l.cells[i].n = c.n
		return
	}
	l.cells = slices.Insert(l.cells, i, c)
	u.moved[at] = true
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
		u.ix.releaseOf = append(u.ix.releaseOf, uint16(u.ix.releases.Number(string(release)))) //nolint:gosec // at most n
	} else if !ok {
		n = 1<<16 - 1
	}
	return uint16(n)
}

// finish rebuilds the changed problems.
func (u *Updater) finish() {
	members := u.members()
	for id := range u.heads {
		u.ix.replace(id, members[id])
	}
	for at := range u.moved {
		l := &u.ix.buckets[at]
		l.cells = slices.Clone(l.cells) // without spare capacity
		if p := u.ix.problem(l.Head); p != nil {
			u.ix.setDays(p)
		}
	}
	u.ix.change++
}

// members returns the buckets of the changed problems: those that a problem had, and the updated ones.
func (u *Updater) members() map[crash.BucketID][]int32 {
	members, seen := map[crash.BucketID][]int32{}, map[int32]bool{}
	add := func(at int32) {
		if !seen[at] {
			seen[at] = true
			head := u.ix.buckets[at].Head
			members[head] = append(members[head], at)
		}
	}
	for id := range u.heads {
		if at, ok := u.ix.bucketAt[id]; ok {
			add(at)
		}
		if p := u.ix.problem(id); p != nil {
			add(p.head)
			for _, at := range p.merged {
				add(at)
			}
		}
	}
	for _, at := range u.updated {
		add(at)
	}
	return members
}

// replace stores the problem with this id, made of the buckets at the given positions. If the bucket of
// this id is not a head any more, it removes the problem.
func (ix *Index) replace(id crash.BucketID, members []int32) {
	at, ok := ix.bucketAt[id]
	old := ix.problem(id)
	if !ok || ix.buckets[at].Head != id {
		if old != nil {
			ix.remove(old)
		}
		return
	}
	head := &ix.buckets[at]
	head.changed = ix.change + 1
	p := &Problem{Bucket: head.Bucket, head: at}
	if len(members) > 1 {
		p.merged = slices.DeleteFunc(slices.Clone(members), func(member int32) bool { return member == at })
		p.Bucket = ix.sum(p)
	}
	if old != nil {
		p.State, p.Bug, p.Triage, p.place = old.State, old.Bug, old.Triage, old.place // until SetStates is called
		p.People = old.People
		ix.order[p.place] = p
	} else {
		p.place = int32(len(ix.order)) //nolint:gosec // as many do not fit into memory
		ix.order, ix.scan = append(ix.order, p), append(ix.scan, listScan{})
		ix.places[id] = p.place
	}
	ix.scan[p.place] = listScan{key: binary.BigEndian.Uint64(id[:]), muted: p.Muted()}
	ix.setDays(p)
}

// sum returns the texts of the head of a problem, with the counts and facts of all its buckets.
func (ix *Index) sum(p *Problem) *Bucket {
	sum := *p.Bucket
	sum.Systems = ix.buckets[p.head].systems
	var seen []facts
	for l := range ix.bucketsOf(p) {
		seen = append(seen, l.byRelease()...)
		if l.ID != p.ID {
			sum.Reports += l.Reports
		}
	}
	sum.setFacts(ix.labels, joinReleases(ix.labels, seen))
	sum.fold()
	sum.setPublic()
	return &sum
}

func (ix *Index) remove(p *Problem) {
	delete(ix.places, p.ID)
	last := len(ix.order) - 1
	moved := *ix.order[last]
	moved.place = p.place
	ix.order[p.place], ix.scan[p.place] = &moved, ix.scan[last]
	ix.order, ix.scan = ix.order[:last], ix.scan[:last]
	if int(p.place) < last {
		ix.places[moved.ID] = moved.place
	}
}
