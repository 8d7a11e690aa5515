package filings

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlClaimedFilings = `
		select id, unit, claimed,
			now() > claimed + case state when 'filing' then @create::interval else @search::interval end as overdue
		from filings where state in ('queued', 'filing', 'uncertain') and unit is not null order by claimed limit 1000`
	// sqlAbandonFiling assumes that the request left before the instance died and before the time
	// limit for sending.
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

// A claim ends after the longest time that its calls can take. The filing then counts as abandoned
// by its instance.
const (
	claimGrace  = 30 * time.Second
	searchLimit = 15 * time.Minute
)

// DueFilings returns filings with a due step: up to limit that must be searched for, oldest first,
// and the first one in the queue unless one is being sent. First it makes filings uncertain whose
// instance died while it worked on them, or took longer than terms allow.
func (s *Store) DueFilings(ctx context.Context, terms crash.FilingTerms, limit int) ([]int64, error) {
	var due []int64
	err := s.InTx(ctx, func(tx pgx.Tx) error {
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
		s.Log.WarnContext(ctx, "a filing was abandoned by its instance",
			"filing", f.ID, "instance", f.Instance, "instance_died", gone)
		if err := s.AddFilingJob(ctx, tx, f.ID, terms.Settle); err != nil {
			return err
		}
	}
	return nil
}

const sqlPostponeFilings = `
	update filings set problem = @problem, reason = @reason, updated = now(), not_before = now() + @delay::interval
	where id in (
		select id from filings as f where state in ('queued', 'uncertain') and unit is null and not_before <= now()
			and (id = @id or not exists (
				select from own_tracker_accounts as o
				where o.user_id = case f.state when 'queued' then f.own_user else f.sent_user end and not o.broken))
		for update skip locked)`

// PostponeFilings postpones a due filing, and all others that need the application's account, for a
// reason that affects all of them alike.
func (s *Store) PostponeFilings(ctx context.Context, id int64, problem, reason string, delay time.Duration) error {
	_, err := s.Pool.Exec(ctx, sqlPostponeFilings, pgx.NamedArgs{
		"id": id, "problem": problem, "reason": reason, "delay": delay,
	})
	if err != nil {
		return fmt.Errorf("postpone filings: %w", db.Classify(err))
	}
	return nil
}

// sqlInstanceDead selects true if no instance holds the lock on its number.
const sqlInstanceDead = `select pg_try_advisory_xact_lock(@instance)`
