package db

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// partitions makes the monthly partitions of reports, each a month ahead: whoever stores the first report of a month
// makes the next month's. So a partition is there long before it is needed, and no clock has to run for it.
type partitions struct {
	mu   sync.Mutex
	made map[time.Time]bool // first days of months known to be there
}

// partitionLock is the advisory lock under which one unit makes a partition while others wait. Any fixed number will do.
const partitionLock = int64(0x6d69735061727473) // "misParts"

const (
	sqlPartitionLock  = `select pg_advisory_xact_lock(@lock)`
	sqlPartitionThere = `select to_regclass(@name) is not null`
)

// ensure makes the partitions that the reports of a batch go to, and those of the months that follow.
func (p *partitions) ensure(ctx context.Context, s *Store, batch []*pendingReport) error {
	var missing []time.Time
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range batch {
		month := monthOf(r.Received())
		if !p.made[month] && !slices.Contains(missing, month) {
			missing = append(missing, month)
		}
	}
	for _, month := range missing {
		if err := s.makePartitions(ctx, month, month.AddDate(0, 1, 0)); err != nil {
			return err
		}
		if p.made == nil {
			p.made = map[time.Time]bool{}
		}
		p.made[month] = true
	}
	return nil
}

// forget is for when a partition turns out to be missing after all.
func (p *partitions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = nil
}

func monthOf(at time.Time) time.Time {
	y, m, _ := at.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

func (s *Store) makePartitions(ctx context.Context, months ...time.Time) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPartitionLock, pgx.NamedArgs{"lock": partitionLock}); err != nil {
			return fmt.Errorf("make partition: %w", err)
		}
		for _, month := range months {
			if err := makePartition(ctx, tx, month); err != nil {
				return fmt.Errorf("make partition for %s: %w", month.Format("2006-01"), err)
			}
		}
		return nil
	})
}

func makePartition(ctx context.Context, tx pgx.Tx, month time.Time) error {
	name := "reports_" + month.Format("2006_01")
	var there bool
	if err := tx.QueryRow(ctx, sqlPartitionThere, pgx.NamedArgs{"name": name}).Scan(&there); err != nil || there {
		return err
	}
	// Made apart and then attached: this waits for no reader and lets no writer wait, as "partition of" would.
	if _, err := tx.Exec(ctx, fmt.Sprintf("create table %s (like reports including storage)", name)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("alter table reports attach partition %s for values from ('%s') to ('%s')",
		name, month.Format("2006-01-02 15:04:05Z07:00"), month.AddDate(0, 1, 0).Format("2006-01-02 15:04:05Z07:00")))
	return err
}
