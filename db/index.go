package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
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
	saving     chan struct{} // lock of writing the snapshot
	loaded     atomic.Pointer[loadedIndex]
	states     atomic.Pointer[statuses]
	triaged    atomic.Pointer[triaged]
	background sync.WaitGroup // judging that continues without a caller
}

// loadedIndex is an index, the versions in use, and the stamp of the counts in them.
type loadedIndex struct {
	ix      *index.Index
	inUse   *versionsInUse
	at      stamp
	history history // the newest round of any row
	without bool    // buckets that have changed since are missing, with all their days
}

// CachedLists returns the memory of the lists that this process has cached, in bytes, and their number.
func (s *Store) CachedLists() (size int64, entries int) {
	if l := s.indexCache.loaded.Load(); l != nil {
		return l.ix.CacheSize()
	}
	return 0, 0
}

func newIndexCache() *indexCache {
	lock := func() chan struct{} { return make(chan struct{}, 1) }
	return &indexCache{updating: lock(), judging: lock(), deciding: lock(), saving: lock()}
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
	sqlRound = `select round, ` + serverIDColumns + ` from counting`

	indexBucketColumns = `
		select id, head, left(signature, 1001), rule, provisional, problem_type, title, name, executable,
			package, source_package, reports, systems`
	indexSeenColumns = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version,
			(r.last_seen).seen, (r.last_seen).version,
			coalesce((r.lowest_version).version, ''), coalesce((r.highest_version).version, '')`
	indexCellColumns = `
		select d.bucket_id, d.day, d.release, d.version, d.architecture, d.package_architecture, d.reports`
	sqlIndexBuckets = indexBucketColumns + ` from buckets where changed > @round`
	sqlIndexSeen    = indexSeenColumns + ` from buckets as b join bucket_releases as r on r.bucket_id = b.id
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

	// These statements read a range of pages of a table, so that several connections can read it. They name
	// the schema because views have no pages.
	sqlIndexPages = `
		select pg_relation_size('public.buckets') / n, pg_relation_size('public.bucket_releases') / n,
			pg_relation_size('public.bucket_days') / n
		from (select current_setting('block_size')::bigint) as b (n)`
	inPages            = ` ctid >= @from::tid and ctid < @until::tid`
	sqlIndexAllBuckets = indexBucketColumns + ` from public.buckets where` + inPages
	sqlIndexAllSeen    = indexSeenColumns + ` from public.bucket_releases as r where` + inPages
	sqlIndexCells      = indexCellColumns + ` from public.bucket_days as d where day >= @since and` + inPages
	sqlIndexNewer      = indexCellColumns + ` from buckets as b join bucket_days as d on d.bucket_id = b.id
		where b.changed > @round and d.changed > @round and d.day >= @since`
	sqlIndexCellsOf = indexCellColumns + ` from bucket_days as d where bucket_id = any(@ids) and day >= @since`
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
	ctx = Everything(ctx)
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
	if err := s.indexCache.update(Everything(ctx), s); err != nil {
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
// round number, which is read first; applying them again next time changes nothing. It loads a new index
// if the last one may contain counts that the database lacks: after an erasure, or if another server or an
// older copy of the database has taken its place that has not gone through the same rounds.
func (k *indexCache) update(ctx context.Context, s *Store) error {
	at, err := stampNow(ctx, s)
	if err != nil {
		return err
	}
	last := k.loaded.Load()
	if last != nil && at == last.at {
		return nil
	}
	same, err := s.continues(ctx, last, at)
	if err != nil {
		return err
	}
	next := &loadedIndex{at: at}
	if same {
		next.ix, next.inUse = last.ix, last.inUse
	} else {
		ctx = context.WithoutCancel(ctx) // the next caller needs it too
		var group errgroup.Group
		group.Go(func() (err error) { last, err = s.load(ctx, at); return err })
		group.Go(func() (err error) { next.inUse, err = readVersionsInUse(ctx, s); return err })
		if err := group.Wait(); err != nil {
			return err
		}
		next.ix = last.ix
	}
	if err := s.applyNewer(ctx, last); err != nil {
		return err
	}
	if same {
		var changed bool
		if err := s.Pool.QueryRow(ctx, sqlVersionsChanged, pgx.NamedArgs{"round": last.at.round}).Scan(&changed); err != nil {
			return err
		}
		if changed {
			if next.inUse, err = readVersionsInUse(ctx, s); err != nil {
				return err
			}
		}
	}
	server, newest, err := s.historyNow(ctx)
	if err != nil {
		return err
	}
	if server != at.server { // while the rows were read
		return k.update(ctx, s)
	}
	if next.history = newest; !same {
		k.states.Store(nil)
	}
	if !same || last.at.server != at.server {
		k.triaged.Store(nil)
	}
	k.loaded.Store(next)
	return nil
}

// continues reports whether the database, with the stamp at, has gone through all rounds of an index.
func (s *Store) continues(ctx context.Context, last *loadedIndex, at stamp) (bool, error) {
	switch {
	case last == nil || at.server.erasures != last.at.server.erasures:
		return false, nil
	case at.server == last.at.server:
		return at.round > last.at.round, nil
	}
	return s.includes(ctx, last.history)
}

// load returns an index that has all rows up to some round: that of the snapshot, or else all rows of the
// database.
func (s *Store) load(ctx context.Context, at stamp) (*loadedIndex, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	l, err := s.loadSnapshot(ctx, at)
	if err == nil {
		s.Log.InfoContext(ctx, "loaded the snapshot of the index", "problems", l.ix.Len(),
			"rounds_since", at.round-l.at.round)
		return l, nil
	}
	if crash.KindOf(Classify(err)) == crash.Unavailable {
		return nil, err
	}
	if !errors.Is(err, errNoSnapshot) {
		s.Log.WarnContext(ctx, "cannot use the snapshot of the index; reading all problems from the database", "file",
			filepath.Join(s.dataDir, SnapshotName), "error", err)
	}
	ix, err := s.loadIndex(ctx)
	return &loadedIndex{ix: ix, at: at}, err
}

// loadTime limits how long it may take to load the index or to judge all problems.
const loadTime = 10 * time.Minute

// loadIndex reads an index with all cores. Rows that change meanwhile may be missing: the caller applies
// those that are newer than a round before the call.
func (s *Store) loadIndex(ctx context.Context) (*index.Index, error) {
	var buckets, releases, days int64 // pages
	if err := s.Pool.QueryRow(ctx, sqlIndexPages).Scan(&buckets, &releases, &days); err != nil {
		return nil, err
	}
	seen := map[crash.BucketID][]crash.SeenSpan{}
	if err := inParallel(ctx, s, releases, func(ctx context.Context, args pgx.NamedArgs, add func(func())) error {
		some, err := s.indexSeen(ctx, sqlIndexAllSeen, args)
		add(func() {
			for id, spans := range some {
				seen[id] = append(seen[id], spans...)
			}
		})
		return err
	}); err != nil {
		return nil, err
	}
	systems, err := s.indexSystems(ctx, s.indexArgs(-1))
	if err != nil {
		return nil, err
	}
	b := index.New()
	b.Update(func(u *index.Updater) { // this locks the index for long, but no other goroutine has it yet
		err = inParallel(ctx, s, buckets, func(ctx context.Context, args pgx.NamedArgs, add func(func())) error {
			some, err := s.indexBuckets(ctx, sqlIndexAllBuckets, args)
			for i := range some {
				some[i].Prepare()
			}
			add(func() {
				for _, b := range some {
					u.SetBucket(b, seen[b.ID]...)
				}
			})
			return err
		})
		if err != nil {
			return
		}
		for head, n := range systems {
			u.SetSystems(head, n)
		}
		err = inParallel(ctx, s, days, func(ctx context.Context, args pgx.NamedArgs, add func(func())) error {
			var some cellBatch
			flush := func() {
				cells := some.cells
				add(func() {
					for _, c := range cells {
						c.apply(u)
					}
				})
				some = cellBatch{}
			}
			err := s.indexCells(ctx, sqlIndexCells, args, func(c indexCell) {
				if some.add(c); len(some.cells) == cap(some.cells) {
					flush()
				}
			})
			flush()
			return err
		})
	})
	return b, err
}

// loadPages is the number of pages of a table that one statement reads.
const loadPages = 2048

// inParallel calls read for ranges of pages of a table, on as many connections as there are cores.
// Functions that are given to add run one at a time, in the caller's goroutine.
func inParallel(ctx context.Context, s *Store, pages int64, read func(_ context.Context, args pgx.NamedArgs,
	add func(func())) error) error {
	group, ctx := errgroup.WithContext(ctx)
	added := make(chan func())
	add := func(do func()) {
		select {
		case added <- do:
		case <-ctx.Done():
		}
	}
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), int(s.Pool.Config().MaxConns)) {
		group.Go(func() error {
			for {
				from := next.Add(loadPages) - loadPages
				if from >= pages {
					return nil
				}
				args := s.indexArgs(-1)
				args["from"] = pgtype.TID{BlockNumber: uint32(from), Valid: true}              //nolint:gosec // 32 bits
				args["until"] = pgtype.TID{BlockNumber: uint32(from + loadPages), Valid: true} //nolint:gosec // as above
				if err := read(ctx, args, add); err != nil {
					return err
				}
			}
		})
	}
	var err error
	go func() { err = group.Wait(); close(added) }()
	for do := range added {
		do()
	}
	return err
}

