package filings

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// These statements change filings by hand.
const (
	// sqlReviveFiling revives a filing that was abandoned or refused with an unknown outcome. It keeps the
	// old contents, because the tracker must be searched for these before anything is sent again.
	sqlReviveFiling = `
		update filings set state = 'uncertain', unsettled = false, person = @person, own_user = @own, problem = '',
			reason = '', created = now(), updated = now(), not_before = greatest(now(), coalesce(settles, now()))
		where id = @id and state in ('abandoned', 'refused') and unsettled
		returning ` + filingColumns
	sqlFilingForUpdate = sqlFiling + ` for update`
	sqlHastenFiling    = `
		update filings set updated = now(),
			not_before = case state when 'uncertain' then greatest(now(), coalesce(settles, now())) else now() end
		where id = @id and state in ('queued', 'uncertain') and unit is null
		returning ` + filingColumns
	sqlGiveUpFiling = `
		update filings set state = 'abandoned', unsettled = unsettled or state = 'uncertain', unit = null,
			problem = 'abandoned', reason = @reason, updated = now()
		where id = @id and state in ('queued', 'uncertain', 'refused')
		returning ` + filingColumns
)

// renewFiling gives a filing new contents and moves it to the end of the queue.
func (s *Store) renewFiling(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, f *crash.Filing) error {
	err := scanFiling(tx.QueryRow(ctx, sqlReviveFiling, args), f)
	if errors.Is(err, pgx.ErrNoRows) {
		err = scanFiling(tx.QueryRow(ctx, sqlRenewFiling, args), f)
	}
	return err
}

// HastenFiling makes a waiting filing due at once, or as soon as a search can find its bug if the
// outcome is unknown. It returns other filings unchanged. It returns NotFound for an unknown
// filing.
func (s *Store) HastenFiling(ctx context.Context, id int64, person string) (crash.Filing, error) {
	return s.byHand(ctx, sqlHastenFiling, pgx.NamedArgs{"id": id}, db.AuditEvent{Person: person, Action: "bug.retry"}, nil)
}

// GiveUpFiling abandons a filing that has no bug yet, with a reason. If a bug was filed
// nevertheless, and mishap learns of it later, that bug counts. It returns Conflict if the filing
// is being sent or is final, and NotFound for an unknown filing.
func (s *Store) GiveUpFiling(ctx context.Context, id int64, person, reason string) (crash.Filing, error) {
	return s.byHand(ctx, sqlGiveUpFiling, pgx.NamedArgs{"id": id, "reason": reason}, db.AuditEvent{
		Person: person, Action: "bug.give-up", Detail: map[string]any{"words": reason},
	}, errNotToGiveUp)
}

var errNotToGiveUp = crash.Errorf(crash.Conflict, "not_to_give_up",
	"This filing is being sent or is finished, so it cannot be given up.")

// byHand changes a filing and records who did it. If the statement does not apply to the filing's
// state, byHand returns unfit, or the unchanged filing if unfit is nil.
func (s *Store) byHand(
	ctx context.Context, sql string, args pgx.NamedArgs, event db.AuditEvent, unfit error,
) (crash.Filing, error) {
	var f crash.Filing
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		err := scanFiling(tx.QueryRow(ctx, sqlFilingForUpdate, args), &f)
		if err != nil {
			return err
		}
		event.Before = auditedFiling(f)
		err = scanFiling(tx.QueryRow(ctx, sql, args), &f)
		if errors.Is(err, pgx.ErrNoRows) {
			return unfit
		}
		if err != nil {
			return err
		}
		if f.State != crash.FilingAbandoned {
			if err := s.AddFilingJob(ctx, tx, f.ID, jobHead); err != nil {
				return err
			}
		}
		event.Subject, event.After = f.Bucket.String(), auditedFiling(f)
		return s.Audit(ctx, tx, event)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return f, errUnknownFiling
	}
	if err != nil {
		return f, fmt.Errorf("%s of filing %v: %w", event.Action, args["id"], err)
	}
	return f, nil
}

// auditedFiling returns what the audit log says about a filing that somebody changes.
func auditedFiling(f crash.Filing) map[string]any {
	return map[string]any{"filing": f.ID, "state": f.State, "due": f.NotBefore}
}
