package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlAddBackup = `
		with old as (delete from backups where ended < now() - interval '400 days')
		insert into backups (taken, ended, place, bytes, reports) values (@taken, now(), @place, @bytes, @reports)`
	// sqlVerified finds the backup by its name: the folder may have been moved or named in another way.
	sqlVerified = `
		update backups set verified = now(), verify_problem = @problem
		where id = (select max(id) from backups where regexp_replace(regexp_replace(place, '\?.*$', ''), '^.*/', '') = @name)`
	sqlBackups = `
		select (select min(applied) from applied_migrations), b.taken, coalesce(b.place, ''), coalesce(b.bytes, 0),
			coalesce(b.reports, 0), v.verified, coalesce(v.place, ''), coalesce(v.verify_problem, '')
		from (select) as one
		left join (select * from backups order by taken desc limit 1) as b on true
		left join (select * from backups where verified is not null order by verified desc limit 1) as v on true`
)

// AddBackup records a complete backup.
func AddBackup(ctx context.Context, conn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, b crash.Backup) error {
	_, err := conn.Exec(ctx, sqlAddBackup, pgx.NamedArgs{"taken": b.Taken, "place": b.Place, "bytes": b.Bytes,
		"reports": b.Reports})
	if err != nil {
		return fmt.Errorf("record the backup: %w", db.Classify(err))
	}
	return nil
}

// BackupVerified records whether the backup with this name is good. known is false if the database does not
// know the backup; nothing is recorded then.
func BackupVerified(ctx context.Context, conn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, name, problem string) (known bool, err error) {
	tag, err := conn.Exec(ctx, sqlVerified, pgx.NamedArgs{"name": name, "problem": problem})
	if err != nil {
		return false, fmt.Errorf("record the verification: %w", db.Classify(err))
	}
	return tag.RowsAffected() > 0, nil
}

// ReadBackups returns the facts about the backups.
func ReadBackups(ctx context.Context, h *db.Handle) (b crash.Backups, err error) {
	var taken, ended *time.Time
	err = h.Pool.QueryRow(ctx, sqlBackups).Scan(&b.Installed, &taken, &b.Last.Place, &b.Last.Bytes, &b.Last.Reports,
		&ended, &b.Place, &b.Problem)
	if err != nil {
		return b, fmt.Errorf("backups: %w", db.Classify(err))
	}
	if taken != nil {
		b.Last.Taken = *taken
	}
	if ended != nil {
		b.Ended = *ended
	}
	return b, nil
}

// metrics reads the facts from the database, so that all instances report the same.
type metrics struct {
	handle   *db.Handle
	taken    *prometheus.Desc
	bytes    *prometheus.Desc
	verified *prometheus.Desc
	good     *prometheus.Desc
}

// NewBackupMetrics returns metrics about the last backup.
func NewBackupMetrics(h *db.Handle) prometheus.Collector {
	return &metrics{
		handle: h,
		taken: prometheus.NewDesc("mishap_backup_last_timestamp_seconds",
			"When the last complete backup was taken; 0: there is none.", nil, nil),
		bytes: prometheus.NewDesc("mishap_backup_last_bytes", "Size of the last complete backup.", nil, nil),
		verified: prometheus.NewDesc("mishap_backup_verified_timestamp_seconds",
			"When the last verification of a backup ended; 0: there was none.", nil, nil),
		good: prometheus.NewDesc("mishap_backup_verified_good",
			"1 if the last verification of a backup found it good; else 0.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.taken, m.bytes, m.verified, m.good} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It sends no values while the database is unavailable.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	b, err := ReadBackups(ctx, m.handle)
	if err != nil {
		return
	}
	good := 0.0
	if !b.Ended.IsZero() && b.Problem == "" {
		good = 1
	}
	for d, value := range map[*prometheus.Desc]float64{m.taken: unix(b.Last.Taken), m.bytes: float64(b.Last.Bytes),
		m.verified: unix(b.Ended), m.good: good} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
}

// unix returns the seconds since 1970 of t, or 0 if t is zero.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
