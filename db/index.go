package db

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db/reader"
)

// IndexDays is how many days of daily counts the index holds: the longest period that lists offer,
// and a margin.
const IndexDays = 400

// indexCache holds the index of this process. Each lock is a channel with one slot, which the
// holder of the lock fills.
type indexCache struct {
	updating   chan struct{} // lock of loading and updating the index
	judging    chan struct{} // lock of judging problems; the index may be updated meanwhile
	deciding   chan struct{} // lock of setting the manual status of problems
	loaded     atomic.Pointer[loadedIndex]
	states     atomic.Pointer[statuses]
	triaged    atomic.Pointer[triaged]
	background sync.WaitGroup // judging that continues without a caller
}

// loadedIndex is an index, the versions in use, and the stamp of the counts in them.
type loadedIndex struct {
	ix    *index.Index
	inUse *versionsInUse
	at    stamp
}

// CachedLists returns the memory of the lists that this process has cached, in bytes, and their number.
func (s *Store) CachedLists() (size int64, entries int) {
	if l := s.indexCache.loaded.Load(); l != nil {
		return l.ix.CacheSize()
	}
	return 0, 0
}

func newIndexCache() *indexCache {
	return &indexCache{updating: make(chan struct{}, 1), judging: make(chan struct{}, 1), deciding: make(chan struct{}, 1)}
}

// acquire waits for a lock. It returns Unavailable if ctx ends first.
func acquire(ctx context.Context, lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errUnavailable.Because(ctx.Err())
	}
}

