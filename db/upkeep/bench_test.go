package upkeep_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

const (
	benchBatch   = 200     // reports that are saved together
	benchDigests = 100_000 // of erased reports
	benchErased  = 5000    // reports of the machine that is erased
)

// batches makes reports of a machine that never repeat.
type batches struct {
	b      *testing.B
	system crash.SystemID
	next   int
}

func (m *batches) make(n int) []crash.Record {
	records := make([]crash.Record, n)
	for i := range records {
		records[i] = report(m.b, m.system, m.next%150*7) // dates of less than a year
		records[i].ID = crash.NewOopsID(now.Add(time.Duration(m.next) * time.Millisecond))
		binary.BigEndian.PutUint64(records[i].DuplicateKey[8:], uint64(m.next))
		records[i].FormerKey = crash.ReportKey{}
		m.next++
	}
	return records
}

// saveAll saves reports together, as concurrent machines do, and returns how long that took and the longest
// time of one.
func saveAll(b *testing.B, s *db.Store, records []crash.Record) (all, longest time.Duration) {
	b.Helper()
	times := make([]time.Duration, len(records))
	began := time.Now()
	var saving sync.WaitGroup
	for i := range records {
		saving.Go(func() {
			if _, _, err := s.SaveReport(b.Context(), records[i]); err != nil {
				b.Error(err)
			}
			times[i] = time.Since(began)
		})
	}
	saving.Wait()
	return time.Since(began), slices.Max(times)
}

func benchExec(b *testing.B, url, sql string, args ...any) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context())) //nolint:errcheck // everything is committed
	if _, err := conn.Exec(b.Context(), sql, args...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSaveWithDigests saves the same numbers of reports in a database without erased reports and in
// one with many, in turns. The metric ratio is the time of the latter, divided by that of the former.
func BenchmarkSaveWithDigests(b *testing.B) {
	urls := []string{dbtest.URL(b), dbtest.URL(b)}
	stores := []*db.Store{dbtest.Open(b, urls[0]), dbtest.Open(b, urls[1])}
	benchExec(b, urls[1], `
		with e as (
			insert into erasures (digest, system, blocked, person, via, requested, until, finished)
			values (sha256('x'), '', false, '', '', now(), now(), now()) returning id
		)
		insert into erased_reports (digest, erasure)
		select sha256(i::text::bytea), e.id from e, generate_series(1, $1::int) as i`, benchDigests)
	benchExec(b, urls[1], "vacuum (analyze) erased_reports")
	machines := []*batches{{b: b, system: other}, {b: b, system: other}}
	for i, s := range stores { // statements are prepared, and problems and partitions made
		saveAll(b, s, machines[i].make(benchBatch))
	}
	var took [2]time.Duration
	for turn := 0; b.Loop(); turn++ {
		for k := range 2 {
			i := (turn + k) % 2
			all, _ := saveAll(b, stores[i], machines[i].make(benchBatch))
			took[i] += all
		}
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
}

// BenchmarkSaveWhileErasing saves reports before and while a machine with many reports is erased. The
// metrics are the ratio of the rates, and the longest time in milliseconds that a report waited.
func BenchmarkSaveWhileErasing(b *testing.B) {
	for b.Loop() {
		url := dbtest.URL(b)
		s := dbtest.Open(b, url)
		gone, others := &batches{b: b, system: erased}, &batches{b: b, system: other}
		for range benchErased / benchBatch {
			saveAll(b, s, gone.make(benchBatch))
		}
		saveAll(b, s, others.make(benchBatch))
		dbtest.Counted(b, s)
		var alone, beside, longestAlone, longest time.Duration
		var before, during int
		for range 20 {
			all, one := saveAll(b, s, others.make(benchBatch))
			alone, before, longestAlone = alone+all, before+benchBatch, max(longestAlone, one)
		}
		machines := upkeep.NewErasing(dbtest.Open(b, url))
		e, err := machines.Request(b.Context(), erased, false, "")
		if err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := machines.Work(b.Context(), e.ID, nil, nil)
			ended <- err
		}()
		for running := true; running; {
			all, one := saveAll(b, s, others.make(benchBatch))
			beside, during, longest = beside+all, during+benchBatch, max(longest, one)
			select {
			case err := <-ended:
				if running = false; err != nil {
					b.Fatal(err)
				}
			default:
			}
		}
		rateAlone, rate := float64(before)/alone.Seconds(), float64(during)/beside.Seconds()
		b.ReportMetric(rateAlone, "reports/s-alone")
		b.ReportMetric(rate, "reports/s-beside")
		b.ReportMetric(rate/rateAlone, "rate-ratio")
		b.ReportMetric(float64(longestAlone.Milliseconds()), "ms-longest-alone")
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-beside")
	}
}
