package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db/reader"
)

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
	return st != nil && st.ix == b && st.day.Equal(utcDay(at)) && (st.revision == now ||
		st.revision.server == now.server && st.revision.changes == now.changes && time.Since(st.at) < maxAge)
}

// judgeChunk is how many states are set at a time. The index is locked for about 10 ms meanwhile.
const judgeChunk = 5000

func utcDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

const sqlCountingBugs = `
	select distinct on (h.head) h.head, ` + BugColumns + `
	from bucket_bugs as l join buckets as h on h.id = l.bucket_id ` + BugJoins + `
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
	case old != nil && old.ix == b && old.day.Equal(utcDay(s.Now()).AddDate(0, 0, -1)):
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
	ctx = reader.Everything(ctx)
	next := &statuses{ix: b, revision: now, at: time.Now(), day: utcDay(s.Now())}
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
	ctx = reader.AsVisitor(ctx)
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
	rows, err := s.Pool.Query(ctx, sqlCountingBugs)
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", Classify(err))
	}
	var id crash.BucketID
	var bug BugScan
	for rows.Next() {
		bug = BugScan{}
		if err := rows.Scan(append([]any{ScanTo(id[:])}, bug.Columns()...)...); err != nil {
			rows.Close()
			return nil, fmt.Errorf("states of problems: %w", err)
		}
		bugs[id] = bug.Bug()
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("states of problems: %w", Classify(err))
	}
	return bugs, nil
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
		for _, p := range changed {
			counted[p.Package] = true
		}
		weekAgo := now.AddDate(0, 0, 1-crash.PeriodWeek.Days())
		changed = append(changed, st.ix.Select(func(p *index.Problem) bool {
			_, has := st.bugs[p.ID]
			_, named := st.people[p.ID]
			return has || p.Bug != 0 || newer[p.Package] || named || p.People != nil ||
				counted[p.Package] && p.Last().At.Before(weekAgo)
		})...)
	}
	judging, judged := st.judging(now), make(map[crash.BucketID]bool, len(changed))
	for chunk := range slices.Chunk(changed, judgeChunk) {
		states := make(map[crash.BucketID]index.State, len(chunk))
		for _, p := range chunk {
			if !judged[p.ID] {
				judged[p.ID] = true
				states[p.ID] = index.State{Word: judging.of(p).Word, Bug: st.bugs[p.ID].Number, People: st.peopleOf(p)}
			}
		}
		st.ix.SetStates(states)
	}
}

// judging judges problems. It groups and counts the versions of each package once.
type judging struct {
	*statuses
	now   time.Time
	known map[packageIn]stats.VersionsByRelease
}

// packageIn is a binary package in an index, which may omit embargoed problems.
type packageIn struct {
	ix   *index.Index
	name string
}

func (st *statuses) judging(now time.Time) judging {
	return judging{st, now, map[packageIn]stats.VersionsByRelease{}}
}

// of returns the status of a problem in the index.
func (j judging) of(p *index.Problem) crash.Status {
	return j.bucket(crash.Bucket{
		ID: p.ID, Provisional: p.Provisional, Reports: p.Reports, Systems: p.Systems, FirstSeen: p.First().At,
		LastSeen: p.Last().At,
		Package:  p.Package, SourcePackage: p.Source, Bug: j.bugs[p.ID],
	}, p)
}

// bucket returns the status of a problem whose bucket may be newer than the index.
func (j judging) bucket(b crash.Bucket, p *index.Problem) crash.Status {
	var seen []crash.VersionSeen
	if p != nil {
		seen = j.ix.Occurrences(p, index.DayOf(j.now))
	}
	ix := j.public
	if p != nil && slices.Contains(j.hidden, p.ID) {
		ix = j.ix
	}
	return stats.Judge(b, seen, j.versions(packageIn{ix, b.Package}), j.now)
}

// versions returns the versions of a package in use, with their numbers of reports.
func (j judging) versions(of packageIn) stats.VersionsByRelease {
	if known, ok := j.known[of]; ok {
		return known
	}
	known := j.inUse.known(of.name)
	reports := of.ix.PackageReports(of.name)
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
