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
	sqlLockFiling = `
		select ` + filingColumns + `, unit is not null, not_before <= now(), sent_from
		from filings where id = @id for update`
	sqlClaimCreate = `
		update filings set state = 'filing', unit = @unit, claimed = now(), attempts = attempts + 1,
			sent_from = coalesce(sent_from, now()), problem = '', reason = '', updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlClaimSearch = `
		update filings set unit = @unit, claimed = now(), updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlInsertAttempt = `
		insert into filing_attempts (filing_id, action, unit, started) values (@id, @action, @unit, now())
		returning id`
)

// ClaimFiling takes the next step of a filing for this unit. The step is StepNone when there is nothing to do now, another
// unit is at it, or it is not this one's turn to be sent. It returns NotFound for an unknown filing.
func (s *Store) ClaimFiling(ctx context.Context, id int64) (crash.FilingClaim, error) {
	unit, err := s.unit.number(ctx)
	if err != nil {
		return crash.FilingClaim{}, err
	}
	var claim crash.FilingClaim
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var taken, due bool
		row := tx.QueryRow(ctx, sqlLockFiling, pgx.NamedArgs{"id": id})
		if err := scanFiling(row, &claim.Filing, &taken, &due, orZero(&claim.SentFrom)); err != nil {
			return err
		}
		if claim.Step = nextStep(claim.State); taken || !due {
			claim.Step = crash.StepNone
		}
		if claim.Step == crash.StepCreate {
			next, err := s.maySend(ctx, tx, id)
			if err != nil {
				return err
			}
			if next.linked != 0 || next.cedes || !next.allowed {
				claim.Step = crash.StepNone
			}
			if next.linked != 0 {
				return s.filed(ctx, tx, &claim.Filing, crash.Bug{Number: next.linked, How: crash.Linked})
			}
			if next.cedes {
				return s.cede(ctx, tx, &claim.Filing)
			}
		}
		sql := sqlClaimCreate
		switch claim.Step {
		case crash.StepNone:
			return nil
		case crash.StepSearch:
			sql = sqlClaimSearch
		case crash.StepCreate:
		}
		args := pgx.NamedArgs{"id": id, "unit": unit, "action": string(claim.Step)}
		if err := scanFiling(tx.QueryRow(ctx, sql, args), &claim.Filing, orZero(&claim.SentFrom)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertAttempt, args).Scan(&claim.Entry)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return claim, errUnknownFiling
	}
	if err != nil {
		return claim, fmt.Errorf("claim filing %d: %w", id, err)
	}
	return claim, nil
}

// nextStep is the step that leads out of a state.
func nextStep(state crash.FilingState) crash.FilingStep {
	switch state {
	case crash.FilingQueued:
		return crash.StepCreate
	case crash.FilingUncertain:
		return crash.StepSearch
	case crash.FilingSending, crash.FilingFiled, crash.FilingRefused, crash.FilingAbandoned:
	}
	return crash.StepNone
}

const (
	sqlClaimedFilings = `
		select id, unit, claimed, now() > claimed + case state when 'filing' then @create::interval else @search::interval end as overdue
		from filings where state in ('queued', 'filing', 'uncertain') and unit is not null order by claimed limit 1000`
	// What was perhaps sent was sent before its unit died, and before the time for sending was over.
	sqlAbandonFiling = `
		update filings set
			state = 'uncertain', unit = null, updated = now(), problem = 'tracker_failed',
			reason = 'The unit that was sending the bug ended before it knew whether it was filed. The tracker is searched before anything is sent again.',
			settles = case state when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval else settles end,
			not_before = case state
				when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval
				else greatest(now(), not_before) end
		where id = @id and unit = @unit and claimed = @claimed`
	sqlCloseAttempts = `
		update filing_attempts set ended = now(), outcome = 'unknown', words = 'the unit ended before it knew'
		where filing_id = @id and ended is null`
	sqlDueFilings = `
		(select id from filings where state = 'uncertain' and unit is null and not_before <= now()
			order by created, id limit @limit)
		union all
		(select id from filings where state = 'queued' and unit is null and not_before <= now()
			and not exists (select from filings where state = 'filing')
			order by created, id limit 1)`
)

// A unit keeps a filing no longer than its calls can take; longer, and something has gone wrong there.
const (
	claimGrace  = 30 * time.Second
	searchLimit = 15 * time.Minute
)

// DueFilings lists filings that a step is due for: those to be searched for in the order in which they were asked for, and
// of those to be sent the head of the line, unless one is being sent. Those whose unit died while
// it was sending or searching, or has kept them for longer than terms allow, become uncertain first.
func (s *Store) DueFilings(ctx context.Context, terms crash.FilingTerms, limit int) ([]int64, error) {
	var due []int64
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if err := s.abandonDead(ctx, tx, terms); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlDueFilings, pgx.NamedArgs{"limit": limit})
		if err != nil {
			return err
		}
		due, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("due filings: %w", err)
	}
	return due, nil
}

// claimedFiling is a filing that some unit works on.
type claimedFiling struct {
	ID      int64
	Unit    int64
	Claimed time.Time
	Overdue bool
}

func (s *Store) abandonDead(ctx context.Context, tx pgx.Tx, terms crash.FilingTerms) error {
	rows, err := tx.Query(ctx, sqlClaimedFilings, pgx.NamedArgs{
		"create": terms.Sending + terms.Answer + claimGrace, "search": searchLimit,
	})
	if err != nil {
		return err
	}
	claimed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[claimedFiling])
	if err != nil {
		return err
	}
	dead := map[int64]bool{}
	for _, f := range claimed {
		gone, asked := dead[f.Unit]
		if !asked {
			if err := tx.QueryRow(ctx, sqlUnitDead, pgx.NamedArgs{"unit": f.Unit}).Scan(&gone); err != nil {
				return err
			}
			dead[f.Unit] = gone
		}
		if !gone && !f.Overdue {
			continue
		}
		tag, err := tx.Exec(ctx, sqlAbandonFiling, pgx.NamedArgs{
			"id": f.ID, "unit": f.Unit, "claimed": f.Claimed, "sending": terms.Sending, "settle": terms.Settle,
		})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, sqlCloseAttempts, pgx.NamedArgs{"id": f.ID}); err != nil {
			return err
		}
		s.log.WarnContext(ctx, "a filing was left behind by its unit", "filing", f.ID, "unit", f.Unit, "unit_died", gone)
		if err := s.addFilingJob(ctx, tx, f.ID, terms.Settle); err != nil {
			return err
		}
	}
	return nil
}
