package index

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/version"
)

// BucketRow is what an index knows of a bucket from the database, to be saved and restored without it.
type BucketRow struct {
	Bucket
	Program  uint32           // a number; see [Index.Rows]
	Plain    bool             // visitors see the bucket as it is, apart from the title
	Seen     []crash.SeenSpan // by release
	Machines int64            // see [Updater.SetSystems]
	Cells    []Cell
}

// Cell is the number of reports of a bucket on a day. Version and Origin are numbers; see [Index.Rows].
type Cell struct {
	Version, Reports uint32
	Day              Day
	Origin           uint16
}

// Origin is the release and the architectures of a report: of the machine and of the package.
type Origin struct{ Release, Machine, Package string }

// Rows returns the buckets with numbers from from up to until, the programs to which they and the versions and origins
// to which their cells refer, and whether there are more. Buckets keep their numbers; new ones follow.
func (ix *Index) Rows(from, until int) (rows []BucketRow, programs []Program, versions []string, origins []Origin,
	more bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, o := range ix.origins.values {
		origins = append(origins, Origin{o.release, o.machine, o.pkg})
	}
	for at := from; at < min(until, len(ix.scan)); at++ {
		if ix.scan[at].head != unknown {
			rows = append(rows, ix.row(int32(at))) //nolint:gosec // numbers have 32 bits
		}
	}
	return rows, slices.Clip(ix.programs.values), slices.Clip(ix.versions.values), origins, until < len(ix.scan)
}

func (d *data) row(at int32) BucketRow {
	b := d.bucket(at)
	of := d.programs.values[b.program]
	signature, rest, _ := strings.Cut(b.text, "\x00")
	title, name, _ := strings.Cut(rest, "\x00")
	r := BucketRow{Program: b.program, Plain: d.more(at).public == nil, Machines: d.systems[at], Bucket: Bucket{
		ID: b.id, Head: d.bucket(d.scan[at].head).id, Signature: signature, Rule: of.Rule, Provisional: b.provisional,
		Type: of.Type, Title: title, Name: name, Executable: of.Executable, Package: of.Package, Source: of.Source,
		Reports: b.reports, Systems: b.systems,
	}}
	releases := b.releases
	if releases == nil && b.facts != (facts{}) {
		releases = []facts{b.facts}
	}
	for _, f := range releases {
		all := Facts{d.labels, f}
		r.Seen = append(r.Seen, crash.SeenSpan{First: all.First(), Last: all.Last(),
			Versions: version.Range{Lowest: all.LowestVersion(), Highest: all.HighestVersion()}})
	}
	for _, c := range b.cells {
		r.Cells = append(r.Cells, Cell{c.version, c.n, c.day, c.origin})
	}
	return r
}

// SetRow adds a bucket with its days, which the index must not have yet. Its numbers of programs, versions and origins
// are those that Program, Version and Origin have returned. Only a row that is not plain needs [Bucket.Prepare].
func (u *Updater) SetRow(r BucketRow) {
	public := (*Bucket).publicCopy
	if r.Plain {
		public = func(*Bucket) *Bucket { return nil }
	}
	at := u.setBucket(r.Bucket, r.Program, r.Seen, public)
	if r.Machines != 0 {
		u.SetSystems(r.ID, r.Machines)
	}
	cells := make([]cell, len(r.Cells))
	for i, c := range r.Cells {
		cells[i] = cell{c.Version, c.Reports, c.Day, c.Origin}
		u.days.add(int(c.Day))
	}
	slices.SortFunc(cells, cell.compare)
	u.ix.bucket(at).cells = cells
	u.moved.add(int(at))
}

// Version returns the number of a version.
func (u *Updater) Version(text string) uint32 { return u.versionNumber([]byte(text)) }

// Origin returns the number of an origin.
func (u *Updater) Origin(o Origin) uint16 {
	return u.originNumber([]byte(o.Release), []byte(o.Machine), []byte(o.Package))
}
