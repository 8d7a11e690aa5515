package filings

import (
	"context"
	"fmt"

	"mishap/crash"
	"mishap/db"
)

// sqlTrackerState is one statement, because every page of people who file bugs needs all of it.
const sqlTrackerState = `
	select w.restored, w.backup_taken,
		exists (
			select from own_tracker_accounts
			where user_id = @user and tracker_url = @url and consumer_key = @consumer and broken
		),
		coalesce(c.token, ''), coalesce(c.secret_sealed, ''), coalesce(h.dead, false),
		(select count(*) from filings where state in ('queued', 'uncertain'))
	from filing_writer as w
		left join oauth_credentials as c
			on c.tracker_url = @url and c.consumer_key = @consumer and c.secret_sealed <> ''
		left join oauth_health as h
			on h.tracker_url = @url and h.consumer_key = @consumer and h.token = coalesce(nullif(@token, ''), c.token)`

// TrackerState returns the state of the tracker for a person. configured is the public part of the
// access token that this instance was configured with; without one, it uses the saved token.
func (s *Store) TrackerState(ctx context.Context, key crash.TrackerKey, user int64, configured string) (
	t crash.TrackerState, err error,
) {
	args := ownArgs(key, user)
	args["token"] = configured
	var saved string
	var sealed []byte
	err = s.Pool.QueryRow(ctx, sqlTrackerState, args).Scan(db.OrZero(&t.Restored.At), db.OrZero(&t.Restored.BackupTaken),
		&t.OwnRejected, &saved, &sealed, &t.Rejected, &t.Waiting)
	if err != nil {
		return t, fmt.Errorf("state of the tracker: %w", db.Classify(err))
	}
	t.Connected = configured != ""
	if !t.Connected && saved != "" {
		_, t.Connected = s.openToken(ctx, key, saved, sealed)
	}
	return t, nil
}
