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
)

// IndexDays is how many days back the index has counts of single days: the longest period of lists,
// and some more.
const IndexDays = 400

// indexKeeper has the index of this process. Each lock is a channel that is full while somebody
// holds the lock.
type indexKeeper struct {
	updating   chan struct{} // lock: one caller at a time loads or updates the index
	judging    chan struct{} // lock: one caller at a time judges problems; the index may be updated meanwhile
	loaded     atomic.Pointer[loadedIndex]
	states     atomic.Pointer[statuses]
	background sync.WaitGroup // judging that goes on after its caller has left
}

// loadedIndex is a index and the stamp of the counts that are on it.
type loadedIndex struct {
	ix *index.Index
	at stamp
}

func newIndexKeeper() *indexKeeper {
	return &indexKeeper{updating: make(chan struct{}, 1), judging: make(chan struct{}, 1)}
}

// acquire waits for a lock until ctx ends.
func acquire(ctx context.Context, lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errUnavailable.Because(ctx.Err())
	}
}

const (
	sqlRound       = `select round, ` + serverIDColumns + ` from counting`
	sqlIndexLeaves = `
		select id, head, left(signature, 1001), rule, provisional, problem_type, title, name, executable, package, source_package, reports, systems
		from buckets where changed > @round`
	sqlIndexSeen = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version, (r.first_seen).version_key,
			(r.last_seen).seen, (r.last_seen).version, (r.last_seen).version_key,
			coalesce((r.lowest_version).version, ''), coalesce((r.lowest_version).key, ''),
			coalesce((r.highest_version).version, ''), coalesce((r.highest_version).key, '')
		from buckets as b join bucket_releases as r on r.bucket_id = b.id
		where b.changed > @round`
	sqlIndexShrunk = `select id from buckets where changed > @round and shrunk > @round`
	sqlIndexCells  = `select bucket_id, day, release, version, architecture, package_architecture, reports from bucket_days where day >= @since`
	sqlIndexNewer  = `
		select d.bucket_id, d.day, d.release, d.version, d.architecture, d.package_architecture, d.reports
		from buckets as b join bucket_days as d on d.bucket_id = b.id
		where b.changed > @round and d.changed > @round and d.day >= @since`
	sqlIndexCellsOf = `
		select bucket_id, day, release, version, architecture, package_architecture, reports from bucket_days where bucket_id = any(@ids) and day >= @since`
)

// IndexSince returns the first UTC day of which indexes have every report.
func (s *Store) IndexSince() time.Time {
	return s.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-IndexDays)
}

// Index returns all problems, up to date: what was counted before the call is in it. The first call
// loads them, which takes seconds when there are millions of days.
func (s *Store) Index(ctx context.Context) (*index.Index, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if l := s.keeper.loaded.Load(); l != nil && l.at == at {
		return l.ix, nil
	}
	if err := acquire(ctx, s.keeper.updating); err != nil {
		return nil, err
	}
	defer func() { <-s.keeper.updating }()
	b, err := s.keeper.update(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("index: %w", Classify(err))
	}
	return b, nil
}

// stamp returns which database answers, and how many rounds of counting it has seen. The number of
// rounds grows with every change of problems and counts.
func (s *Store) stamp(ctx context.Context) (at stamp, err error) {
	err = s.Pool.QueryRow(ctx, sqlRound).Scan(&at.round, &at.server.started, &at.server.database)
	return at, Classify(err)
}

// update applies to the index what has changed since the last update. Rows may be newer than the
// round that is read first; they come again with the next update and then change nothing. After a
// restart of the server, or on another one, update loads a new index: the database may be an older
// copy, which lacks what is on the index.
func (k *indexKeeper) update(ctx context.Context, s *Store) (*index.Index, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, err
	}
	last := k.loaded.Load()
	if last != nil && at == last.at {
		return last.ix, nil
	}
	if last != nil && at.server == last.at.server && at.round > last.at.round {
		if err := s.applyNewer(ctx, last); err != nil {
			return nil, err
		}
		k.loaded.Store(&loadedIndex{last.ix, at})
		return last.ix, nil
	}
	b, err := s.loadIndex(context.WithoutCancel(ctx)) // the next caller needs it, too
	if err != nil {
		return nil, err
	}
	k.states.Store(nil)
	k.loaded.Store(&loadedIndex{b, at})
	return b, nil
}

// loadTime is the longest time that loading the index, or judging all problems, may take.
const loadTime = 10 * time.Minute

func (s *Store) loadIndex(ctx context.Context) (*index.Index, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	args := s.indexArgs(-1)
	leaves, err := s.indexLeaves(ctx, args)
	if err != nil {
		return nil, err
	}
	b := index.New()
	b.Update(func(u *index.Updater) { // locks the index for long, but nobody else has it yet
		applyRows(u, leaves, nil, nil)
		err = s.indexCells(ctx, sqlIndexCells, args, func(c indexCell) { c.apply(u) })
	})
	return b, err
}

func (s *Store) indexArgs(round int64) pgx.NamedArgs {
	return pgx.NamedArgs{"round": round, "since": s.Now().UTC().AddDate(0, 0, -IndexDays)}
}

// applyNewer applies to a index what is newer than its stamp.
func (s *Store) applyNewer(ctx context.Context, last *loadedIndex) error {
	args := s.indexArgs(last.at.round)
	leaves, err := s.indexLeaves(ctx, args)
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
	last.ix.Update(func(u *index.Updater) { applyRows(u, leaves, shrunk, cells) })
	return nil
}

func applyRows(u *index.Updater, leaves []index.Bucket, shrunk []crash.BucketID, cells []indexCell) {
	for _, l := range leaves {
		u.SetBucket(l)
	}
	for _, id := range shrunk {
		u.ClearDays(id)
	}
	for _, c := range cells {
		c.apply(u)
	}
}

func (s *Store) indexLeaves(ctx context.Context, args pgx.NamedArgs) ([]index.Bucket, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexLeaves, args)
	if err != nil {
		return nil, err
	}
	leaves, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l index.Bucket, err error) {
		err = row.Scan(ScanTo(l.ID[:]), ScanTo(l.Head[:]), &l.Signature, &l.Rule, &l.Provisional, &l.Type, &l.Title, &l.Name,
			&l.Executable, &l.Package, &l.Source,
			&l.Reports, &l.Systems)
		return l, err
	})
	if err != nil {
		return nil, err
	}
	seen, err := s.indexSeen(ctx, args)
	if err != nil {
		return nil, err
	}
	for i := range leaves {
		leaves[i].Releases = seen[leaves[i].ID]
	}
	return leaves, nil
}

// indexSeen reads when and in which versions buckets were seen, by release.
func (s *Store) indexSeen(ctx context.Context, args pgx.NamedArgs) (map[crash.BucketID][]*index.Facts, error) {
	rows, err := s.Pool.Query(ctx, sqlIndexSeen, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[crash.BucketID][]*index.Facts{}
	for rows.Next() {
		var id crash.BucketID
		var release crash.Release
		var f index.Facts
		if err := rows.Scan(ScanTo(id[:]), &release, &f.First.At, &f.First.Version, (*keyText)(&f.FirstKey),
			&f.Last.At, &f.Last.Version, (*keyText)(&f.LastKey),
			&f.LowestVersion, (*keyText)(&f.LowestKey), &f.HighestVersion, (*keyText)(&f.HighestKey)); err != nil {
			return nil, err
		}
		f.First.Release, f.Last.Release, f.LowestRelease, f.HighestRelease = release, release, release, release
		seen[id] = append(seen[id], &f)
	}
	return seen, rows.Err()
}

// keyText scans a bytea as a string.
type keyText string

// ScanBytes implements [pgtype.BytesScanner].
func (t *keyText) ScanBytes(v []byte) error {
	*t = keyText(v)
	return nil
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

// indexCell is a row of bucket_days. The texts belong to the connection until the next row is read.
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

// indexCells calls each for rows of bucket_days.
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
