package db

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// partitions creates the monthly partitions of reports and the yearly ones of report_keys. Storing
// the first report of a month also creates the partition of the next month. So a partition exists
// long before it is needed, without a timer.
type partitions struct {
	mu   sync.Mutex
	made map[partition]bool // partitions that are known to exist
}

// partition is a period that has a table of its own.
type partition struct {
	keys bool      // true for a year of report_keys, false for a month of reports
	from time.Time // UTC
}

func monthOf(at time.Time) partition {
	y, m, _ := at.UTC().Date()
	return partition{from: time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)}
}

// yearOf returns the partition of a key, whose first four bytes are seconds since 1970.
func yearOf(key []byte) partition {
	at := time.Unix(int64(binary.BigEndian.Uint32(key)), 0).UTC()
	return partition{keys: true, from: time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (p partition) until() time.Time {
	if p.keys {
		return p.from.AddDate(1, 0, 0)
	}
	return p.from.AddDate(0, 1, 0)
}

func (p partition) parent() string {
	if p.keys {
		return "report_keys"
	}
	return "reports"
}

func (p partition) table() string {
	if p.keys {
		return "report_keys_" + p.from.Format("2006")
	}
	return "reports_" + p.from.Format("2006_01")
}

// bounds returns the bounds of the partition in SQL. The last year ends with the last second that
// fits into four bytes.
func (p partition) bounds() string {
	if !p.keys {
		const form = "2006-01-02 15:04:05Z07:00"
		return fmt.Sprintf("from ('%s') to ('%s')", p.from.Format(form), p.until().Format(form))
	}
	key := func(at time.Time) string {
		seconds := uint32(at.Unix()) //nolint:gosec // compared below
		return `'\x` + hex.EncodeToString(binary.BigEndian.AppendUint32(nil, seconds)) + `'`
	}
	to := "maxvalue"
	if until := p.until(); until.Unix() < 1<<32 {
		to = key(until)
	}
	return fmt.Sprintf("from (%s) to (%s)", key(p.from), to)
}

// partitionLock is the advisory lock for creating and dropping partitions. The number is arbitrary.
const partitionLock = int64(0x6d69735061727473) // "misParts"

const (
	sqlPartitionLock  = `select pg_advisory_xact_lock(@lock)`
	sqlPartitionThere = `select to_regclass(@name) is not null`
)

// ensure creates the partitions for a batch of reports, and those of the following months.
func (p *partitions) ensure(ctx context.Context, s *Store, batch []*pendingReport) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := map[partition][]partition{}
	for _, r := range batch {
		if month := monthOf(r.Received()); !p.made[month] {
			missing[month] = []partition{month, {from: month.until()}}
		}
		if r.duplicateKey != nil {
			if year := yearOf(r.duplicateKey); !p.made[year] {
				missing[year] = []partition{year}
			}
		}
	}
	for known, need := range missing {
		if err := s.makePartitions(ctx, need...); err != nil {
			return err
		}
		if p.made == nil {
			p.made = map[partition]bool{}
		}
		p.made[known] = true
	}
	return nil
}

// forget clears the cache of existing partitions. It is called if a partition proves to be missing.
func (p *partitions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = nil
}

func (s *Store) makePartitions(ctx context.Context, all ...partition) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPartitionLock, pgx.NamedArgs{"lock": partitionLock}); err != nil {
			return fmt.Errorf("make partition: %w", err)
		}
		for _, p := range all {
			if err := makePartition(ctx, tx, p); err != nil {
				return fmt.Errorf("make partition %s: %w", p.table(), err)
			}
		}
		return nil
	})
}

func makePartition(ctx context.Context, tx pgx.Tx, p partition) error {
	var there bool
	if err := tx.QueryRow(ctx, sqlPartitionThere, pgx.NamedArgs{"name": p.table()}).Scan(&there); err != nil || there {
		return err
	}
	// Create the table first and attach it afterwards. Unlike "create table … partition of", this does
	// not block readers or writers.
	if _, err := tx.Exec(ctx, fmt.Sprintf("create table %s (like %s including storage including constraints)", p.table(),
		p.parent())); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("alter table %s attach partition %s for values %s", p.parent(), p.table(),
		p.bounds()))
	return err
}
