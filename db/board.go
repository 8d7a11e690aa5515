package db

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/board"
)

// BoardDays is how far back the board knows single days: the longest period of lists, and some more.
const BoardDays = 400

// boardKeeper has the board of this process and knows how far it has been told.
type boardKeeper struct {
	turn   chan struct{} // holds one: whoever has it may update the board
	known  atomic.Pointer[toldBoard]
	states atomic.Pointer[statuses]
}

// toldBoard is a board and the round up to which it has been told. Of one board the rounds only grow.
type toldBoard struct {
	board *board.Board
	round int64
}

func newBoardKeeper() *boardKeeper {
	k := &boardKeeper{turn: make(chan struct{}, 1)}
	k.turn <- struct{}{}
	return k
}

const (
	sqlRound       = `select round from counting`
	sqlBoardLeaves = `
		select id, head, left(signature, 1001), rule, provisional, problem_type, title, name, executable, package, source_package, reports, systems,
			first_seen, last_seen, coalesce((first_version).version, ''), coalesce((last_version).version, ''),
			coalesce((first_version).key, ''), coalesce((last_version).key, ''),
			coalesce((first_release).release, ''), coalesce((last_release).release, '')
		from buckets where changed > @round`
	sqlBoardShrunk = `select id from buckets where changed > @round and shrunk > @round`
	sqlBoardCells  = `select bucket_id, day, release, version, architecture, reports from bucket_days where day >= @since`
	sqlBoardNewer  = `
		select d.bucket_id, d.day, d.release, d.version, d.architecture, d.reports
		from buckets as b join bucket_days as d on d.bucket_id = b.id
		where b.changed > @round and d.changed > @round and d.day >= @since`
	sqlBoardCellsOf = `
		select bucket_id, day, release, version, architecture, reports from bucket_days where bucket_id = any(@ids) and day >= @since`
)

// Board returns all problems, up to date: what was counted before the call is in it. The first call loads them, which takes
// seconds when there are millions of days.
func (s *Store) Board(ctx context.Context) (*board.Board, error) {
	round, err := s.round(ctx)
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	if k := s.keeper.known.Load(); k != nil && k.round == round {
		return k.board, nil
	}
	select {
	case <-s.keeper.turn:
		defer func() { s.keeper.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, errUnavailable.Because(ctx.Err())
	}
	b, err := s.keeper.update(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("board: %w", known(err))
	}
	return b, nil
}

// round is how often reports have been counted, which grows with every change of problems and counts.
func (s *Store) round(ctx context.Context) (round int64, err error) {
	err = s.pool.QueryRow(ctx, sqlRound).Scan(&round)
	return round, known(err)
}

// update tells the board what has changed since the last time. Rows may be told that are newer than the round that was read
// first; they come again with the next update, and then change nothing. A round below the one before means that the
// database is another one, an older copy put back: all is then read anew.
func (k *boardKeeper) update(ctx context.Context, s *Store) (*board.Board, error) {
	round, err := s.round(ctx)
	if err != nil {
		return nil, err
	}
	last := k.known.Load()
	if last != nil && round == last.round {
		return last.board, nil
	}
	if last != nil && round > last.round {
		if err := s.tellNewer(ctx, last); err != nil {
			return nil, err
		}
		k.known.Store(&toldBoard{last.board, round})
		return last.board, nil
	}
	b, err := s.loadBoard(context.WithoutCancel(ctx)) // the next one needs it too
	if err != nil {
		return nil, err
	}
	k.states.Store(nil)
	k.known.Store(&toldBoard{b, round})
	return b, nil
}

// loadTime is how long loading the board may take.
const loadTime = 10 * time.Minute

func (s *Store) loadBoard(ctx context.Context) (*board.Board, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	args := s.boardArgs(-1)
	leaves, err := s.boardLeaves(ctx, args)
	if err != nil {
		return nil, err
	}
	b := board.New()
	b.Update(func(u *board.Updater) { // nobody else has it yet, so it may be held for long
		tell(u, leaves, nil, nil)
		err = s.boardCells(ctx, sqlBoardCells, args, func(c boardCell) { c.tell(u) })
	})
	return b, err
}

func (s *Store) boardArgs(round int64) pgx.NamedArgs {
	return pgx.NamedArgs{"round": round, "since": s.now().UTC().AddDate(0, 0, -BoardDays)}
}

// tellNewer tells a board what is newer than the round that it has been told.
func (s *Store) tellNewer(ctx context.Context, last *toldBoard) error {
	args := s.boardArgs(last.round)
	leaves, err := s.boardLeaves(ctx, args)
	if err != nil {
		return err
	}
	shrunk, err := s.boardShrunk(ctx, args)
	if err != nil {
		return err
	}
	var cells []boardCell
	keep := func(c boardCell) { cells = append(cells, c.copy()) }
	if err := s.boardCells(ctx, sqlBoardNewer, args, keep); err != nil {
		return err
	}
	if len(shrunk) > 0 {
		args["ids"] = idBytes(shrunk)
		if err := s.boardCells(ctx, sqlBoardCellsOf, args, keep); err != nil {
			return err
		}
	}
	last.board.Update(func(u *board.Updater) { tell(u, leaves, shrunk, cells) })
	return nil
}

func tell(u *board.Updater, leaves []board.Leaf, shrunk []crash.BucketID, cells []boardCell) {
	for _, l := range leaves {
		u.Leaf(l)
	}
	for _, id := range shrunk {
		u.Forget(id)
	}
	for _, c := range cells {
		c.tell(u)
	}
}

func (s *Store) boardLeaves(ctx context.Context, args pgx.NamedArgs) ([]board.Leaf, error) {
	rows, err := s.pool.Query(ctx, sqlBoardLeaves, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l board.Leaf, err error) {
		var firstKey, lastKey []byte
		err = row.Scan(into(l.ID[:]), into(l.Head[:]), &l.Signature, &l.Rule, &l.Provisional, &l.Type, &l.Title, &l.Name, &l.Executable, &l.Package, &l.Source,
			&l.Reports, &l.Systems, orZero(&l.FirstSeen), orZero(&l.LastSeen), &l.FirstVersion, &l.LastVersion, &firstKey, &lastKey, &l.FirstRelease, &l.LastRelease)
		l.FirstKey, l.LastKey = string(firstKey), string(lastKey)
		return l, err
	})
}