func (s *Store) indexArgs(round int64) pgx.NamedArgs {
	return pgx.NamedArgs{"round": round, "since": s.Now().UTC().AddDate(0, 0, -IndexDays)}
}

// applyNewer applies all rows to the index that are newer than its stamp.
func (s *Store) applyNewer(ctx context.Context, last *loadedIndex) error {
	args := s.indexArgs(last.at.round)
	buckets, err := s.indexBuckets(ctx, sqlIndexBuckets, args)
	if err != nil {
		return err
	}
	seen, err := s.indexSeen(ctx, sqlIndexSeen, args)
	if err != nil {
		return err
	}
	systems, err := s.indexSystems(ctx, args)
	if err != nil {
		return err
	}
	shrunk, err := List(ctx, s.Pool, sqlIndexShrunk, args, pgx.RowTo[crash.BucketID])
	if err != nil {
		return err
	}
	if last.without {
		shrunk = column(buckets, func(b index.Bucket) crash.BucketID { return b.ID })
	}
	var cells cellBatch
	if err := s.indexCells(ctx, sqlIndexNewer, args, cells.add); err != nil {
		return err
	}
	if len(shrunk) > 0 {
		args["ids"] = shrunk
		if err := s.indexCells(ctx, sqlIndexCellsOf, args, cells.add); err != nil {
			return err
		}
	}
	last.ix.Update(func(u *index.Updater) { applyRows(u, buckets, seen, systems, shrunk, cells.cells) })
	return nil
}

