package endpoints

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/db"
)

const (
	sqlStopNotifications = `
		insert into notification_stop (stopped, person) values (@now, @person) on conflict do nothing`
	sqlResumeNotifications = `delete from notification_stop`
)

// Stop stops all notifications: nothing leaves mishap until Resume. Requests and messages in progress
// are finished. Events are still stored.
func (s *Store) Stop(ctx context.Context, person string) error {
	return s.switchNotifications(ctx, sqlStopNotifications, "notifications.stop", true, person)
}

// Resume ends a stop. What has been waiting is sent, within the limits.
func (s *Store) Resume(ctx context.Context, person string) error {
	return s.switchNotifications(ctx, sqlResumeNotifications, "notifications.resume", false, person)
}

func (s *Store) switchNotifications(ctx context.Context, sql, action string, stopped bool, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"now": s.Now(), "person": person})
		if err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		if tag.RowsAffected() == 0 {
			return nil // another person was faster
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action,
			Before: map[string]any{"stopped": !stopped}, After: map[string]any{"stopped": stopped}})
	})
}
