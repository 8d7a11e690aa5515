package filings

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// sqlClaimSubscription marks a subscription as failed until it succeeds, because it is tried only
	// once.
	sqlClaimSubscription = `
		with due as (
			select f.id, u.tracker_name, u.id as user_id
			from filings as f join users as u on u.name = f.person
			where f.subscription = 'due' and u.tracker_name <> ''
			order by f.id limit 1 for update of f skip locked
		)
		update filings as f set subscription = 'failed' from due where f.id = due.id
		returning f.id, f.bug_number, due.tracker_name, due.user_id, f.information_type = 'Private Security'`
	sqlInsertSubscribing = `
		insert into filing_attempts (filing_id, action, unit, started) values (@id, 'subscribe', @instance, now())
		returning id`
	sqlSubscribed = `update filings set subscription = 'done' where id = @id`
)

// ClaimSubscription claims one person to subscribe to the bug that they had filed. Filing is 0 if
// there is none.
func (s *Store) ClaimSubscription(ctx context.Context) (crash.Subscription, error) {
	var sub crash.Subscription
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlClaimSubscription).Scan(
			&sub.Filing, &sub.Bug, &sub.Account, &sub.User, &sub.Private); err != nil {
			return err
		}
		instance, err := s.InstanceNumber(ctx)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertSubscribing, pgx.NamedArgs{"id": sub.Filing, "instance": instance}).Scan(&sub.Entry)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.Subscription{}, nil
	}
	if err != nil {
		return crash.Subscription{}, fmt.Errorf("claim subscription: %w", err)
	}
	return sub, nil
}

// FinishSubscription records the outcome of subscribing a person.
func (s *Store) FinishSubscription(ctx context.Context, sub crash.Subscription, a crash.TrackerAnswer,
	done bool) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlFinishAttempt, pgx.NamedArgs{
			"entry": sub.Entry, "outcome": a.Outcome, "status": a.Status, "request": a.RequestID, "words": a.Message,
			"account": sub.As,
		})
		if err == nil && done {
			_, err = tx.Exec(ctx, sqlSubscribed, pgx.NamedArgs{"id": sub.Filing})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("finish subscription of filing %d: %w", sub.Filing, err)
	}
	return nil
}
