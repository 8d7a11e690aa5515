package symbols

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// A person can ask for a core of a problem. Then machines are asked, even if a core of the problem
// has arrived before, until another one arrives.

const (
	// wantedOf selects the rows of the problem that the bucket @bucket belongs to.
	wantedOf    = `from wanted_cores where problem in ` + db.Members
	sqlWantCore = `
		insert into wanted_cores (problem, person)
		select head, @person from buckets where id = @bucket and not exists (select ` + wantedOf + `)
		on conflict do nothing`
	sqlUnwantCore = `delete ` + wantedOf
	// sqlAwaited selects what a problem waits for: the files whose build is unknown, the person who asked
	// for a core and when, and when a machine was last asked for one, in the last week. The last column
	// says whether the problem has a job.
	sqlAwaited = `
		select array(
				select distinct u.path from symbol_jobs as j join unknown_builds as u using (report_id)
				where j.problem in ` + db.Members + ` and j.state in ('waiting', 'partial')
				order by u.path limit 100),
			coalesce(c.person, ''), c.asked,
			(select max(requested) from core_requests
				where problem in ` + db.Members + ` and received is null and requested > now() - interval '7 days'),
			exists (select from symbol_jobs where problem in ` + db.Members + `)
		from (select) as one left join lateral (
			select person, asked ` + wantedOf + ` order by asked desc limit 1) as c on true`
)

// WantCore records that a person asks for a core of a problem, unless somebody has asked already.
func (s *Store) WantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlWantCore, "core.ask", true, problem, person)
}

// UnwantCore withdraws the request of WantCore, if there is one.
func (s *Store) UnwantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlUnwantCore, "core.withdraw", false, problem, person)
}

func (s *Store) changeWanted(ctx context.Context, sql, action string, wanted bool, problem crash.BucketID,
	person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"bucket": problem[:], "person": person})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: problem.String(),
			Before: map[string]any{"core_wanted": !wanted}, After: map[string]any{"core_wanted": wanted}})
	})
	if err != nil {
		return fmt.Errorf("%s of %s: %w", action, problem, err)
	}
	return nil
}

// useWanted ends the request for a core of a problem, because one has arrived. It reports whether
// there was one.
func (s *Store) useWanted(ctx context.Context, tx pgx.Tx, problem []byte) (wanted bool, err error) {
	tag, err := tx.Exec(ctx, sqlUnwantCore, pgx.NamedArgs{"bucket": problem})
	return err == nil && tag.RowsAffected() > 0, err
}

// ProblemSymbols returns how far a problem is symbolised. Its job is the one that tells most or, if
// that gave no names, has the state SymbolsAsked while a core is on its way.
func (s *Store) ProblemSymbols(ctx context.Context, problem crash.BucketID) (p crash.ProblemSymbols, err error) {
	args := pgx.NamedArgs{"bucket": problem[:]}
	var unknown []string
	var requested time.Time
	var known bool
	err = s.Pool.QueryRow(ctx, sqlAwaited, args).Scan(&unknown, &p.Wanted.Person, db.OrZero(&p.Wanted.Asked),
		db.OrZero(&requested), &known)
	if err != nil {
		return p, fmt.Errorf("what the symbols of %s wait for: %w", problem, db.Classify(err))
	}
	if known {
		if p.Job, known, err = s.oneJob(ctx, sqlProblemJob, args); err != nil {
			return p, err
		}
	}
	if !requested.IsZero() && (!known || !named(p.Job)) {
		p.Job = awaitingCore(p.Job, requested)
	}
	p.Missing = append(p.Job.MissingPaths(), unknown...)
	return p, nil
}
