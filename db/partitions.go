package db

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// partitions creates the partitions of reports and those of report_keys. Storing the first report of
// a month also creates the partitions of the next month. So a partition exists long before it is
// needed, without a timer.
type partitions struct {
	mu   sync.Mutex
	made map[partition]bool // months and years whose partitions are known to exist
}

// partition is a period that has a table of its own: a year of report_keys, and a month or a part of a month of
// reports.
type partition struct {
	keys        bool
	from, until time.Time // UTC
	week        bool      // a part of a month, which has four: they begin on days 1, 8, 15 and 22
}

func monthOf(at time.Time) partition {
	y, m, _ := at.UTC().Date()
	from := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	return partition{from: from, until: from.AddDate(0, 1, 0)}
}

// weeks returns the four parts of a month.
func (p partition) weeks() []partition {
	all := make([]partition, 4)
	for i := range all {
		from := p.from.AddDate(0, 0, 7*i)
		all[i] = partition{from: from, until: from.AddDate(0, 0, 7), week: true}
	}
	all[3].until = p.until
	return all
}

// yearOf returns the partition of a key, whose first four bytes are seconds since 1970.
func yearOf(key []byte) partition {
	return yearAt(time.Unix(int64(binary.BigEndian.Uint32(key)), 0).UTC().Year())
}

func yearAt(year int) partition {
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	return partition{keys: true, from: from, until: from.AddDate(1, 0, 0)}
}

// These are the names of partitions, as layouts of times.
const (
	monthTable = "reports_2006_01"
	weekTable  = "reports_2006_01_02"
	yearTable  = "report_keys_2006"
)

// partitionNamed returns the partition that is stored in a table. ok is false if the table is none.
func partitionNamed(table string) (p partition, ok bool) {
	if at, err := time.Parse(yearTable, table); err == nil {
		return yearAt(at.Year()), true
	}
	if at, err := time.Parse(monthTable, table); err == nil {
		return monthOf(at), true
	}
	if at, err := time.Parse(weekTable, table); err == nil {
		for _, p := range monthOf(at).weeks() {
			if p.from.Equal(at) {
				return p, true
			}
		}
	}
	return p, false
}

func (p partition) parent() string {
	if p.keys {
		return "report_keys"
	}
	return "reports"
}

func (p partition) table() string {
	switch {
	case p.keys:
		return p.from.Format(yearTable)
	case p.week:
		return p.from.Format(weekTable)
	}
	return p.from.Format(monthTable)
}

// bounds returns the bounds of the partition in SQL. The last year ends with the last second that
// fits into four bytes.
func (p partition) bounds() string {
	if !p.keys {
		const form = "2006-01-02 15:04:05Z07:00"
		return fmt.Sprintf("from ('%s') to ('%s')", p.from.Format(form), p.until.Format(form))
	}
	key := func(at time.Time) string {
		seconds := uint32(at.Unix()) //nolint:gosec // compared below
		return `'\x` + hex.EncodeToString(binary.BigEndian.AppendUint32(nil, seconds)) + `'`
	}
	to := "maxvalue"
	if p.until.Unix() < 1<<32 {
		to = key(p.until)
	}
	return fmt.Sprintf("from (%s) to (%s)", key(p.from), to)
}

// partitionLock is the advisory lock for creating and dropping partitions. The number is arbitrary.
const partitionLock = int64(0x6d69735061727473) // "misParts"

const (
	sqlPartitionLock  = `select pg_advisory_xact_lock(@lock)`
	sqlPartitionThere = `select to_regclass(@name) is not null`
	// sqlPartSizes returns the tables that hold reports, with their sizes in bytes.
	sqlPartSizes = `
		select c.relname, pg_total_relation_size(c.oid) from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
		where i.inhparent = 'reports'::regclass`
	sqlPartLockTimeout = `set local lock_timeout = '2s'`
)

// ensure creates the partitions for a batch of reports, and those of the following months.
func (p *partitions) ensure(ctx context.Context, s *Store, batch []*pendingReport) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := map[partition][]partition{}
	for _, r := range batch {
		if month := monthOf(r.Received()); !p.made[month] {
			missing[month] = []partition{month, monthOf(month.until)}
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

// makePartitions makes the missing partitions of years of keys and of months of reports.
func (s *Store) makePartitions(ctx context.Context, all ...partition) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPartitionLock, pgx.NamedArgs{"lock": partitionLock}); err != nil {
			return fmt.Errorf("make partition: %w", err)
		}
		for _, p := range all {
			if err := makePartition(ctx, tx, p, s.partitionsBy == PartitionsByWeek); err != nil {
				return fmt.Errorf("make partition %s: %w", p.table(), err)
			}
		}
		return nil
	})
}

