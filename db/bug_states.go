package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// storedState is a row of bug_states as the database writes it as JSON.
type storedState struct {
	Number          int64           `json:"number"`
	InformationType string          `json:"information_type"`
	Private         bool            `json:"private"`
	Hidden          bool            `json:"hidden"`
	DuplicateOf     int64           `json:"duplicate_of"`
	Tasks           []crash.BugTask `json:"tasks"`
	Fixes           []crash.BugFix  `json:"fixes"`
	Read            time.Time       `json:"read"`
	Next            time.Time       `json:"next_read"`
	Failures        int             `json:"failures"`
	Failure         string          `json:"failure"`
}

// state makes the domain's value of a row; nil gives the state of a bug of which nothing is known.
func (s *storedState) state(number int64, title string) crash.BugState {
	if s == nil {
		return crash.BugState{BugReading: crash.BugReading{Number: number, Title: title}}
	}
	return crash.BugState{
		BugReading: crash.BugReading{
			Number: number, Title: title, InformationType: s.InformationType, Private: s.Private, Hidden: s.Hidden,
			DuplicateOf: s.DuplicateOf, Tasks: s.Tasks, Fixes: s.Fixes,
		},
		Read: s.Read.UTC(), Next: s.Next.UTC(), Failures: s.Failures, Failure: s.Failure,
	}
}

// bugColumns and bugJoins make a crash.Bug of each row of bucket_bugs as l; scanBug reads it.
const (
	bugColumns = `
		g.number, g.title, g.url, l.how, l.person, l.at, to_jsonb(st), to_jsonb(m),
		coalesce(mg.title, ''), coalesce(mg.url, '')`
	bugJoins = `
		join bugs as g on g.number = l.bug_number
		left join bug_states as st on st.number = l.bug_number
		left join bug_states as m on m.number = st.duplicate_of
		left join bugs as mg on mg.number = st.duplicate_of`
	// Which of several bugs is the one that is shown: an open one before a closed one, then the one that was linked last.
	bugOrder = `coalesce(m.closed, st.closed, false), l.at desc, l.bug_number desc`
)

// bugScan holds what bugColumns bring before it becomes a crash.Bug. Every part may be null.
type bugScan struct {
	number                  *int64
	title, url, how, person *string
	at                      time.Time
	state, master           *storedState
	masterTitle, masterURL  *string
}

func (b *bugScan) columns() []any {
	return []any{
		&b.number, &b.title, &b.url, &b.how, &b.person, orZero(&b.at), &b.state, &b.master, &b.masterTitle, &b.masterURL,
	}
}

func (b *bugScan) bug() crash.Bug {
	if b.number == nil {
		return crash.Bug{}
	}
	out := crash.Bug{Number: *b.number, Title: *b.title, URL: *b.url, How: crash.LinkHow(*b.how), By: *b.person, At: b.at}
	out.State = b.state.state(out.Number, out.Title)
	if b.master != nil {
		master := b.master.state(b.master.Number, *b.masterTitle)
		out.Master, out.MasterURL = &master, *b.masterURL
	}
	return out
}

// A bug that several buckets of one problem have is shown once: as the one that has it longest.
const sqlBucketBugs = `
	select ` + bugColumns + ` from (
		select distinct on (bug_number) * from bucket_bugs where bucket_id in ` + members + ` order by bug_number, at, bucket_id
	) as l ` + bugJoins + ` order by ` + bugOrder

// BucketBugs returns all bugs of the problem that a bucket is part of, in the order in which they count: the first is the one that lists show.
func (s *Bugs) BucketBugs(ctx context.Context, id crash.BucketID) ([]crash.Bug, error) {
	rows, err := s.pool.Query(ctx, sqlBucketBugs, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, known(err))
	}
	bugs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (crash.Bug, error) {
		var b bugScan
		err := row.Scan(b.columns()...)
		return b.bug(), err
	})
	if err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, known(err))
	}
	return bugs, nil
}

const sqlDueBugs = `select number from bug_states where next_read <= now() order by next_read, number limit @limit`

