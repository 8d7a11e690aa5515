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
	// SQLWatchBug schedules a bug to be read from the tracker, unless it is scheduled already.
	SQLWatchBug = `
		insert into bug_states (number, next_read) values (@number, now()) on conflict (number) do nothing`
	sqlInsertLink = `
		insert into bucket_bugs (bucket_id, bug_number, how, person, at) values (@bucket, @number, @how, @person, now())
		on conflict (bucket_id, bug_number) do nothing`
)

// AddBugLink links a bug to a bucket. It does nothing if they are linked already.
func (s *Handle) AddBugLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	args := pgx.NamedArgs{
		"number": bug.Number, "title": bug.Title, "url": bug.URL,
		"bucket": bucket[:], "how": string(bug.How), "person": bug.By,
	}
	if _, err := tx.Exec(ctx, sqlInsertBug, args); err != nil {
		return fmt.Errorf("bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, SQLWatchBug, args); err != nil {
		return fmt.Errorf("watch bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, sqlInsertLink, args); err != nil {
		return fmt.Errorf("link bug %d to %s: %w", bug.Number, bucket, err)
	}
	return nil
}

// StoredState is a row of bug_states, as PostgreSQL converts it to JSON.
type StoredState struct {
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

// State converts a row to a BugState. A nil row gives a state with only the number and the title.
func (s *StoredState) State(number int64, title string) crash.BugState {
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

// These fragments of SQL read a crash.Bug from each row of bucket_bugs, which is called l.
const (
	// BugColumns are the columns that BugScan reads.
	BugColumns = `
		g.number, g.title, g.url, l.how, l.person, l.at, to_jsonb(st), to_jsonb(m),
		coalesce(mg.title, ''), coalesce(mg.url, '')`
	// BugJoins joins the tables that BugColumns needs.
	BugJoins = `
		join bugs as g on g.number = l.bug_number
		left join bug_states as st on st.number = l.bug_number
		left join bug_states as m on m.number = st.duplicate_of
		left join bugs as mg on mg.number = st.duplicate_of`
	// BugOrder sorts the bugs of a problem: open ones before closed ones, then the most recently
	// linked first. Lists show only the first.
	BugOrder = `coalesce(m.closed, st.closed, false), l.at desc, l.bug_number desc`
)

// BugScan scans BugColumns, even if all of them are null.
type BugScan struct {
	number                  *int64
	title, url, how, person *string
	at                      time.Time
	state, master           *StoredState
	masterTitle, masterURL  *string
}

// Columns returns the scan targets for BugColumns.
func (b *BugScan) Columns() []any {
	return []any{
		&b.number, &b.title, &b.url, &b.how, &b.person, OrZero(&b.at), &b.state, &b.master, &b.masterTitle, &b.masterURL,
	}
}

// Bug returns the bug that was scanned, or an empty one if the columns were null.
func (b *BugScan) Bug() crash.Bug {
	if b.number == nil {
		return crash.Bug{}
	}
	out := crash.Bug{Number: *b.number, Title: *b.title, URL: *b.url, How: crash.LinkHow(*b.how), By: *b.person, At: b.at}
	out.State = b.state.State(out.Number, out.Title)
	if b.master != nil {
		master := b.master.State(b.master.Number, *b.masterTitle)
		out.Master, out.MasterURL = &master, *b.masterURL
	}
	return out
}

const sqlSettleByLink = `
	update filings set state = 'filed', bug_number = @number, unit = null, problem = '', reason = '', updated = now()
	where bucket_id in ` + Members + ` and state = 'queued'`

// SettleByLink ends the queued filing of a problem that someone has linked to a bug, so that no
// second bug is filed. It does not stop a filing that is being sent. It leaves a filing with an
// unknown outcome to the search: the search adds any bug it finds, and then nothing more is sent.
func (s *Handle) SettleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	if _, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}); err != nil {
		return fmt.Errorf("end the filing of %s: %w", bucket, err)
	}
	return nil
}

const sqlBugTemplate = `
	select package, problem_type, body, person, changed from bug_templates
	where package in ('', @package) and problem_type in ('', @type)
	order by package = '', problem_type = '' limit 1`

// BugTemplate returns the template for bugs of a source package and a problem type. It prefers a
// template for both, then one for the package, one for the type, and the general one. The body is
// empty if there is none.
func (s *Store) BugTemplate(ctx context.Context, source, problemType string) (crash.BugTemplate, error) {
	rows, err := s.Pool.Query(ctx, sqlBugTemplate, pgx.NamedArgs{"package": source, "type": problemType})
	if err != nil {
		return crash.BugTemplate{}, fmt.Errorf("template of bugs: %w", Classify(err))
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[crash.BugTemplate])
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.BugTemplate{}, nil
	}
	if err != nil {
		return crash.BugTemplate{}, fmt.Errorf("template of bugs: %w", Classify(err))
	}
	return t, nil
}

const sqlUpdateRules = `
	select pattern, again, quiet, quiet_weeks, section, person, changed from update_rules
	order by pattern = '*', position, pattern`

// UpdateRules returns what mishap writes to bugs by itself, in the order in which the rules apply.
func (s *Store) UpdateRules(ctx context.Context) (crash.UpdateRules, error) {
	rows, err := s.Pool.Query(ctx, sqlUpdateRules)
	if err != nil {
		return nil, fmt.Errorf("rules of updates: %w", Classify(err))
	}
	rules, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r crash.UpdateRule, err error) {
		err = row.Scan(&r.Pattern, &r.Again, &r.Quiet, &r.QuietWeeks, &r.Section, &r.Person, OrZero(&r.Changed))
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("rules of updates: %w", Classify(err))
	}
	return rules, nil
}
