package problems

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/similar"
	"mishap/db"
)

// Twins are looked for when somebody asks for them, by the stacks of the representative reports. So
// nothing is stored that could be out of date after reports were symbolised, moved or removed.

const (
	// sqlShapeReports selects the reports with the most function names, of those that are here.
	sqlShapeReports = `
		select w.id, b.id, b.quality, octet_length(r.body), r.architecture
		from unnest(@problems::bytea[]) as w (id) cross join lateral (
			select q.received, q.id, q.quality from buckets as m cross join lateral (
				select received, id, quality from reports
				where bucket_id = m.id and quality > 1 and received >= @here
				order by quality desc, received desc, id desc limit 1
			) as q
			where m.head = w.id order by q.quality desc, q.received desc, q.id desc limit 1
		) as b join reports as r on r.received = b.received and r.id = b.id and r.received >= @here
		where r.body is not null`
	sqlShapeBodies = `
		select r.id, r.body from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + db.AmongReports + ` where r.body is not null`
)

const (
	maxCompare    = 60 // problems of a program that are compared by stack: those that share most functions
	maxFamily     = 20 // twins
	maxShapeBytes = 16 << 20
)

// shapeKey identifies a stored stack. Symbolising changes the length.
type shapeKey struct {
	report  crash.OopsID
	quality int16
	length  int32
}

// shapeRow is the representative report of a problem.
type shapeRow struct {
	problem      crash.BucketID
	key          shapeKey
	architecture string
}

// member is a problem that may be a twin.
type member struct {
	*index.Problem
	functions    []string // of the signature, or of the shape if it is an address signature
	shared       int      // of these, those that another problem has
	read, known  bool     // its shape was looked for, and found
	architecture string   // of the machine of the representative report
	shape        grouping.Shape
	seen         []crash.VersionSeen
	twins        []*member // nil: not known yet
}

// family finds the twins of one problem.
type family struct {
	s       *Store
	ix      *index.Index
	program []*member // all problems of the program that may have twins
	kin     map[[2]crash.BucketID]grouping.Kinship
}

// Twins returns the twins of a problem, most frequent first: problems of the same program that are of
// the same fault, as far as the stacks of their representative reports prove it. A problem that could be
// a twin of several different ones is none. The reader of ctx gets no problem that is hidden from them.
func (s *Store) Twins(ctx context.Context, b crash.Bucket) ([]grouping.Twin, error) {
	found, err := s.twins(ctx, b.ID)
	if err != nil {
		return nil, db.Wrap(err, "twins of %s", b.ID)
	}
	twins, err := withBuckets(ctx, s, found, func(t *grouping.Twin) *crash.Bucket { return &t.Bucket })
	if err != nil {
		return nil, db.Wrap(err, "twins of %s", b.ID)
	}
	slices.SortStableFunc(twins, func(a, b grouping.Twin) int { return cmp.Compare(b.Reports, a.Reports) })
	return twins, nil
}

// twins returns the twins of a problem with only their ids.
func (s *Store) twins(ctx context.Context, id crash.BucketID) ([]grouping.Twin, error) {
	ix, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := ix.Problem(id)
	if !ok || p.ID != id || p.Executable == "" || p.Type != "Crash" {
		return nil, nil
	}
	f := &family{s: s, ix: ix, kin: map[[2]crash.BucketID]grouping.Kinship{}}
	var root *member
	for _, q := range ix.Select(func(q *index.Problem) bool { return q.Executable == p.Executable && q.Type == p.Type }) {
		m := newMember(q)
		f.program = append(f.program, m)
		if q.ID == id {
			root = m
		}
	}
	if root == nil || len(f.program) < 2 {
		return nil, nil
	}
	if err := f.read(ctx, []*member{root}); err != nil || !root.known {
		return nil, err
	}
	return f.of(ctx, root)
}

// newMember returns a problem whose shape was not read. The signature of a provisional one has no
// functions, but some of its frames may have names.
func newMember(p *index.Problem) *member {
	m := &member{Problem: p}
	for _, name := range similar.Functions(p.Rule, p.Signature) {
		if grouping.Telling(name) && !slices.Contains(m.functions, name) {
			m.functions = append(m.functions, name)
		}
	}
	return m
}

// of returns all that are twins of a problem, or of its twins.
func (f *family) of(ctx context.Context, root *member) ([]grouping.Twin, error) {
	var twins []grouping.Twin
	known := map[crash.BucketID]bool{root.ID: true}
	for queue := []*member{root}; len(queue) > 0 && len(twins) < maxFamily; queue = queue[1:] {
		at := queue[0]
		near, err := f.near(ctx, at)
		if err != nil {
			return nil, err
		}
		if at == root && f.ambiguous(at) {
			return nil, nil
		}
		for _, m := range near {
			if known[m.ID] {
				continue
			}
			known[m.ID] = true
			if _, err := f.near(ctx, m); err != nil {
				return nil, err
			}
			if f.ambiguous(m) {
				continue
			}
			t := grouping.Twin{Bucket: crash.Bucket{ID: m.ID}, Like: root.ID}
			k := f.compare(root, m)
			if !k.Twins {
				t.Like, k = at.ID, f.compare(at, m)
			}
			t.Reason = k.Reason
			twins, queue = append(twins, t), append(queue, m)
		}
	}
	return twins, nil
}

// ambiguous reports whether a problem lacks functions that two of its twins have, and these contradict
// each other. Then it may be of either fault, or of both.
func (f *family) ambiguous(m *member) bool {
	var fuller []*member
	for _, n := range m.twins {
		if k := f.compare(m, n); k.FirstLacks {
			fuller = append(fuller, n)
		}
	}
	for i, a := range fuller {
		for _, b := range fuller[:i] {
			if k := f.compare(a, b); k.Contradict && !k.Twins {
				return true
			}
		}
	}
	return false
}

// compare compares the stacks of two problems.
func (f *family) compare(a, b *member) grouping.Kinship {
	key := [2]crash.BucketID{a.ID, b.ID}
	if k, ok := f.kin[key]; ok {
		return k
	}
	k := grouping.Compare(a.shape, b.shape, f.oneBuild(a, b))
	f.kin[key] = k
	k.FirstLacks, k.SecondLacks = k.SecondLacks, k.FirstLacks
	f.kin[[2]crash.BucketID{b.ID, a.ID}] = k
	return f.kin[key]
}

// oneBuild reports whether both problems were seen in one version and release. Builds for two
// architectures are two.
func (f *family) oneBuild(a, b *member) bool {
	if a.architecture != b.architecture {
		return false
	}
	for _, m := range []*member{a, b} {
		if m.seen == nil {
			m.seen = f.ix.Spans(m.ID)
		}
	}
	return slices.ContainsFunc(a.seen, func(x crash.VersionSeen) bool {
		return slices.ContainsFunc(b.seen, func(y crash.VersionSeen) bool {
			return x.Version == y.Version && x.Release == y.Release
		})
	})
}

// near returns the twins of a problem among those that share functions with it.
func (f *family) near(ctx context.Context, m *member) ([]*member, error) {
	if m.twins != nil {
		return m.twins, nil
	}
	var candidates, unread []*member
	for _, c := range f.program {
		if c.shared = c.sharedWith(m); c.ID != m.ID && (c.shared > 0 || c.Provisional && !c.read) {
			candidates = append(candidates, c)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *member) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(b.Reports, a.Reports))
	})
	candidates = candidates[:min(len(candidates), maxCompare)]
	for _, c := range candidates {
		if !c.read {
			unread = append(unread, c)
		}
	}
	if err := f.read(ctx, unread); err != nil {
		return nil, err
	}
	m.twins = []*member{}
	for _, c := range candidates {
		if c.known && f.compare(m, c).Twins {
			m.twins = append(m.twins, c)
		}
	}
	return m.twins, nil
}

// sharedWith returns how many functions the signatures of two problems share, without those that every
// program has. Twins share at least one.
func (m *member) sharedWith(other *member) (n int) {
	for _, name := range m.functions {
		if slices.Contains(other.functions, name) {
			n++
		}
	}
	return n
}

// read reads the shapes of problems.
func (f *family) read(ctx context.Context, unread []*member) error {
	ids := make([]crash.BucketID, len(unread))
	of := map[crash.BucketID]*member{}
	for i, m := range unread {
		ids[i], of[m.ID], m.read = m.ID, m, true
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := db.Recent(ctx, f.s.Handle, func(ctx context.Context, since time.Time) ([]shapeRow, bool, error) {
		rows, err := db.List(ctx, f.s.Pool, sqlShapeReports, pgx.NamedArgs{"problems": ids, "here": since},
			db.Into(func(r *shapeRow) []any {
				return []any{&r.problem, (*[16]byte)(&r.key.report), &r.key.quality, &r.key.length, &r.architecture}
			}))
		return rows, true, err
	})
	if err != nil {
		return err
	}
	shapes, err := f.s.shapes(ctx, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if shape := shapes[r.key]; shape != nil {
			m := of[r.problem]
			m.shape, m.architecture, m.known = *shape, r.architecture, true
			if m.Provisional {
				m.functions = shape.Functions()
			}
		}
	}
	return nil
}

// shapes returns the shapes of reports, nil for those that have none. It reads only the bodies of reports whose
// shapes are not cached.
func (s *Store) shapes(ctx context.Context, rows []shapeRow) (map[shapeKey]*grouping.Shape, error) {
	all := map[shapeKey]*grouping.Shape{}
	var unread []shapeRow
	for _, r := range rows {
		shape, err := s.cachedShape(r.key, nil, errNotCached)
		if all[r.key] = shape; err != nil {
			unread = append(unread, r)
		}
	}
	if len(unread) == 0 {
		return all, nil
	}
	ids := make([]crash.OopsID, len(unread))
	for i, r := range unread {
		ids[i] = r.key.report
	}
	read, err := s.Pool.Query(ctx, sqlShapeBodies, db.ReportsArgs(ids))
	if err != nil {
		return nil, err
	}
	var id [16]byte
	var body []byte
	_, err = pgx.ForEachRow(read, []any{&id, &body}, func() error {
		i := slices.Index(ids, crash.OopsID(id))
		return s.ReadBody(ctx, body, func(f crash.Fields) {
			var shape *grouping.Shape
			if found, ok := grouping.NewShape(f); ok {
				shape = &found
			}
			all[unread[i].key], _ = s.cachedShape(unread[i].key, shape, nil)
		})
	})
	return all, err
}

// cachedShape returns the cached shape of a report. If there is none, it returns shape and err, and caches
// shape if err is nil.
func (s *Store) cachedShape(key shapeKey, shape *grouping.Shape, err error) (*grouping.Shape, error) {
	return cache.Get(s.shapeCache, struct{}{}, key, func() (*grouping.Shape, error) { return shape, err })
}

var errNotCached = errors.New("the shape is not cached")

// BestHead returns the problem that should represent all. It prefers complete signatures to
// provisional ones, then problems with a bug, then those with the most reports.
func BestHead(buckets []crash.Bucket) crash.Bucket { return slices.MaxFunc(buckets, compareHeads) }

func compareHeads(a, b crash.Bucket) int {
	rank := func(b crash.Bucket) (n int) {
		if !b.Provisional {
			n += 2
		}
		if b.Bug.Number != 0 {
			n++
		}
		return n
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Reports, b.Reports))
}

// MergeTwins merges a problem with its twins on behalf of a rule. See [db.Decisions.MergeTwins] for those that
// it leaves out.
func (s *Store) MergeTwins(ctx context.Context, problem crash.BucketID, rule string) error {
	b, err := s.Bucket(ctx, problem)
	if crash.KindOf(err) == crash.NotFound {
		return nil // removed since
	}
	if err != nil {
		return err
	}
	twins, err := s.Twins(ctx, b)
	if err != nil || len(twins) == 0 {
		return err
	}
	all, reasons := []crash.Bucket{b}, map[crash.BucketID]string{}
	for _, t := range twins {
		all = append(all, t.Bucket)
	}
	slices.SortStableFunc(all, func(x, y crash.Bucket) int { return compareHeads(y, x) })
	if all[0].ID != b.ID {
		if twins, err = s.twins(ctx, all[0].ID); err != nil {
			return err
		}
	}
	for _, t := range twins {
		reasons[t.ID] = t.Reason
	}
	ids := make([]crash.BucketID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	_, err = db.NewDecisions(s.Store).MergeTwins(ctx, b.ID, ids, reasons, rule)
	return err
}