// DueBugs lists bugs that it is time to read, those first that have waited longest.
func (s *Bugs) DueBugs(ctx context.Context, limit int) ([]int64, error) {
	return s.numbers(ctx, "due bugs", sqlDueBugs, pgx.NamedArgs{"limit": limit})
}

func (s *Bugs) numbers(ctx context.Context, what, sql string, args pgx.NamedArgs) ([]int64, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, known(err))
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, known(err))
	}
	return numbers, nil
}

const (
	sqlKnowBug = `
		insert into bugs (number, title, url) values (@number, '', @url) on conflict (number) do nothing`
	sqlWatchBug = `
		insert into bug_states (number, next_read) values (@number, now()) on conflict (number) do nothing`
	sqlSaveState = `
		update bug_states set information_type = @type, private = @private, hidden = @hidden, duplicate_of = nullif(@duplicate::bigint, 0),
			closed = @closed, tasks = @tasks, fixes = @fixes, read = now(), next_read = now() + @again::interval, failures = 0, failure = ''
		where number = @number`
	sqlSaveBugTitle = `update bugs set title = @title where number = @number and title <> @title`
)

// SaveBugReading keeps what the tracker said of a bug and when to ask again. The bug that it repeats, if any, is followed from
// then on as well; masterURL is its page.
func (s *Bugs) SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error {
	title := r.Title
	if r.Private || r.Hidden {
		title = ""
	}
	args := pgx.NamedArgs{
		"number": r.Number, "type": r.InformationType, "private": r.Private, "hidden": r.Hidden, "duplicate": r.DuplicateOf,
		"closed": r.Closed(), "tasks": listOf(r.Tasks), "fixes": listOf(r.Fixes), "again": again, "title": title,
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if r.DuplicateOf != 0 {
			master := pgx.NamedArgs{"number": r.DuplicateOf, "url": masterURL}
			for _, sql := range []string{sqlKnowBug, sqlWatchBug} {
				if _, err := tx.Exec(ctx, sql, master); err != nil {
					return fmt.Errorf("bug %d: %w", r.DuplicateOf, err)
				}
			}
		}
		for _, sql := range []string{sqlSaveState, sqlSaveBugTitle} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return fmt.Errorf("state of bug %d: %w", r.Number, err)
			}
		}
		return nil
	})
}

// listOf is never null as JSON.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

const sqlFailState = `
	update bug_states set failures = failures + 1, failure = @failure, 
		next_read = now() + least(@again::interval * power(2, least(failures, 9)), interval '6 hours')
	where number = @number`

// FailBugReading notes that a bug could not be read, and why. It is tried again after a while, which doubles with each
// failure in a row.
func (s *Bugs) FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error {
	_, err := s.pool.Exec(ctx, sqlFailState, pgx.NamedArgs{"number": number, "failure": why, "again": again})
	if err != nil {
		return fmt.Errorf("state of bug %d: %w", number, known(err))
	}
	return nil
}

const sqlReadBugsNow = `update bug_states set next_read = now() where number = any(@numbers)`

// ReadBugsNow has bugs read soon, because somebody asks for it, also those that could not be read lately.
func (s *Bugs) ReadBugsNow(ctx context.Context, numbers []int64) error {
	if _, err := s.pool.Exec(ctx, sqlReadBugsNow, pgx.NamedArgs{"numbers": numbers}); err != nil {
		return fmt.Errorf("read bugs now: %w", known(err))
	}
	return nil
}

const sqlHurryBugs = `
	update bug_states set next_read = now()
	where number = any(@numbers) and next_read > now() and failures = 0 and (read is null or read < now() - @older::interval)`

// HurryBugs has bugs read soon whose state is older than that, because somebody looks at it. Those that cannot be read at
// the moment are left to their own time.
func (s *Bugs) HurryBugs(ctx context.Context, numbers []int64, older time.Duration) error {
	if _, err := s.pool.Exec(ctx, sqlHurryBugs, pgx.NamedArgs{"numbers": numbers, "older": older}); err != nil {
		return fmt.Errorf("read bugs soon: %w", known(err))
	}
	return nil
}