func applyRows(u *index.Updater, buckets []index.Bucket, seen map[crash.BucketID][]crash.SeenSpan,
	systems map[crash.BucketID]int64, shrunk []crash.BucketID, cells []indexCell) {
	for _, b := range buckets {
		u.SetBucket(b, seen[b.ID]...)
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

func (s *Store) indexBuckets(ctx context.Context, sql string, args pgx.NamedArgs) ([]index.Bucket, error) {
	return List(ctx, s.Pool, sql, args, func(row pgx.CollectableRow) (b index.Bucket, err error) {
		err = row.Scan(&b.ID, &b.Head, &b.Signature, &b.Rule, &b.Provisional, &b.Type, &b.Title, &b.Name,
			&b.Executable, &b.Package, &b.Source, &b.Reports, &b.Systems)
		return b, err
	})
}

// indexSystems reads the number of machines of problems of several buckets, by head.
func (s *Store) indexSystems(ctx context.Context, args pgx.NamedArgs) (map[crash.BucketID]int64, error) {
	systems := map[crash.BucketID]int64{}
	var head crash.BucketID
	var n int64
	err := Each(ctx, s.Pool, sqlIndexSystems, args, []any{&head, &n}, func() { systems[head] = n })
	return systems, err
}

// indexSeen reads the occurrences and versions of buckets, by release.
func (s *Store) indexSeen(ctx context.Context, sql string, args pgx.NamedArgs) (map[crash.BucketID][]crash.SeenSpan,
	error) {
	seen := map[crash.BucketID][]crash.SeenSpan{}
	var id crash.BucketID
	var span crash.SeenSpan
	err := Each(ctx, s.Pool, sql, args, []any{&id, &span.First.Release, &span.First.At,
		&span.First.Version, &span.Last.At, &span.Last.Version, &span.Versions.Lowest, &span.Versions.Highest}, func() {
		span.Last.Release = span.First.Release
		seen[id] = append(seen[id], span)
	})
	return seen, err
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

// cellBatch holds copies of cells, whose texts share memory.
type cellBatch struct {
	cells []indexCell
	texts []byte
}

const (
	batchCells = 10_000
	batchTexts = 64 << 10 // memory for texts that is allocated at a time
)

func (b *cellBatch) add(c indexCell) {
	if b.cells == nil {
		b.cells = make([]indexCell, 0, batchCells)
	}
	for _, text := range []*[]byte{&c.release, &c.version, &c.architecture, &c.packageArchitecture} {
		if len(b.texts)+len(*text) > cap(b.texts) {
			b.texts = make([]byte, 0, max(batchTexts, len(*text)))
		}
		at := len(b.texts)
		b.texts = append(b.texts, *text...)
		*text = b.texts[at:]
	}
	b.cells = append(b.cells, c)
}

// indexCells calls each for every row of bucket_days that a query returns.
func (s *Store) indexCells(ctx context.Context, sql string, args pgx.NamedArgs, each func(indexCell)) error {
	var c indexCell
	var day time.Time
	err := Each(ctx, s.Pool, sql, args, []any{
		&c.id, &day, (*pgtype.DriverBytes)(&c.release), (*pgtype.DriverBytes)(&c.version),
		(*pgtype.DriverBytes)(&c.architecture),
		(*pgtype.DriverBytes)(&c.packageArchitecture), &c.reports,
	}, func() {
		c.day = index.DayOf(day)
		each(c)
	})
	return err
}

// statesMaxAge is how old the states may be if only counts have changed since. A single report can
// change the state of a problem, for example if it brings a new version into use.
const statesMaxAge = 2 * time.Second

// statuses holds the facts by which the problems of an index were last judged. It is immutable.
type statuses struct {
	ix       *index.Index
	revision revision
	at       time.Time
	day      time.Time // UTC; all problems are judged again on a new day
	changed  uint64    // number of the last change of the index that was judged
	bugs     map[crash.BucketID]crash.Bug
	people   map[crash.BucketID]index.People
	inUse    *versionsInUse
	hidden   []crash.BucketID // embargoed problems, whose reports do not count for others
	public   *index.Index     // ix without them
}

// current reports whether the states of an index are recent enough: those of a revision or, if only
// counts have changed since, at most maxAge old.
func (st *statuses) current(b *index.Index, now revision, at time.Time, maxAge time.Duration) bool {
	return st != nil && st.ix == b && st.day.Equal(crash.Midnight(at)) && (st.revision == now ||
		st.revision.server == now.server && st.revision.changes == now.changes && time.Since(st.at) < maxAge)
}

// judgeChunk is how many states are set at a time. The index is locked for about 10 ms meanwhile.
const judgeChunk = 5000

const sqlCountingBugs = `
	select distinct on (h.head) h.head, ` + BugColumns + `
	from bucket_bugs as l join buckets as h on h.id = l.bucket_id ` + BugJoins + `
	where not coalesce(pl.upstream, false)
	order by h.head, ` + BugOrder

// IndexWithStates returns the index with the states of all problems. The states reflect the present
// links and tracker data, and counts that are at most statesMaxAge old. The first call judges all
// problems, which takes seconds for 100,000 of them; [Store.Index] does not wait for that. On a new
// day all are judged again in the background, and meanwhile callers get the states of the day
// before. It returns Unavailable if ctx ends or the database is unavailable.
func (s *Store) IndexWithStates(ctx context.Context) (*index.Index, error) {
	b, now, err := s.wholeIndex(ctx)
	if err != nil {
		return nil, err
	}
	old := s.indexCache.states.Load()
	switch {
	case old.current(b, now, s.Now(), statesMaxAge):
	case old != nil && old.ix == b && old.day.Equal(crash.Midnight(s.Now()).AddDate(0, 0, -1)):
		s.judgeInBackground(ctx, b, now)
	default:
		if err := s.judgeNow(ctx, b, now, statesMaxAge); err != nil {
			return nil, err
		}
	}
	return visible(ctx, s, b)
}

// IndexJudged works like [Store.IndexWithStates], but the states reflect everything that was counted
// before the call, and the present day, and so does the manual status. It may take longer. It includes
// all problems.
func (s *Store) IndexJudged(ctx context.Context) (*index.Index, error) {
	b, now, err := s.wholeIndex(ctx)
	if err != nil {
		return nil, err
	}
	return b, s.judgeNow(ctx, b, now, 0)
}

// judgeNow judges the problems of an index as soon as nobody else does.
func (s *Store) judgeNow(ctx context.Context, b *index.Index, now revision, maxAge time.Duration) error {
	if err := acquire(ctx, s.indexCache.judging); err != nil {
		return err
	}
	defer func() { <-s.indexCache.judging }()
	return s.judge(ctx, b, now, maxAge)
}

// judgeInBackground judges the problems of an index in a new goroutine, unless one is already doing
// so. Close waits for it.
func (s *Store) judgeInBackground(ctx context.Context, b *index.Index, now revision) {
	select {
	case s.indexCache.judging <- struct{}{}:
	default:
		return
	}
	s.indexCache.background.Go(func() {
		defer func() { <-s.indexCache.judging }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
		defer cancel()
		if err := s.judge(ctx, b, now, statesMaxAge); err != nil {
			s.Log.WarnContext(ctx, "the states of problems are those of yesterday", "error", err)
		}
	})
}

// judge updates the states of an index to a revision, unless they are current. The caller holds
// k.judging.
func (s *Store) judge(ctx context.Context, b *index.Index, now revision, maxAge time.Duration) (err error) {
	old := s.indexCache.states.Load()
	if old.current(b, now, s.Now(), maxAge) {
		return nil
	}
	ctx = Everything(ctx)
	next := &statuses{ix: b, revision: now, at: time.Now(), day: crash.Midnight(s.Now())}
	if err := s.readPublic(ctx, next); err != nil {
		return err
	}
	if next.bugs, err = s.countingBugs(ctx); err != nil {
		return err
	}
	if next.people, err = s.people(ctx); err != nil {
		return err
	}
	next.judge(old, s.Now())
	s.indexCache.states.Store(next)
	return nil
}

// readPublic reads what states depend on besides the problem itself. Everyone sees the same states,
// so versions and reports of embargoed problems do not count for others.
func (s *Store) readPublic(ctx context.Context, st *statuses) (err error) {
	ctx = AsVisitor(ctx)
	if st.inUse, err = s.versionsInUse(ctx); err != nil {
		return err
	}
	if st.hidden, err = hiddenFrom(ctx, s); err != nil {
		return err
	}
	st.public = st.ix.Without(st.hidden)
	return nil
}

// countingBugs returns, for each problem with bugs, the one that its state depends on.
func (s *Store) countingBugs(ctx context.Context) (map[crash.BucketID]crash.Bug, error) {
	bugs := map[crash.BucketID]crash.Bug{}
	var id crash.BucketID
	var bug BugScan
	err := Each(ctx, s.Pool, sqlCountingBugs, nil, append([]any{&id}, bug.Columns()...), func() {
		bugs[id] = bug.Bug()
		bug = BugScan{}
	})
	return bugs, Wrap(err, "states of problems")
}

// judge sets the states of the problems that have changed since old. It judges all problems if old
// is nil or belongs to another index or day. It locks the index only for moments, so lists can be
// read and the index updated meanwhile. A problem that changes during the call is judged again next
// time.
func (st *statuses) judge(old *statuses, now time.Time) {
	var since uint64
	if old != nil && old.ix == st.ix && old.day.Equal(st.day) && slices.Equal(old.hidden, st.hidden) {
		since = old.changed
	}
	changed, upTo := st.ix.Changed(since)
	st.changed = upTo
	if since > 0 {
		newer := st.inUse.changedSince(old.inUse)
		counted := map[string]bool{} // packages with new reports, which may show that they are free of a quiet problem
		for _, id := range changed {
			if p, ok := st.ix.Problem(id); ok {
				counted[p.Package] = true
			}
		}
		weekAgo := now.AddDate(0, 0, 1-crash.PeriodWeek.Days())
		st.ix.Select(func(p *index.Problem) bool {
			_, has := st.bugs[p.ID]
			_, named := st.people[p.ID]
			if has || p.Bug != 0 || newer[p.Package] || named || p.People != nil ||
				counted[p.Package] && p.Last().At.Before(weekAgo) {
				changed = append(changed, p.ID)
			}
			return false
		})
	}
	slices.SortFunc(changed, func(a, b crash.BucketID) int { return bytes.Compare(a[:], b[:]) })
	chunks := slices.Collect(slices.Chunk(slices.Compact(changed), judgeChunk))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) {
		workers.Go(func() {
			judging := st.judging(now)
			for i := next.Add(1) - 1; int(i) < len(chunks); i = next.Add(1) - 1 {
				states := make(map[crash.BucketID]index.State, len(chunks[i]))
				for _, id := range chunks[i] {
					if p, ok := st.ix.Problem(id); ok {
						states[id] = index.State{Word: judging.of(p).Word, Bug: st.bugs[id].Number,
							People: st.peopleOf(p)}
					}
				}
				st.ix.SetStates(states)
			}
		})
	}
	workers.Wait()
}

// judging judges problems. It groups and counts the versions of each package once.
type judging struct {
	*statuses
	now   time.Time
	until index.Day // later reports do not count
	known map[packageIn]stats.VersionsByRelease
}

// packageIn is a binary package in an index, which may omit embargoed problems.
type packageIn struct {
	ix   *index.Index
	name string
}

func (st *statuses) judging(now time.Time) judging {
	return judging{st, now, index.LastDay, map[packageIn]stats.VersionsByRelease{}}
}

// of returns the status of a problem in the index.
func (j judging) of(p *index.Problem) crash.Status { return j.bucket(j.facts(p), p) }

// facts returns what the status of a problem depends on.
func (j judging) facts(p *index.Problem) crash.Bucket {
	return crash.Bucket{
		ID: p.ID, Provisional: p.Provisional, Reports: p.Reports, Systems: p.Systems, FirstSeen: p.First().At,
		LastSeen: p.Last().At,
		Package:  p.Package, SourcePackage: p.Source, Bug: j.bugs[p.ID],
	}
}

// bucket returns the status of a problem whose bucket may be newer than the index.
func (j judging) bucket(b crash.Bucket, p *index.Problem) crash.Status {
	seen, of := j.seen(b, p)
	return stats.Judge(b, seen, j.versions(of), j.now)
}

// seen returns where a problem was seen, and the package with whose other reports it is compared.
func (j judging) seen(b crash.Bucket, p *index.Problem) ([]crash.VersionSeen, packageIn) {
	if p == nil {
		return nil, packageIn{j.public, b.Package}
	}
	ix := j.public
	if slices.Contains(j.hidden, p.ID) {
		ix = j.ix
	}
	if j.until != index.LastDay {
		return j.ix.OccurrencesUntil(p, j.until), packageIn{ix, b.Package}
	}
	return j.ix.Occurrences(p, index.DayOf(j.now)), packageIn{ix, b.Package}
}

// watch judges the fixes of a problem whose bucket has its status.
func (j judging) watch(b crash.Bucket, p *index.Problem, manual crash.ManualStatus) []stats.FixWatch {
	if len(manual.Fixes) == 0 && !slices.ContainsFunc(b.Status.Releases, func(r crash.ReleaseStatus) bool {
		return r.Fix != "" || r.FixAfter != ""
	}) {
		return nil // as with most problems
	}
	seen, of := j.seen(b, p)
	known := slices.Concat(slices.Collect(maps.Values(j.versions(of)))...)
	recent := of.ix.PackageReports(of.name, index.DayOf(j.now.AddDate(0, 0, 1-stats.PaceDays)), j.until)
	for i, k := range known {
		known[i].Recent = recent[index.InVersion{Release: k.Release, Version: k.Version}]
	}
	return stats.WatchFixes(b, manual, seen, stats.ByRelease(known), j.now)
}

// WatchFixes judges the fixes of a problem from the same facts as its status, which [Store.Judge] must have
// set. It does not count machines.
func (s *Store) WatchFixes(ctx context.Context, b crash.Bucket, manual crash.ManualStatus) ([]stats.FixWatch, error) {
	ix, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := ix.Problem(b.ID)
	if !ok {
		return nil, nil
	}
	st := &statuses{ix: ix}
	if err := s.readPublic(ctx, st); err != nil { // as in Judge
		return nil, err
	}
	return st.judging(s.Now()).watch(b, p, manual), nil
}

// WatchedFix is a fix of a problem in one release.
type WatchedFix struct {
	*index.Problem
	stats.FixWatch
}

// WatchedFixes judges the fixes of all problems that match, in the order of the index, like WatchFixes. ix must be an
// index that IndexWithStates has returned.
func (s *Store) WatchedFixes(ctx context.Context, ix *index.Index, match func(*index.Problem) bool) ([]WatchedFix,
	error) {
	judged := s.indexCache.states.Load()
	if judged == nil {
		return nil, nil
	}
	st := &statuses{ix: ix, bugs: judged.bugs}
	if err := s.readPublic(ctx, st); err != nil { // those in judged may be older than the counts
		return nil, err
	}
	j, today := st.judging(s.Now()), index.DayOf(s.Now())
	var all []WatchedFix
	for _, p := range ix.Select(func(p *index.Problem) bool {
		_, has := st.bugs[p.ID]
		return (has || p.Triage != nil && len(p.Triage.Fixes) > 0) && match(p)
	}) {
		b := j.facts(p)
		b.Status = j.bucket(b, p)
		for _, w := range j.watch(b, p, ManualOf(ix, p, today)) {
			all = append(all, WatchedFix{p, w})
		}
	}
	return all, nil
}

// versions returns the versions of a package in use, with their numbers of reports.
func (j judging) versions(of packageIn) stats.VersionsByRelease {
	if known, ok := j.known[of]; ok {
		return known
	}
	known := slices.DeleteFunc(j.inUse.known(of.name), func(k stats.VersionKnown) bool {
		return j.until != index.LastDay && index.DayOf(k.Since) > j.until
	})
	reports := of.ix.PackageReports(of.name, 0, j.until)
	for i, k := range known {
		known[i].Reports = reports[index.InVersion{Release: k.Release, Version: k.Version}]
	}
	j.known[of] = stats.ByRelease(known)
	return j.known[of]
}

// Judge sets the status of problems from the same facts as [Store.IndexWithStates]. It uses the
// bugs that the buckets hold and does not read them again.
func (s *Store) Judge(ctx context.Context, buckets ...*crash.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	b, err := s.Index(ctx)
	if err != nil {
		return err
	}
	st := &statuses{ix: b}
	if err := s.readPublic(ctx, st); err != nil { // as in lists
		return err
	}
	judging := st.judging(s.Now())
	for _, bucket := range buckets {
		p, _ := b.Problem(bucket.ID)
		bucket.Status = judging.bucket(*bucket, p)
	}
	return nil
}

// StatusOf returns the status of a problem. p must come from an index that IndexWithStates has
// returned.
func (s *Store) StatusOf(p *index.Problem) crash.Status {
	st := s.indexCache.states.Load()
	if st == nil {
		return crash.Status{}
	}
	return st.judging(s.Now()).of(p)
}

const (
	// MarkColumns are the columns of marks, called t, that ScanMark reads.
	MarkColumns = `
		t.id, t.bucket_id, t.kind, coalesce(t.until, '{}'), coalesce(t.fixes, '[]'), t.person, t.reason, t.at,
		t.undone_by, t.undone_at, t.ended_at, t.ended_why, t.merged_by is not null,
		case t.kind when 'fixed' then t.seen else '{}' end, coalesce(t.rule_id, 0)`
	// sqlStandingTriage looks up each problem by index, which the limit ensures.
	sqlStandingTriage = `
		select ` + MarkColumns + `, h.head
		from marks as t join lateral (select head from buckets where id = t.bucket_id limit 1) as h on true
		where t.undone_at is null and t.ended_at is null order by t.id`
	sqlMarksOf = `select ` + MarkColumns + ` from marks as t where t.bucket_id in ` + Members + ` order by t.id`
)

// MarkTargets returns the scan targets for MarkColumns.
func MarkTargets(t *crash.Mark) []any {
	return []any{&t.ID, &t.Bucket, &t.Kind, &t.Until, &t.Fixes, &t.Person, &t.Reason, &t.At, &t.UndoneBy,
		OrZero(&t.UndoneAt), OrZero(&t.EndedAt), &t.EndedWhy, &t.Merged, &t.Before, &t.Rule}
}

// ScanMark scans a row of MarkColumns.
func ScanMark(row pgx.CollectableRow) (t crash.Mark, err error) {
	err = row.Scan(MarkTargets(&t)...)
	return t, err
}

// triaged identifies the manual status that an index has. It is immutable.
type triaged struct {
	ix      *index.Index
	changes string
}

// setTriage sets the manual status of an index to a revision, unless it has that already. It changes
// only when a person or a rule decides something, or problems are merged or split.
func (s *Store) setTriage(ctx context.Context, b *index.Index, now revision) error {
	k, next := s.indexCache, triaged{b, now.changes}
	if old := k.triaged.Load(); old != nil && *old == next {
		return nil
	}
	if err := acquire(ctx, k.deciding); err != nil {
		return err
	}
	defer func() { <-k.deciding }()
	if old := k.triaged.Load(); old != nil && *old == next {
		return nil
	}
	entries := map[crash.BucketID][]crash.Mark{}
	marks, err := List(ctx, s.Pool, sqlStandingTriage, nil,
		Into(func(m *crash.Mark) []any { return append(MarkTargets(m), &m.Bucket) }))
	if err != nil {
		return fmt.Errorf("manual status of problems: %w", err)
	}
	for _, m := range marks {
		entries[m.Bucket] = append(entries[m.Bucket], m)
	}
	all := make(map[crash.BucketID]*index.Triage, len(entries))
	for id, some := range entries {
		m := stats.JudgeManual(some, nil, s.Now())
		t := &index.Triage{Muted: m.Muted != nil, WontFix: m.WontFix != nil, Embargoed: m.Embargo != nil, Held: m.Hold != nil}
		if m.Muted != nil {
			t.Until = m.Muted.Until
		}
		for _, one := range some {
			if one.Kind == crash.MarkFixed {
				t.Fixes = append(t.Fixes, crash.Mark{ID: one.ID, Kind: one.Kind, At: one.At,
					Fixes: one.Fixes, Before: one.Before})
			}
		}
		all[id] = t
	}
	b.SetTriage(all)
	k.triaged.Store(&next)
	return nil
}

// Triage returns the manual status of a bucket's problem, and its history: all decisions, oldest first,
// without embargoes and holds. It includes those of buckets that were merged into it.
func (s *Store) Triage(ctx context.Context, bucket crash.BucketID) (crash.ManualStatus, []crash.Mark, error) {
	all, err := List(ctx, s.Pool, sqlMarksOf, pgx.NamedArgs{"bucket": bucket[:]}, ScanMark)
	if err != nil || len(all) == 0 {
		return crash.ManualStatus{}, nil, Classify(err)
	}
	var history []crash.Mark
	for _, m := range all {
		if !m.Kind.Restricts() {
			history = append(history, m)
		}
	}
	if len(history) == 0 {
		return stats.JudgeManual(all, nil, s.Now()), nil, nil
	}
	b, err := s.Index(ctx)
	if err != nil {
		return crash.ManualStatus{}, nil, err
	}
	var seen []crash.VersionSeen
	if p, ok := b.Problem(bucket); ok {
		seen = b.Occurrences(p, index.DayOf(s.Now()))
	}
	return stats.JudgeManual(all, seen, s.Now()), history, nil
}

// ManualOf returns the manual status of a problem with versions marked as fixed, for lists: without
// persons and reasons. p must come from b.
func ManualOf(b *index.Index, p *index.Problem, today index.Day) crash.ManualStatus {
	if p.Triage == nil || len(p.Triage.Fixes) == 0 {
		return crash.ManualStatus{}
	}
	return stats.JudgeManual(p.Triage.Fixes, b.Occurrences(p, today), today.Time())
}

// ListedManual returns the manual status of a problem as lists show it, without persons and
// reasons: as of the last call of [Store.Index] or [Store.IndexWithStates]. It reads no
// database.
func (s *Store) ListedManual(id crash.BucketID) (m crash.ManualStatus) {
	last := s.indexCache.triaged.Load()
	if last == nil {
		return m
	}
	p, ok := last.ix.Problem(id)
	if !ok || p.Triage == nil {
		return m
	}
	m = ManualOf(last.ix, p, index.DayOf(s.Now()))
	if p.Triage.Embargoed {
		m.Embargo = &crash.Mark{Kind: crash.MarkEmbargo}
	}
	if p.Triage.Muted {
		m.Muted = &crash.Mark{Kind: crash.MarkMuted, Until: p.Triage.Until}
	}
	if p.Triage.WontFix {
		m.WontFix = &crash.Mark{Kind: crash.MarkWontFix}
	}
	return m
}

const (
	sqlIndexAssigned = `
		select distinct on (h.head) h.head, a.assignee
		from assignments as a join buckets as h on h.id = a.bucket_id
		where a.undone_at is null order by h.head, a.id desc`
	sqlIndexTags = `
		select h.head, string_agg(distinct t.tag, ' ' order by t.tag)
		from problem_tags as t join buckets as h on h.id = t.bucket_id
		where t.removed_at is null group by h.head`
)

// people returns, for each problem that is assigned in mishap or has tags, the assignee and the
// tags.
func (s *Store) people(ctx context.Context) (map[crash.BucketID]index.People, error) {
	all := map[crash.BucketID]index.People{}
	for _, read := range []struct {
		sql string
		set func(p *index.People, text string)
	}{
		{sqlIndexAssigned, func(p *index.People, text string) { p.Name = text }},
		{sqlIndexTags, func(p *index.People, text string) { p.TagList = text }},
	} {
		var id crash.BucketID
		var text string
		if err := Each(ctx, s.Pool, read.sql, nil, []any{&id, &text}, func() {
			p := all[id]
			read.set(&p, text)
			all[id] = p
		}); err != nil {
			return nil, fmt.Errorf("assignees of problems: %w", Classify(err))
		}
	}
	return all, nil
}

// peopleOf returns the assignee and the tags of a problem in the index, or nil if it has neither.
// The assignee of its bug counts more than that in mishap.
func (st *statuses) peopleOf(p *index.Problem) *index.People {
	who := st.people[p.ID]
	if bug := st.bugs[p.ID]; bug.Number != 0 {
		if name := bug.AssigneeOf(p.Source); name != "" {
			who.Name, who.Bug = name, bug.Counts()
		}
	}
	if who == (index.People{}) {
		return nil
	}
	return &who
}
