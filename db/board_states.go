package db

import (
	"context"
	"fmt"
	"time"

	"mishap/crash"
	"mishap/crash/board"
)

// statesMaxAge is for how long counting alone does not make the board judge problems anew: a new version in use or one more
// report may change how a problem stands.
const statesMaxAge = 2 * time.Second

// statuses is what the board was last judged by. It does not change.
type statuses struct {
	board    *board.Board
	revision revision
	at       time.Time
	day      time.Time // UTC; at midnight everything is judged anew
	changed  uint64    // the moment of the board up to which it was judged
	bugs     map[crash.BucketID]crash.Bug
	inUse    *versionsInUse
}

// current reports whether the states are as true as need be.
func (st *statuses) current(now revision, at time.Time) bool {
	return st != nil && st.day.Equal(utcDay(at)) && (st.revision == now ||
		st.revision.server == now.server && st.revision.changes == now.changes && time.Since(st.at) < statesMaxAge)
}

func utcDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

const sqlCountingBugs = `
	select distinct on (h.head) h.head, ` + bugColumns + `
	from bucket_bugs as l join buckets as h on h.id = l.bucket_id ` + bugJoins + `
	order by h.head, ` + bugOrder

// BoardWithStates is Board, with how problems stand in one word: by links and what the tracker said as they are now, and by
// counts as they were a moment ago.
func (s *Store) BoardWithStates(ctx context.Context) (*board.Board, error) {
	now, err := s.revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", err)
	}
	k := s.keeper.known.Load()
	if st := s.keeper.states.Load(); k != nil && k.at == now.stamp && st.current(now, s.now()) && st.board == k.board {
		return k.board, nil
	}
	b, err := s.Board(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.keeper.turn:
		defer func() { s.keeper.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, errUnavailable.Because(ctx.Err())
	}
	old := s.keeper.states.Load()
	if old.current(now, s.now()) && old.board == b {
		return b, nil
	}
	next := &statuses{board: b, revision: now, at: time.Now(), day: utcDay(s.now())}
	if next.inUse, err = s.versionsInUse(ctx); err != nil {
		return nil, err
	}
	if next.bugs, err = s.countingBugs(ctx); err != nil {
		return nil, err
	}
	next.judge(old, s.now())
	s.keeper.states.Store(next)
	return b, nil
}

// countingBugs returns the bug that counts of each problem that has one.
func (s *Store) countingBugs(ctx context.Context) (map[crash.BucketID]crash.Bug, error) {
	bugs := map[crash.BucketID]crash.Bug{}
	rows, err := s.pool.Query(ctx, sqlCountingBugs)
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", known(err))
	}
	var id crash.BucketID
	var bug bugScan
	for rows.Next() {
		bug = bugScan{}
		if err := rows.Scan(append([]any{into(id[:])}, bug.columns()...)...); err != nil {
			rows.Close()
			return nil, fmt.Errorf("states of problems: %w", err)
		}
		bugs[id] = bug.bug()
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("states of problems: %w", known(err))
	}
	return bugs, nil
}

// judge judges the problems of which anything has changed since old (nil: all), and tells the board.
func (st *statuses) judge(old *statuses, now time.Time) {
	var since uint64
	if old != nil && old.board == st.board && old.day.Equal(st.day) {
		since = old.changed
	}
	changed, moment := st.board.Changed(since)
	st.changed = moment
	if since > 0 {
		newer := st.inUse.changedSince(old.inUse)
		changed = append(changed, st.board.Select(func(p *board.Problem) bool {
			_, has := st.bugs[p.ID]
			return has || p.Bug != 0 || newer[p.Package]
		})...)
	}
	states := make(map[crash.BucketID]board.State, len(changed))
	for _, p := range changed {
		if _, done := states[p.ID]; !done {
			states[p.ID] = board.State{Word: st.of(p, now).Word, Bug: st.bugs[p.ID].Number}
		}
	}
	st.board.SetStates(states)
}

// of judges a problem of the board.
func (st *statuses) of(p *board.Problem, now time.Time) crash.Status {
	return st.judgeBucket(crash.Bucket{
		ID: p.ID, Provisional: p.Provisional, Reports: p.Reports, FirstSeen: p.First.At, LastSeen: p.Last.At,
		Package: p.Package, SourcePackage: p.Source, Bug: st.bugs[p.ID],
	}, p, now)
}

func (st *statuses) judgeBucket(b crash.Bucket, p *board.Problem, now time.Time) crash.Status {
	var seen []crash.VersionSeen
	if p != nil {
		seen = st.board.Occurrences(p, board.DayOf(now))
	}
	return crash.Judge(b, seen, st.inUse.of[b.Package], now)
}

// Judge fills in how problems stand, from the same facts as [Store.BoardWithStates]. Their bugs are taken as they are.
func (s *Store) Judge(ctx context.Context, buckets ...*crash.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	b, err := s.Board(ctx)
	if err != nil {
		return err
	}
	inUse, err := s.versionsInUse(ctx)
	if err != nil {
		return err
	}
	st := &statuses{board: b, inUse: inUse}
	for _, bucket := range buckets {
		p, _ := b.Problem(bucket.ID)
		bucket.Status = st.judgeBucket(*bucket, p, s.now())
	}
	return nil
}

// StatusOf returns how a problem of the board stands. The board must come from BoardWithStates, which was called before.
func (s *Store) StatusOf(p *board.Problem) crash.Status {
	st := s.keeper.states.Load()
	if st == nil {
		return crash.Status{}
	}
	return st.of(p, s.now())
}
