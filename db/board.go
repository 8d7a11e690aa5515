package db

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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

// toldBoard is a board and the stamp up to which it has been told.
type toldBoard struct {
	board *board.Board
	at    stamp
}

func newBoardKeeper() *boardKeeper {
	k := &boardKeeper{turn: make(chan struct{}, 1)}
	k.turn <- struct{}{}
	return k
}

const (
	sqlRound       = `select round, ` + serverIDColumns + ` from counting`
	sqlBoardLeaves = `
		select id, head, left(signature, 1001), rule, provisional, problem_type, title, name, executable, package, source_package, reports, systems
		from buckets where changed > @round`
	sqlBoardSeen = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version, (r.first_seen).version_key,
			(r.last_seen).seen, (r.last_seen).version, (r.last_seen).version_key,
			coalesce((r.lowest_version).version, ''), coalesce((r.lowest_version).key, ''),
			coalesce((r.highest_version).version, ''), coalesce((r.highest_version).key, '')
		from buckets as b join bucket_releases as r on r.bucket_id = b.id
		where b.changed > @round`
	sqlBoardShrunk = `select id from buckets where changed > @round and shrunk > @round`
	sqlBoardCells  = `select bucket_id, day, release, version, architecture, package_architecture, reports from bucket_days where day >= @since`
	sqlBoardNewer  = `
		select d.bucket_id, d.day, d.release, d.version, d.architecture, d.package_architecture, d.reports
		from buckets as b join bucket_days as d on d.bucket_id = b.id
		where b.changed > @round and d.changed > @round and d.day >= @since`
	sqlBoardCellsOf = `
		select bucket_id, day, release, version, architecture, package_architecture, reports from bucket_days where bucket_id = any(@ids) and day >= @since`
)

// BoardSince is the first UTC day of which boards know every report for sure.
func (s *Store) BoardSince() time.Time {
	return s.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-BoardDays)
}

// Board returns all problems, up to date: what was counted before the call is in it. The first call loads them, which takes
// seconds when there are millions of days.
func (s *Store) Board(ctx context.Context) (*board.Board, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	if k := s.keeper.known.Load(); k != nil && k.at == at {
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

// stamp returns which database answers, and how often reports have been counted in it: that number grows with every change of
// problems and counts.
func (s *Store) stamp(ctx context.Context) (at stamp, err error) {
	err = s.pool.QueryRow(ctx, sqlRound).Scan(&at.round, &at.server.started, &at.server.database)
	return at, known(err)
}

// update tells the board what has changed since the last time. Rows may be told that are newer than the round that was read
// first; they come again with the next update, and then change nothing. When the server is another one, or has been started
// again, the board is loaded anew: the database may be an older copy, which lacks what the board has been told.
func (k *boardKeeper) update(ctx context.Context, s *Store) (*board.Board, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, err
	}
	last := k.known.Load()
	if last != nil && at == last.at {
		return last.board, nil
	}
	if last != nil && at.server == last.at.server && at.round > last.at.round {
		if err := s.tellNewer(ctx, last); err != nil {
			return nil, err
		}
		k.known.Store(&toldBoard{last.board, at})
		return last.board, nil
	}
	b, err := s.loadBoard(context.WithoutCancel(ctx)) // the next one needs it too
	if err != nil {
		return nil, err
	}
	k.states.Store(nil)
	k.known.Store(&toldBoard{b, at})
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
	args := s.boardArgs(last.at.round)
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
	leaves, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l board.Leaf, err error) {
		err = row.Scan(into(l.ID[:]), into(l.Head[:]), &l.Signature, &l.Rule, &l.Provisional, &l.Type, &l.Title, &l.Name, &l.Executable, &l.Package, &l.Source,
			&l.Reports, &l.Systems)
		return l, err
	})
	if err != nil {
		return nil, err
	}
	seen, err := s.boardSeen(ctx, args)
	if err != nil {
		return nil, err
	}
	for i := range leaves {
		leaves[i].Releases = seen[leaves[i].ID]
	}
	return leaves, nil
}

// boardSeen reads when and in which versions buckets were seen, by release.
func (s *Store) boardSeen(ctx context.Context, args pgx.NamedArgs) (map[crash.BucketID][]*board.Facts, error) {
	rows, err := s.pool.Query(ctx, sqlBoardSeen, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[crash.BucketID][]*board.Facts{}
	for rows.Next() {
		var id crash.BucketID
		var release crash.Release
		var f board.Facts
		if err := rows.Scan(into(id[:]), &release, &f.First.At, &f.First.Version, (*keyText)(&f.FirstKey),
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
	id                                crash.BucketID
	day                               board.Day
	release, version                  []byte
	architecture, packageArchitecture []byte
	reports                           int64
}

func (c boardCell) tell(u *board.Updater) {
	u.Cell(c.id, c.day, c.release, c.version, c.architecture, c.packageArchitecture, c.reports)
}

func (c boardCell) copy() boardCell {
	c.release, c.version = bytes.Clone(c.release), bytes.Clone(c.version)
	c.architecture, c.packageArchitecture = bytes.Clone(c.architecture), bytes.Clone(c.packageArchitecture)
	return c
}

// boardCells calls each for rows of bucket_days.
func (s *Store) boardCells(ctx context.Context, sql string, args pgx.NamedArgs, each func(boardCell)) error {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var c boardCell
	var day time.Time
	_, err = pgx.ForEachRow(rows, []any{
		into(c.id[:]), &day, (*pgtype.DriverBytes)(&c.release), (*pgtype.DriverBytes)(&c.version), (*pgtype.DriverBytes)(&c.architecture),
		(*pgtype.DriverBytes)(&c.packageArchitecture), &c.reports,
	}, func() error {
		c.day = board.DayOf(day)
		each(c)
		return nil
	})
	return err
}
