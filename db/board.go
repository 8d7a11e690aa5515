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
	"mishap/crash/board"
)

// BoardDays is how many days back the board has counts of single days: the longest period of lists,
// and some more.
const BoardDays = 400

// boardKeeper has the board of this process. Each lock is a channel that is full while somebody
// holds the lock.
type boardKeeper struct {
	updating   chan struct{} // lock: one caller at a time loads or updates the board
	judging    chan struct{} // lock: one caller at a time judges problems; the board may be updated meanwhile
	loaded     atomic.Pointer[loadedBoard]
	states     atomic.Pointer[statuses]
	background sync.WaitGroup // judging that goes on after its caller has left
}

// loadedBoard is a board and the stamp of the counts that are on it.
type loadedBoard struct {
	board *board.Board
	at    stamp
}

func newBoardKeeper() *boardKeeper {
	return &boardKeeper{updating: make(chan struct{}, 1), judging: make(chan struct{}, 1)}
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

// BoardSince returns the first UTC day of which boards have every report.
func (s *Store) BoardSince() time.Time {
	return s.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-BoardDays)
}

// Board returns all problems, up to date: what was counted before the call is in it. The first call
// loads them, which takes seconds when there are millions of days.
func (s *Store) Board(ctx context.Context) (*board.Board, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	if l := s.keeper.loaded.Load(); l != nil && l.at == at {
		return l.board, nil
	}
	if err := acquire(ctx, s.keeper.updating); err != nil {
		return nil, err
	}
	defer func() { <-s.keeper.updating }()
	b, err := s.keeper.update(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("board: %w", known(err))
	}
	return b, nil
}

// stamp returns which database answers, and how many rounds of counting it has seen. The number of
// rounds grows with every change of problems and counts.
func (s *Store) stamp(ctx context.Context) (at stamp, err error) {
	err = s.pool.QueryRow(ctx, sqlRound).Scan(&at.round, &at.server.started, &at.server.database)
	return at, known(err)
}

// update applies to the board what has changed since the last update. Rows may be newer than the
// round that is read first; they come again with the next update and then change nothing. After a
// restart of the server, or on another one, update loads a new board: the database may be an older
// copy, which lacks what is on the board.
func (k *boardKeeper) update(ctx context.Context, s *Store) (*board.Board, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		return nil, err
	}
	last := k.loaded.Load()
	if last != nil && at == last.at {
		return last.board, nil
	}
	if last != nil && at.server == last.at.server && at.round > last.at.round {
		if err := s.applyNewer(ctx, last); err != nil {
			return nil, err
		}
		k.loaded.Store(&loadedBoard{last.board, at})
		return last.board, nil
	}
	b, err := s.loadBoard(context.WithoutCancel(ctx)) // the next caller needs it, too
	if err != nil {
		return nil, err
	}
	k.states.Store(nil)
	k.loaded.Store(&loadedBoard{b, at})
	return b, nil
}

// loadTime is the longest time that loading the board, or judging all problems, may take.
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
	b.Update(func(u *board.Updater) { // locks the board for long, but nobody else has it yet
		applyRows(u, leaves, nil, nil)
		err = s.boardCells(ctx, sqlBoardCells, args, func(c boardCell) { c.apply(u) })
	})
	return b, err
}

func (s *Store) boardArgs(round int64) pgx.NamedArgs {
	return pgx.NamedArgs{"round": round, "since": s.now().UTC().AddDate(0, 0, -BoardDays)}
}

// applyNewer applies to a board what is newer than its stamp.
func (s *Store) applyNewer(ctx context.Context, last *loadedBoard) error {
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
	last.board.Update(func(u *board.Updater) { applyRows(u, leaves, shrunk, cells) })
	return nil
}

func applyRows(u *board.Updater, leaves []board.Leaf, shrunk []crash.BucketID, cells []boardCell) {
	for _, l := range leaves {
		u.Leaf(l)
	}
	for _, id := range shrunk {
		u.Forget(id)
	}
	for _, c := range cells {
		c.apply(u)
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

func (c boardCell) apply(u *board.Updater) {
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
