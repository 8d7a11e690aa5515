package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/board"
)

// statesAge is for how long counting alone does not make the board read anew how problems stand to their bugs: a bug becomes
// a regression by a report.
const statesAge = 2 * time.Second

// toldStates is what the board was told last of how problems stand to their bugs.
type toldStates struct {
	revision revision
	at       time.Time
}

// current reports whether it is as true as need be.
func (t *toldStates) current(now revision) bool {
	return t != nil && (t.revision == now || t.revision.server == now.server && t.revision.changes == now.changes && time.Since(t.at) < statesAge)
}

const sqlProblemsWithBugs = `
	select distinct m.head, 0::bigint from bucket_bugs as l join buckets as m on m.id = l.bucket_id`

// BoardWithStates is Board, with how problems stand to their bugs: links and what the tracker said as they are now, what
// follows from counts as it was a moment ago.
func (s *Store) BoardWithStates(ctx context.Context) (*board.Board, error) {
	now, err := s.revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", err)
	}
	if k := s.keeper.known.Load(); k != nil && k.at == now.stamp && s.keeper.states.Load().current(now) {
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
	if s.keeper.states.Load().current(now) {
		return b, nil
	}
	rows, err := s.pool.Query(ctx, sqlProblemsWithBugs)
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", known(err))
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c crash.ProblemCursor, err error) {
		err = row.Scan(into(c.ID[:]), &c.Count)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("states of problems: %w", known(err))
	}
	problems, err := s.ProblemsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	states := map[crash.BucketID]board.State{}
	for _, p := range problems {
		if p.Bug.Number != 0 {
			states[p.ID] = board.State{Word: crash.StateOf(p.Bucket).Word, Bug: p.Bug.Number}
		}
	}
	b.SetStates(states)
	s.keeper.states.Store(&toldStates{now, time.Now()})
	return b, nil
}
