// Package backups records complete backups in the database, and exports the age of the last one. It
// does not write backups.
package backups

import (
	"context"
	"errors"
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
	sqlLastBackup = `select taken, place, bytes, reports from backups order by taken desc limit 1`
)

// Add records a complete backup.
func Add(ctx context.Context, conn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, b crash.Backup) error {
	_, err := conn.Exec(ctx, sqlAddBackup, pgx.NamedArgs{"taken": b.Taken, "place": b.Place, "bytes": b.Bytes,
		"reports": b.Reports})
	if err != nil {
		return fmt.Errorf("record the backup: %w", db.Classify(err))
	}
	return nil
}

// Last returns the last complete backup, or the zero value if there is none.
func Last(ctx context.Context, h *db.Handle) (b crash.Backup, err error) {
	err = h.Pool.QueryRow(ctx, sqlLastBackup).Scan(&b.Taken, &b.Place, &b.Bytes, &b.Reports)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return b, fmt.Errorf("last backup: %w", db.Classify(err))
	}
	return b, nil
}

// metrics reads the last backup from the database, so that all instances report the same.
type metrics struct {
	handle *db.Handle
	taken  *prometheus.Desc
	bytes  *prometheus.Desc
}

// NewMetrics returns metrics about the last backup.
func NewMetrics(h *db.Handle) prometheus.Collector {
	return &metrics{
		handle: h,
		taken: prometheus.NewDesc("mishap_backup_last_timestamp_seconds",
			"When the last complete backup was taken; 0: there is none.", nil, nil),
		bytes: prometheus.NewDesc("mishap_backup_last_bytes", "Size of the last complete backup.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.taken
	ch <- m.bytes
}

// Collect implements prometheus.Collector. It sends no values while the database is unavailable.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	last, err := Last(ctx, m.handle)
	if err != nil {
		return
	}
	taken := 0.0
	if !last.Taken.IsZero() {
		taken = float64(last.Taken.Unix())
	}
	ch <- prometheus.MustNewConstMetric(m.taken, prometheus.GaugeValue, taken)
	ch <- prometheus.MustNewConstMetric(m.bytes, prometheus.GaugeValue, float64(last.Bytes))
}
