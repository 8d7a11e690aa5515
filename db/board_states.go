package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/board"
)

// statesAge is how old the board's knowledge of bugs may be where lists are chosen by it. What lists show of each bug is
// always read anew.
const statesAge = 2 * time.Second

const sqlProblemsWithBugs = `
	select distinct m.head, 0::bigint from bucket_bugs as l join buckets as m on m.id = l.bucket_id`

// BoardWithStates is Board, with how problems stand to their bugs, as it was a moment ago.
func (s *Store) BoardWithStates(ctx context.Context) (*board.Board, error) {
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
	if time.Since(s.keeper.states) < statesAge {
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
	s.keeper.states = time.Now()
	return b, nil
}