// makePartition makes the partition of a year or a month unless it exists. The partitions of a month are its
// weeks if weekly is set.
func makePartition(ctx context.Context, tx pgx.Tx, p partition, weekly bool) error {
	parts := []partition{p}
	if !p.keys {
		weeks := p.weeks()
		for _, other := range []partition{p, weeks[3]} { // a month has all of its weeks or none
			var there bool
			if err := tx.QueryRow(ctx, sqlPartitionThere, pgx.NamedArgs{"name": other.table()}).Scan(&there); err != nil ||
				there {
				return err
			}
		}
		if weekly {
			parts = weeks
		}
	}
	for _, p := range parts {
		if err := createPartition(ctx, tx, p); err != nil {
			return err
		}
	}
	return nil
}

func createPartition(ctx context.Context, tx pgx.Tx, p partition) error {
	var there bool
	if err := tx.QueryRow(ctx, sqlPartitionThere, pgx.NamedArgs{"name": p.table()}).Scan(&there); err != nil || there {
		return err
	}
	// Create the table first and attach it afterwards. Unlike "create table … partition of", this does
	// not block readers or writers.
	create := fmt.Sprintf("create table %s (like %s including storage including constraints)", p.table(), p.parent())
	if _, err := tx.Exec(ctx, create); err != nil {
		return err
	}
	if !p.keys {
		if _, err := tx.Exec(ctx, "alter table "+p.table()+" add primary key (received, id)"); err != nil {
			return err
		}
	}
	return attach(ctx, tx, p)
}

// attach makes a table a partition.
func attach(ctx context.Context, tx pgx.Tx, p partition) error {
	_, err := tx.Exec(ctx, fmt.Sprintf("alter table %s attach partition %s for values %s", p.parent(), p.table(),
		p.bounds()))
	return err
}

// PartitionsBy says how the reports of a month are stored.
type PartitionsBy string

// These are the values of PartitionsBy.
const (
	PartitionsBySize  PartitionsBy = "size" // in one partition, or by weeks if the month will be large
	PartitionsByMonth PartitionsBy = "month"
	PartitionsByWeek  PartitionsBy = "week"
)

// LargeMonth is the size of a month of reports, in bytes, from which it is stored by weeks. Vacuum, and the making of
// an index, need the time and the space of a whole partition.
const LargeMonth = int64(1) << 40

// PlanNextMonth makes the partitions of the next month again if the store's choice asks for others. By size, a
// month is stored by weeks if the present one will exceed large bytes at its present rate. Partitions with reports
// stay.
func (s *Store) PlanNextMonth(ctx context.Context, large int64) error {
	now := s.Now()
	month := monthOf(now)
	next := monthOf(month.until)
	sizes, err := List(ctx, s.Pool, sqlPartSizes, nil, func(row pgx.CollectableRow) (p sizedPart, err error) {
		err = row.Scan(&p.table, &p.bytes)
		return p, err
	})
	if err != nil {
		return Wrap(err, "sizes of partitions")
	}
	var present int64
	var planned []partition
	for _, size := range sizes {
		p, _ := partitionNamed(size.table)
		if monthOf(p.from) == month {
			present += size.bytes
		}
		if monthOf(p.from) == next {
			planned = append(planned, p)
		}
	}
	elapsed := max(now.Sub(month.from), 24*time.Hour)
	weekly := s.partitionsBy == PartitionsByWeek || s.partitionsBy == PartitionsBySize &&
		float64(present)*float64(month.until.Sub(month.from))/float64(elapsed) > float64(large)
	if len(planned) == 0 || planned[0].week == weekly {
		return nil
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if err := Exec(ctx, tx, pgx.NamedArgs{"lock": partitionLock}, sqlPartitionLock, sqlPartLockTimeout); err != nil {
			return err
		}
		for _, p := range planned {
			if _, err := tx.Exec(ctx, "lock table "+p.table()+" in access exclusive mode"); err != nil {
				return err
			}
			var used bool
			if err := tx.QueryRow(ctx, "select exists (select from "+p.table()+")").Scan(&used); err != nil {
				return err
			}
			if used {
				return errNothing
			}
			if _, err := tx.Exec(ctx, "drop table "+p.table()); err != nil {
				return err
			}
		}
		return makePartition(ctx, tx, next, weekly)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return Wrap(err, "partitions of the next month")
}

type sizedPart struct {
	table string
	bytes int64
}

// ReportsPart is a partition of reports.
type ReportsPart struct {
	ArchivedPart        // Archive is empty if the partition is here
	Bounds       string // in SQL
}

const sqlReportsParts = `
	select c.relname, coalesce(substr(s.srvname, length('` + archiveServer + `') + 1), '')
	from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
		left join pg_foreign_table as f on f.ftrelid = c.oid left join pg_foreign_server as s on s.oid = f.ftserver
	where i.inhparent = 'reports'::regclass order by c.relname`

// ReportsParts returns the partitions of reports, oldest first.
func ReportsParts(ctx context.Context, q Querier) (parts []ReportsPart, err error) {
	var table, archive string
	err = Each(ctx, q, sqlReportsParts, nil, []any{&table, &archive}, func() {
		if p, ok := partitionNamed(table); ok {
			parts = append(parts, ReportsPart{ArchivedPart{table, archive, p.from, p.until}, p.bounds()})
		}
	})
	return parts, Wrap(err, "partitions of reports")
}