func (s *Store) boardShrunk(ctx context.Context, args pgx.NamedArgs) ([]crash.BucketID, error) {
	rows, err := s.pool.Query(ctx, sqlBoardShrunk, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id crash.BucketID, err error) {
		err = row.Scan(into(id[:]))
		return id, err
	})
}

// boardCell is a row of bucket_days. The texts belong to the connection until the next row is read.
type boardCell struct {
	id                             crash.BucketID
	day                            board.Day
	release, version, architecture []byte
	reports                        int64
}

func (c boardCell) tell(u *board.Updater) {
	u.Cell(c.id, c.day, c.release, c.version, c.architecture, c.reports)
}

func (c boardCell) copy() boardCell {
	c.release, c.version, c.architecture = bytes.Clone(c.release), bytes.Clone(c.version), bytes.Clone(c.architecture)
	return c
}

// boardCells reads rows of bucket_days as they come over the wire, in PostgreSQL's binary form: there may be millions, and
// this spares making several values of each.
func (s *Store) boardCells(ctx context.Context, sql string, args pgx.NamedArgs, each func(boardCell)) error {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		v := rows.RawValues()
		if len(v[0]) != len(crash.BucketID{}) || len(v[1]) != 4 || len(v[5]) != 8 || rows.FieldDescriptions()[1].Format != pgx.BinaryFormatCode {
			return errors.New("a row of bucket_days is not in binary form")
		}
		day := int32(binary.BigEndian.Uint32(v[1])) //nolint:gosec // PostgreSQL's days since 2000
		each(boardCell{
			id: crash.BucketID(v[0]), day: board.Day(min(max(day, 0), 1<<16-1)),
			release: v[2], version: v[3], architecture: v[4], reports: int64(binary.BigEndian.Uint64(v[5])), //nolint:gosec // a bigint
		})
	}
	return rows.Err()
}