const (
	sqlRound        = `select round, ` + serverIDColumns + ` from counting`
	sqlIndexBuckets = `
		select id, head, left(signature, 1001), rule, provisional, problem_type, title, name, executable,
			package, source_package, reports, systems
		from buckets where changed > @round`
	sqlIndexSeen = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version,
			(r.last_seen).seen, (r.last_seen).version,
			coalesce((r.lowest_version).version, ''), coalesce((r.highest_version).version, '')
		from buckets as b join bucket_releases as r on r.bucket_id = b.id
		where b.changed > @round`
	// sqlIndexSystems counts the machines of changed problems that have several buckets. A machine counts
	// once, even if it is in several of them.
	sqlIndexSystems = `
		select c.head, (
			select count(distinct system) from bucket_systems
			where bucket_id in (select id from buckets where head = c.head)
		)
		from (select distinct head from buckets where changed > @round) as c
		where exists (select from buckets as m where m.head = c.head and m.id <> c.head)`
	sqlIndexShrunk = `select id from buckets where changed > @round and shrunk > @round`
	sqlIndexCells  = `
		select bucket_id, day, release, version, architecture, package_architecture, reports
		from bucket_days where day >= @since`
	sqlIndexNewer = `
		select d.bucket_id, d.day, d.release, d.version, d.architecture, d.package_architecture, d.reports
		from buckets as b join bucket_days as d on d.bucket_id = b.id
		where b.changed > @round and d.changed > @round and d.day >= @since`
	sqlIndexCellsOf = `
		select bucket_id, day, release, version, architecture, package_architecture, reports
		from bucket_days where bucket_id = any(@ids) and day >= @since`
)

// IndexSince returns the first UTC day for which the index holds all reports.
func (s *Store) IndexSince() time.Time {
	return s.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-IndexDays)
}

// Index returns an index of all problems, with their manual status, that includes everything counted
// and decided before the call. The first call loads it, which takes seconds if there are millions of
// daily counts. It returns Unavailable if ctx ends or the database is unavailable. It omits problems
// that the reader of ctx must not see.
func (s *Store) Index(ctx context.Context) (*index.Index, error) {
	b, _, err := s.wholeIndex(ctx)
	if err != nil {
		return nil, err
	}
	return visible(ctx, s, b)
}

// wholeIndex returns the index with all problems, and the revision that it has at least.
func (s *Store) wholeIndex(ctx context.Context) (*index.Index, revision, error) {
	now, err := s.revision(ctx)
	if err != nil {
		return nil, now, fmt.Errorf("index: %w", err)
	}
	ctx = reader.Everything(ctx)
	l, err := s.currentIndex(ctx, now.stamp)
	if err != nil {
		return nil, now, fmt.Errorf("index: %w", err)
	}
	return l.ix, now, s.setTriage(ctx, l.ix, now)
}

// currentIndex returns the index that has at least the counts of a stamp.
func (s *Store) currentIndex(ctx context.Context, at stamp) (*loadedIndex, error) {
	if l := s.indexCache.loaded.Load(); l != nil && l.at == at {
		return l, nil
	}
	if err := acquire(ctx, s.indexCache.updating); err != nil {
		return nil, err
	}
	defer func() { <-s.indexCache.updating }()
	if err := s.indexCache.update(reader.Everything(ctx), s); err != nil {
		return nil, Classify(err)
	}
	return s.indexCache.loaded.Load(), nil
}

// stamp returns the identity of the database server and the round number, at present or as
// [OneRevision] remembers them. Every change of problems and counts increases that number.
func (s *Store) stamp(ctx context.Context) (stamp, error) {
	if ctx.Value(seenKey{}) == nil {
		return stampNow(ctx, s)
	}
	r, err := s.revision(ctx)
	return r.stamp, err
}

func stampNow(ctx context.Context, s *Store) (at stamp, err error) {
	err = s.Pool.QueryRow(ctx, sqlRound).Scan(append([]any{&at.round}, at.server.columns()...)...)
	return at, Classify(err)
}

// update applies all changes since the last update to the index. Some rows may be newer than the
// round number, which is read first; applying them again next time changes nothing. If the server
// was restarted or replaced, update loads a new index. The database may then be an older copy,
// without some of the counts in the index.
func (k *indexCache) update(ctx context.Context, s *Store) error {
	at, err := stampNow(ctx, s)
	if err != nil {
		return err
	}
	next, last := &loadedIndex{at: at}, k.loaded.Load()
	if last != nil && at == last.at {
		return nil
	}
	if last != nil && at.server == last.at.server && at.round > last.at.round {
		next.ix, next.inUse = last.ix, last.inUse
		if err := s.applyNewer(ctx, last); err != nil {
			return err
		}
		var changed bool
		if err := s.Pool.QueryRow(ctx, sqlVersionsChanged, pgx.NamedArgs{"round": last.at.round}).Scan(&changed); err != nil {
			return err
		}
		if changed {
			if next.inUse, err = readVersionsInUse(ctx, s); err != nil {
				return err
			}
		}
		k.loaded.Store(next)
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the next caller needs it too
	if next.ix, err = s.loadIndex(ctx); err != nil {
		return err
	}
	if next.inUse, err = readVersionsInUse(ctx, s); err != nil {
		return err
	}
	k.states.Store(nil)
	k.triaged.Store(nil)
	k.loaded.Store(next)
	return nil
}

// loadTime limits how long it may take to load the index or to judge all problems.
const loadTime = 10 * time.Minute

func (s *Store) loadIndex(ctx context.Context) (*index.Index, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	args := s.indexArgs(-1)
	buckets, err := s.indexBuckets(ctx, args)
	if err != nil {
		return nil, err
	}
	systems, err := s.indexSystems(ctx, args)
	if err != nil {
		return nil, err
	}
	b := index.New()
	b.Update(func(u *index.Updater) { // this locks the index for long, but no other goroutine has it yet
		applyRows(u, buckets, systems, nil, nil)
		err = s.indexCells(ctx, sqlIndexCells, args, func(c indexCell) { c.apply(u) })
	})
	return b, err
}

func (s *Store) indexArgs(round int64) pgx.NamedArgs {
	return pgx.NamedArgs{"round": round, "since": s.Now().UTC().AddDate(0, 0, -IndexDays)}
}

// applyNewer applies all rows to the index that are newer than its stamp.
func (s *Store) applyNewer(ctx context.Context, last *loadedIndex) error {
	args := s.indexArgs(last.at.round)
	buckets, err := s.indexBuckets(ctx, args)
	if err != nil {
		return err
	}
	systems, err := s.indexSystems(ctx, args)
	if err != nil {
		return err
	}
	shrunk, err := s.indexShrunk(ctx, args)
	if err != nil {
		return err
	}
	var cells []indexCell
	keep := func(c indexCell) { cells = append(cells, c.copy()) }
	if err := s.indexCells(ctx, sqlIndexNewer, args, keep); err != nil {
		return err
	}
	if len(shrunk) > 0 {
		args["ids"] = IDBytes(shrunk)
		if err := s.indexCells(ctx, sqlIndexCellsOf, args, keep); err != nil {
			return err
		}
	}
	last.ix.Update(func(u *index.Updater) { applyRows(u, buckets, systems, shrunk, cells) })
	return nil
}

func applyRows(u *index.Updater, buckets []indexBucket, systems map[crash.BucketID]int64, shrunk []crash.BucketID,
	cells []indexCell) {
	for _, b := range buckets {
		u.SetBucket(b.Bucket, b.seen...)
	}
	for head, n := range systems {
		u.SetSystems(head, n)
	}
	for _, id := range shrunk {
		u.ClearDays(id)
	}
	for _, c := range cells {
		c.apply(u)
	}
}

// indexBucket is a row of buckets, with where and when it was seen.
type indexBucket struct {
	index.Bucket
	seen []crash.SeenSpan // by release
}

func (s *Store) indexBuckets(ctx context.Context, args pgx.NamedArgs) ([]indexBucket, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexBuckets, args)
	if err != nil {
		return nil, err
	}
	buckets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b indexBucket, err error) {
		err = row.Scan(ScanTo(b.ID[:]), ScanTo(b.Head[:]), &b.Signature, &b.Rule, &b.Provisional, &b.Type, &b.Title, &b.Name,
			&b.Executable, &b.Package, &b.Source, &b.Reports, &b.Systems)
		return b, err
	})
	if err != nil {
		return nil, err
	}
	seen, err := s.indexSeen(ctx, args)
	if err != nil {
		return nil, err
	}
	for i, b := range buckets {
		buckets[i].seen = seen[b.ID]
	}
	return buckets, nil
}

// indexSystems reads the number of machines of problems of several buckets, by head.
func (s *Store) indexSystems(ctx context.Context, args pgx.NamedArgs) (map[crash.BucketID]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexSystems, args)
	if err != nil {
		return nil, err
	}
	systems := map[crash.BucketID]int64{}
	var head crash.BucketID
	var n int64
	_, err = pgx.ForEachRow(rows, []any{ScanTo(head[:]), &n}, func() error {
		systems[head] = n
		return nil
	})
	return systems, err
}

// indexSeen reads the occurrences and versions of buckets, by release.
func (s *Store) indexSeen(ctx context.Context, args pgx.NamedArgs) (map[crash.BucketID][]crash.SeenSpan, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexSeen, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[crash.BucketID][]crash.SeenSpan{}
	for rows.Next() {
		var id crash.BucketID
		var span crash.SeenSpan
		if err := rows.Scan(ScanTo(id[:]), &span.First.Release, &span.First.At, &span.First.Version, &span.Last.At,
			&span.Last.Version, &span.Versions.Lowest, &span.Versions.Highest); err != nil {
			return nil, err
		}
		span.Last.Release = span.First.Release
		seen[id] = append(seen[id], span)
	}
	return seen, rows.Err()
}

func (s *Store) indexShrunk(ctx context.Context, args pgx.NamedArgs) ([]crash.BucketID, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexShrunk, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id crash.BucketID, err error) {
		err = row.Scan(ScanTo(id[:]))
		return id, err
	})
}

// indexCell is a row of bucket_days. Its byte slices are valid until the next row is read.
type indexCell struct {
	id                                crash.BucketID
	day                               index.Day
	release, version                  []byte
	architecture, packageArchitecture []byte
	reports                           int64
}

func (c indexCell) apply(u *index.Updater) {
	u.SetCell(c.id, c.day, c.release, c.version, c.architecture, c.packageArchitecture, c.reports)
}

func (c indexCell) copy() indexCell {
	c.release, c.version = bytes.Clone(c.release), bytes.Clone(c.version)
	c.architecture, c.packageArchitecture = bytes.Clone(c.architecture), bytes.Clone(c.packageArchitecture)
	return c
}

// indexCells calls each for every row of bucket_days that a query returns.
func (s *Store) indexCells(ctx context.Context, sql string, args pgx.NamedArgs, each func(indexCell)) error {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var c indexCell
	var day time.Time
	_, err = pgx.ForEachRow(rows, []any{
		ScanTo(c.id[:]), &day, (*pgtype.DriverBytes)(&c.release), (*pgtype.DriverBytes)(&c.version),
		(*pgtype.DriverBytes)(&c.architecture),
		(*pgtype.DriverBytes)(&c.packageArchitecture), &c.reports,
	}, func() error {
		c.day = index.DayOf(day)
		each(c)
		return nil
	})
	return err
}
