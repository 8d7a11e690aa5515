package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/db"
)

// noticeLifetime is how long notices, mails and the events of rules are stored.
const noticeLifetime = 400 * 24 * time.Hour

// oldBatch is the number of rows that one statement deletes.
const oldBatch = 1000

const (
	// sqlOldEvents deletes events of rules with their notices. The edges of rules prevent repeats.
	sqlOldEvents = `
		delete from events where id in (
			select e.id from events as e
			where e.at < @before and e.rule_id is not null
				and not exists (select from notices as n where n.event_id = e.id and n.mail in ('waiting', 'held'))
				and not exists (select from deliveries as d where d.event_id = e.id and d.state = 'waiting')
			order by e.at limit @limit)`
	// sqlOldNotices deletes notices of other events. These events stay: they prevent repeats.
	sqlOldNotices = `
		delete from notices where id in (
			select n.id from events as e join notices as n on n.event_id = e.id
			where e.at < @before and e.rule_id is null and n.mail not in ('waiting', 'held')
			order by e.at limit @limit)`
	sqlOldMails = `
		delete from mails where id in (select id from mails where ended < @before order by ended limit @limit)`
)

// DeleteOld deletes notices, mails and events of rules that are older than 400 days, unless they have
// yet to be sent. What they were about is not reported again.
func (s *Store) DeleteOld(ctx context.Context) error {
	for _, sql := range []string{sqlOldEvents, sqlOldNotices, sqlOldMails} {
		for deleted := int64(oldBatch); deleted == oldBatch; {
			tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"before": s.Now().Add(-noticeLifetime), "limit": oldBatch})
			if err != nil {
				return fmt.Errorf("delete old notices: %w", db.Classify(err))
			}
			deleted = tag.RowsAffected()
		}
	}
	return nil
}
