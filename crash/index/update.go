package index

import (
	"encoding/binary"
	"slices"

	"mishap/crash"
)

// Updater changes a index; see [Index.Update].
type Updater struct {
	b     *Index
	heads map[crash.BucketID]bool // problems to be put together anew
	told  []*leaf                 // buckets that were added or replaced
	loose []*leaf
	moved map[*leaf]bool // whose first or last day may be another one
}

// Update calls change with the index held still. Lists see all of the changes or none.
func (b *Index) Update(change func(*Updater)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := &Updater{b: b, heads: map[crash.BucketID]bool{}, moved: map[*leaf]bool{}}
	change(u)
	u.finish()
}

// Leaf adds a bucket, or replaces what is known of it; its days stay.
func (u *Updater) Leaf(l Leaf) {
	l.Signature = crash.Truncate(l.Signature, MaxSignature)
	u.b.once(&l)
	l.Facts = overall(l.Releases)
	l.fold()
	l.hide()
	known := u.b.leaves[l.ID]
	before := &Leaf{}
	if known == nil {
		known = &leaf{}
		u.b.leaves[l.ID] = known
	} else {
		before = known.Leaf
		u.heads[known.Head] = true
	}
	known.Leaf = &l
	known.changed = u.b.change + 1
	u.name(known, before, l.Package)
	if l.Source != l.Package {
		u.name(known, before, l.Source)
	}
	u.heads[l.Head] = true
	u.told = append(u.told, known)
	if l.Type != "" {
		u.b.types[l.Type] = true
	}
}

// name makes a bucket known by the name of a package, when it was not before.
func (u *Updater) name(l *leaf, before *Leaf, name string) {
	if name != "" && name != before.Package && name != before.Source {
		u.b.byPackage[name] = append(u.b.byPackage[name], l)
	}
}

// Forget drops the days of a bucket, before they are told anew.
func (u *Updater) Forget(id crash.BucketID) {
	if l := u.b.leaves[id]; l != nil {
		l.cells, l.loose = nil, false
		l.changed = u.b.change + 1
		u.moved[l] = true
	}
}

// Cell sets how often a bucket was seen on a day. Cells of buckets that are not known are passed over: they come again with
// their bucket. machine and pkg are the architectures of the machine and of the package.
func (u *Updater) Cell(id crash.BucketID, day Day, release, version, machine, pkg []byte, reports int64) {
	l := u.b.leaves[id]
	if l == nil {
		return
	}
	l.changed = u.b.change + 1
	c := cell{
		day: day, place: u.place(release, machine, pkg), version: u.version(version),
		n: uint32(min(max(reports, 0), 1<<32-1)),
	}
	if len(l.cells) == 0 && !l.loose {
		l.loose = true
		u.loose = append(u.loose, l)
		u.moved[l] = true
	}
	if l.loose {
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

// version is the number of a version. Looking a text up makes no copy of it.
func (u *Updater) version(text []byte) uint32 {
	if n, ok := u.b.versions.of[string(text)]; ok {
		return n
	}
	return u.b.versions.add(string(text))
}

// place is the number of a place. Those that are too many for 16 bits are taken for the last.
func (u *Updater) place(release, machine, pkg []byte) uint16 {
	n, ok := u.b.places.of[place{string(release), string(machine), string(pkg)}]
	if !ok && len(u.b.places.values) < 1<<16 {
		n = u.b.places.add(place{string(release), string(machine), string(pkg)})
	} else if !ok {
		n = 1<<16 - 1
	}
	return uint16(n)
}

// finish brings days into order and problems together.
func (u *Updater) finish() {
	for _, l := range u.loose {
		slices.SortFunc(l.cells, cell.compare)
		l.cells, l.loose = append(make([]cell, 0, len(l.cells)), once(l.cells)...), false // without what was kept ready for more
	}
	if len(u.heads) > 0 {
		u.gather()
	}
	for l := range u.moved {
		if p := u.b.problems[l.Head]; p != nil {
			u.b.scan[p.place].update(p, u.b.leaves[p.ID])
		}
	}
	u.b.change++
}

// once keeps the last of cells that were told twice.
func once(cells []cell) []cell {
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

// gather makes the problems of the heads that changed of all their buckets.
func (u *Updater) gather() {
	members := map[crash.BucketID][]*leaf{}
	if len(u.heads) > 1000 {
		for _, l := range u.b.leaves {
			members[l.Head] = append(members[l.Head], l)
		}
	} else {
		u.few(members)
	}
	for id := range u.heads {
		u.b.put(id, members[id])
	}
}

// few looks at the buckets that the changed problems had and those that now name them as head.
func (u *Updater) few(members map[crash.BucketID][]*leaf) {
	seen := map[*leaf]bool{}
	add := func(l *leaf) {
		if l != nil && !seen[l] {
			seen[l] = true
			members[l.Head] = append(members[l.Head], l)
		}
	}
	for id := range u.heads {
		add(u.b.leaves[id])
		if p := u.b.problems[id]; p != nil {
			for _, l := range p.leaves {
				add(l)
			}
		}
	}
	for _, l := range u.told {
		add(l)
	}
}

// put replaces a problem; without buckets it goes.
func (b *Index) put(id crash.BucketID, leaves []*leaf) {
	head := b.leaves[id]
	old := b.problems[id]
	if head == nil || head.Head != id {
		if old != nil {
			b.remove(old)
		}
		return
	}
	head.changed = b.change + 1
	p := &Problem{Leaf: head.Leaf, leaves: leaves}
	if len(leaves) > 1 {
		sum := *head.Leaf
		p.Leaf = &sum
		var facts []*Facts
		for _, l := range leaves {
			facts = append(facts, l.Releases...)
			if l != head {
				sum.Reports += l.Reports
				sum.Systems += l.Systems
			}
		}
		sum.Releases = byRelease(facts)
		sum.Facts = overall(sum.Releases)
		sum.fold()
		sum.hide()
	}
	if old != nil {
		p.State, p.Bug, p.place = old.State, old.Bug, old.place // until they are judged anew
		b.order[p.place] = p
	} else {
		p.place = len(b.order)
		b.order, b.scan = append(b.order, p), append(b.scan, scan{})
	}
	b.problems[id] = p
	s := scan{key: binary.BigEndian.Uint64(id[:])}
	s.update(p, head)
	b.scan[p.place] = s
}

func (b *Index) remove(p *Problem) {
	delete(b.problems, p.ID)
	last := len(b.order) - 1
	moved := *b.order[last]
	moved.place = p.place
	b.order[p.place], b.scan[p.place] = &moved, b.scan[last]
	b.order, b.scan = b.order[:last], b.scan[:last]
	if p.place < last {
		b.problems[moved.ID] = &moved
	}
}
