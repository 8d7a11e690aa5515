package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlInsertBug = `insert into bugs (number, title, url) values (@number, @title, @url) on conflict (number) do nothing`
	sqlWatchBug  = `
		insert into bug_states (number, next_read) values (@number, now()) on conflict (number) do nothing`
	sqlInsertLink = `
		insert into bucket_bugs (bucket_id, bug_number, how, person, at) values (@bucket, @number, @how, @person, now())
		on conflict (bucket_id, bug_number) do nothing`
)

// linkBug gives a bucket a bug. One that it has already stays as it is.
func (s *Handle) linkBug(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	args := pgx.NamedArgs{
		"number": bug.Number, "title": bug.Title, "url": bug.URL,
		"bucket": bucket[:], "how": string(bug.How), "person": bug.By,
	}
	if _, err := tx.Exec(ctx, sqlInsertBug, args); err != nil {
		return fmt.Errorf("bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, sqlWatchBug, args); err != nil {
		return fmt.Errorf("watch bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, sqlInsertLink, args); err != nil {
		return fmt.Errorf("link bug %d to %s: %w", bug.Number, bucket, err)
	}
	return nil
}

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

const sqlSettleByLink = `
	update filings set state = 'filed', bug_number = @number, unit = null, problem = '', reason = '', updated = now()
	where bucket_id in ` + members + ` and state = 'queued'`

// settleByLink ends a queued filing whose problem was linked to a bug by hand, so that no second bug
// is filed. A filing that is being sent continues. One with an unknown outcome is still searched for:
// a bug that it has filed counts as well, and if there is none, nothing more is sent.
func (s *Handle) settleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	if _, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}); err != nil {
		return fmt.Errorf("end the filing of %s: %w", bucket, err)
	}
	return nil
}

const sqlBugTemplate = `
	select package, problem_type, body, person, changed from bug_templates
	where package in ('', @package) and problem_type in ('', @type)
	order by package = '', problem_type = '' limit 1`

// BugTemplate returns the template for bugs of a source package and a problem type: that for both, else that for the
// package, the type, or all. Its body is empty when there is none.
func (s *Store) BugTemplate(ctx context.Context, source, problemType string) (crash.BugTemplate, error) {
	rows, err := s.pool.Query(ctx, sqlBugTemplate, pgx.NamedArgs{"package": source, "type": problemType})
	if err != nil {
		return crash.BugTemplate{}, fmt.Errorf("template of bugs: %w", classify(err))
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[crash.BugTemplate])
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.BugTemplate{}, nil
	}
	if err != nil {
		return crash.BugTemplate{}, fmt.Errorf("template of bugs: %w", classify(err))
	}
	return t, nil
}
