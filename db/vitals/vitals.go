// Package vitals reads the facts about a site that health checks and metrics need. All queries use
// indexes of open work, so that their time does not grow with the number of reports.
package vitals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/health"
	"mishap/db"
	"mishap/db/backups"
	"mishap/db/bugs"
	"mishap/db/symbols"
)

// Store reads vitals.
type Store struct {
	*db.Store
	connection func(context.Context) (crash.Connection, error)
	mail       bool
}

// New returns a Store. The function returns the state of the connection to the tracker, which is
// partly in the configuration; nil: this instance files no bugs. mail is whether this instance sends
// mails.
func New(s *db.Store, connection func(context.Context) (crash.Connection, error), mail bool) *Store {
	return &Store{s, connection, mail}
}

const (
	// sqlOpenWork reads the amount and the age, in seconds, of work that waits for a tracker, a debugger
	// or a mail relay. Ages are from the database's clock alone.
	sqlOpenWork = `
		select f.parked, f.age, j.queued, j.age, m.waiting, m.retried, m.age, clock_timestamp()
		from (
				select count(*) filter (where state in ('queued', 'uncertain') and problem = 'tracker_credentials') as parked,
					coalesce(extract(epoch from now() - min(created)), 0)::float8 as age
				from filings where state in ('queued', 'filing', 'uncertain')
			) as f, (
				select count(*) as queued,
					coalesce(extract(epoch from now() - min(greatest(created, not_before))), 0)::float8 as age
				from symbol_jobs where state = 'queued' and (not_before is null or not_before <= now())
			) as j, (
				select count(*) as waiting, count(*) filter (where attempts > 0) as retried,
					coalesce(extract(epoch from now() - min(created) filter (where attempts > 0)), 0)::float8 as age
				from mails where state in ('waiting', 'sending') and not exists (select from notification_stop)
			) as m`
	// sqlStandbys reads how far standbys are behind. Their positions are null without the rights of
	// pg_monitor. Programs that copy a database are no standbys: they replay nothing.
	sqlStandbys = `
		select application_name || coalesce(' at ' || host(client_addr), '') as name, bool_and(state is not null) as known,
			coalesce(max(extract(epoch from replay_lag)), 0)::float8,
			coalesce(max(case when pg_is_in_recovery() then 0
				else pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) end), 0)::bigint
		from pg_stat_replication where state is null or replay_lsn is not null
		group by 1 order by 1`
)

// Read reads the vitals. It returns Unavailable if the database does not answer.
func (s *Store) Read(ctx context.Context) (v health.Vitals, err error) {
	began := s.Now()
	v.Mail = s.mail
	var at time.Time
	var filing, symbolising, mail float64
	err = s.Pool.QueryRow(ctx, sqlOpenWork).Scan(&v.Parked, &filing, &v.SymbolsQueued, &symbolising, &v.MailsWaiting,
		&v.MailsRetried, &mail, &at)
	if err != nil {
		return v, fmt.Errorf("vitals: %w", db.Classify(err))
	}
	switch ended := s.Now(); {
	case at.Before(began):
		v.Clock = at.Sub(began)
	case at.After(ended):
		v.Clock = at.Sub(ended)
	}
	v.OldestFiling, v.SymbolsWaiting, v.MailWaiting = seconds(filing), seconds(symbolising), seconds(mail)
	if v.Restored, err = bugs.New(s.Store).Restored(ctx); err != nil {
		return v, err
	}
	if s.connection != nil {
		c, err := s.connection(ctx)
		if err != nil {
			return v, err
		}
		v.Connection = &c
	}
	if v.Workers, err = symbols.New(s.Store).Workers(ctx); err != nil {
		return v, err
	}
	if v.Backups, err = backups.Read(ctx, s.Handle); err != nil {
		return v, err
	}
	v.At = at
	rows, err := s.Pool.Query(ctx, sqlStandbys)
	if err != nil {
		return v, fmt.Errorf("standbys: %w", db.Classify(err))
	}
	v.Standbys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b health.Standby, err error) {
		var lag float64
		err = row.Scan(&b.Name, &b.Known, &lag, &b.Bytes)
		b.Lag = seconds(lag)
		return b, err
	})
	if err != nil {
		return v, fmt.Errorf("standbys: %w", db.Classify(err))
	}
	return v, nil
}

func seconds(n float64) time.Duration { return time.Duration(max(n, 0) * float64(time.Second)) }

// Checks reads the vitals and judges them.
func (s *Store) Checks(ctx context.Context) []crash.HealthCheck {
	v, err := s.Read(ctx)
	if err != nil {
		return health.Unknown(err)
	}
	return health.Judge(v)
}
