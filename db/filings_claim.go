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
		update filings set state = 'filing', unit = @instance, claimed = now(), attempts = attempts + 1,
			sent_from = coalesce(sent_from, now()), problem = '', reason = '', updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlClaimSearch = `
		update filings set unit = @instance, claimed = now(), updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlInsertAttempt = `
		insert into filing_attempts (filing_id, action, unit, started) values (@id, @action, @instance, now())
		returning id`
)

// ClaimFiling claims the next step of a filing for this instance. The step is StepNone when there
// is nothing to do now, another instance works on it, or another filing is sent first. It returns
// NotFound for an unknown filing.
func (s *Store) ClaimFiling(ctx context.Context, id int64) (crash.FilingClaim, error) {
	instance, err := s.instance.number(ctx)
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
		args := pgx.NamedArgs{"id": id, "instance": instance, "action": string(claim.Step)}
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
		select id, unit, claimed,
			now() > claimed + case state when 'filing' then @create::interval else @search::interval end as overdue
		from filings where state in ('queued', 'filing', 'uncertain') and unit is not null order by claimed limit 1000`
	// A request can have left only before its instance died, and before the time for sending was
	// over.
	sqlAbandonFiling = `
		update filings set
			state = 'uncertain', unit = null, updated = now(), problem = 'tracker_failed',
			reason = @reason,
			settles = case state
				when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval
				else settles end,
			not_before = case state
				when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval
				else greatest(now(), not_before) end
		where id = @id and unit = @instance and claimed = @claimed`
	sqlCloseAttempts = `
		update filing_attempts set ended = now(), outcome = 'unknown', words = 'the instance ended before it knew'
		where filing_id = @id and ended is null`
	sqlDueFilings = `
		(select id from filings where state = 'uncertain' and unit is null and not_before <= now()
			order by created, id limit @limit)
		union all
		(select id from filings where state = 'queued' and unit is null and not_before <= now()
			and not exists (select from filings where state = 'filing')
			order by created, id limit 1)`
)

// A claim lasts no longer than its calls can take. After that it counts as abandoned.
const (
	claimGrace  = 30 * time.Second
	searchLimit = 15 * time.Minute
)

// DueFilings lists filings with a due step: those to be searched for, oldest first, and the first
// in the queue, unless one is being sent. Before that, filings whose instance died while it was
// sending or searching become uncertain, and so do those claimed for longer than terms allow.
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

// claimedFiling is a filing that an instance works on.
type claimedFiling struct {
	ID       int64
	Instance int64
	Claimed  time.Time
	Overdue  bool
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
		gone, asked := dead[f.Instance]
		if !asked {
			if err := tx.QueryRow(ctx, sqlInstanceDead, pgx.NamedArgs{"instance": f.Instance}).Scan(&gone); err != nil {
				return err
			}
			dead[f.Instance] = gone
		}
		if !gone && !f.Overdue {
			continue
		}
		tag, err := tx.Exec(ctx, sqlAbandonFiling, pgx.NamedArgs{
			"id": f.ID, "instance": f.Instance, "claimed": f.Claimed, "sending": terms.Sending, "settle": terms.Settle,
			"reason": "The instance that was sending the bug ended before it knew whether it was filed. " +
				"The tracker is searched before anything is sent again.",
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
		s.log.WarnContext(ctx, "a filing was abandoned by its instance",
			"filing", f.ID, "instance", f.Instance, "instance_died", gone)
		if err := s.addFilingJob(ctx, tx, f.ID, terms.Settle); err != nil {
			return err
		}
	}
	return nil
}
