package ingest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/s2"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/db/embedded"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

// BenchmarkReports measures the handler on a PostgreSQL that syncs to disk. It compares our store,
// until everything is counted, with minimal stores. It reports rates, processor time (including
// PostgreSQL) and the ratio of our rate to the others.
func BenchmarkReports(b *testing.B) {
	folder := must(os.MkdirTemp("", "mishap-bench-"))(b)
	b.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user needs access
		b.Fatal(err)
	}
	server := must(embedded.Start(b.Context(), embedded.Config{DataDir: folder}))(b)
	b.Cleanup(func() { _ = server.Stop(context.WithoutCancel(b.Context())) })
	checktest.NoError(b, db.Migrate(b.Context(), server.URL(), slog.New(slog.DiscardHandler)))
	store := must(db.Open(b.Context(), db.Config{URL: server.URL(), MaxConns: 16}))(b)
	b.Cleanup(store.Close)
	pool := must(pgxpool.New(b.Context(), server.URL()+"&pool_max_conns=16"))(b)
	b.Cleanup(pool.Close)
	must(pool.Exec(b.Context(), sqlLeastTables))(b)
	processes := must(dbtest.FindProcesses(b.Context(), os.Getpid(), server.URL()))(b)
	load := crashtest.NewLoad(time.Now())
	uReports, known := newUReportLoad(b), doors.New(store)
	envelopes := newEnvelopeLoad(b, known)
	for _, connections := range []int{1, 8, 32, 128} {
		rates, perReport := map[string]float64{}, map[string]float64{}
		for _, v := range []struct {
			name  string
			store intake.Store
		}{
			{"nothing-stored", lessStore(nil)},
			{"least-shared", startLess(b, pool, sqlStoreLeast, 2, 256)},
			{"least-each", startLess(b, pool, sqlStoreLeast, 16, 1)},
			{"one-row", startLess(b, pool, sqlStoreRow, 16, 1)},
			{"stored-and-counted", store},
			{"ureports", store},
			{"envelopes", store},
		} {
			b.Run(fmt.Sprintf("connections=%d/%s", connections, v.name), func(b *testing.B) {
				h := must(ingest.New(ingest.Deps{
					Intake: intake.New(intake.Config{MaxAgeDays: 366}, v.store),
					Store:  symbols.New(store), Cores: openCores(b, b.TempDir()), WantCores: true, MaxBytes: 16 << 20,
					Bugs: bugs.New(store), Doors: known,
				}))(b)
				want := http.StatusOK
				if v.name == "ureports" {
					want = http.StatusAccepted
				}
				before := processes.Used()
				b.SetParallelism(max(connections/runtime.GOMAXPROCS(0), 1))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						w := httptest.NewRecorder()
						switch v.name {
						case "ureports":
							h.ServeHTTP(w, uReports.next(b))
						case "envelopes":
							h.ServeHTTP(w, envelopes.next(b))
						default:
							path, body := load.Next()
							h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodPost, path,
								bytes.NewReader(body)))
						}
						if w.Code != want {
							b.Errorf("got status %d: %s", w.Code, w.Body)
						}
					}
				})
				checktest.NoError(b, store.WaitCounted(b.Context()))
				rates[v.name] = float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rates[v.name], "reports/s")
				after := processes.Used()
				cpu := after.Server - before.Server + after.PostgreSQL - before.PostgreSQL
				b.ReportMetric(cpu*1000/float64(b.N), "CPU-ms/report")
				for name, rate := range rates {
					if v.store == store && name != v.name {
						b.ReportMetric(rates[v.name]/rate, "of-"+name)
					}
				}
				perReport[v.name] = cpu / float64(b.N)
				if (v.name == "ureports" || v.name == "envelopes") && perReport["stored-and-counted"] > 0 {
					b.ReportMetric(perReport["stored-and-counted"]/perReport[v.name], "per-CPU-second-of-whoopsie's")
				}
			})
		}
	}
}

// uReportLoad makes µReports of many machines, each of one of 500 problems.
type uReportLoad struct {
	before, middle, after string // around the machine and the first function
	sent                  atomic.Int64
}

func newUReportLoad(b *testing.B) *uReportLoad {
	b.Helper()
	text := form("/", strings.Replace(uReport(b, "core.json"), "{",
		`{"auth": {"hostname": "ant", "machineid": "MACHINE-ID"},`, 1))
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	before, rest, _ := strings.Cut(body, "MACHINE-ID")
	middle, after, ok := strings.Cut(rest, "tide_parse_row")
	if !ok {
		b.Fatal("the sample has another form")
	}
	return &uReportLoad{before: before, middle: middle, after: after}
}

func (l *uReportLoad) next(b *testing.B) *http.Request {
	n := l.sent.Add(1)
	body := l.before + fmt.Sprint("machine-", n) + l.middle + fmt.Sprint("tide_parse_", n*n%997%500) + l.after
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/reports/new/", strings.NewReader(body))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=------------------------d74496d66958873e")
	return r
}

// envelopeLoad makes envelopes as sentry-go sends them, of many machines, each of one of 500 problems.
type envelopeLoad struct {
	path, key, event string
	sent             atomic.Int64
}

func newEnvelopeLoad(b *testing.B, known *doors.Store) *envelopeLoad {
	b.Helper()
	must(known.CreateProject(b.Context(), crash.Project{Name: "chartd", Source: "chartd"}, "ada"))(b)
	p := must(known.Projects(b.Context()))(b)[0]
	_, rest, _ := strings.Cut(string(envelope(b, "go-panic.envelope")), "\n") // the header
	_, event, ok := strings.Cut(rest, "\n")
	event = strings.NewReplacer("c664efafa4a34d72895e4b42a2792bfe", "EVENT-ID", "buoy9", "MACHINE", "func1", "FUNCTION",
		"2026-11-29T", time.Now().UTC().Format("2006-01-02T")).Replace(strings.TrimSpace(event))
	if !ok || !strings.Contains(event, "EVENT-ID") || !strings.Contains(event, "FUNCTION") {
		b.Fatal("the sample has another form")
	}
	return &envelopeLoad{path: fmt.Sprintf("/api/%d/envelope/", p.Number), key: p.Key(), event: event}
}

func (l *envelopeLoad) next(b *testing.B) *http.Request {
	n := l.sent.Add(1)
	id := fmt.Sprintf("%032x", n)
	event := strings.NewReplacer("EVENT-ID", id, "MACHINE", fmt.Sprint("machine-", n), "FUNCTION",
		fmt.Sprint("func", n*n%997%500)).Replace(l.event)
	body := fmt.Sprintf("{\"event_id\":\"%s\"}\n{\"type\":\"event\",\"length\":%d}\n%s\n", id, len(event), event)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, l.path, strings.NewReader(body))
	r.Header.Set("X-Sentry-Auth", "Sentry sentry_version=7, sentry_client=sentry.go/0.50.0, sentry_key="+l.key)
	return r
}

// must ends the benchmark on an error.
func must[T any](value T, err error) func(*testing.B) T {
	return func(b *testing.B) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
}

// sqlLeastTables holds the least that must be stored of a report: its key, so that it counts once,
// its row, its bucket and a counter of its day.
const sqlLeastTables = `
	create table bench_keys (key bytea primary key, report_id uuid not null);
	create table bench_reports (id uuid primary key, received timestamptz not null, bucket_id bytea not null,
		body bytea not null);
	create index bench_reports_bucket on bench_reports (bucket_id, received desc);
	create table bench_buckets (id bytea primary key, reports bigint not null) with (fillfactor = 80);
	create table bench_days (bucket_id bytea, day date, reports bigint not null,
		primary key (bucket_id, day)) with (fillfactor = 80);
	create table bench_rows (id uuid primary key, body bytea not null);
	alter table bench_rows alter column body set storage external;
	alter table bench_reports alter column body set storage external`

const sqlGiven = `
	with given as materialized (
		select * from unnest($1::bytea[], $2::uuid[], $3::timestamptz[], $4::bytea[], $5::bytea[])
			as u (key, id, received, bucket_id, body)
	)`

const sqlStoreLeast = sqlGiven + `, new as (
		insert into bench_keys select key, id from given order by key on conflict do nothing returning report_id as id
	), stored as (
		insert into bench_reports select id, received, bucket_id, body from given join new using (id)
	), counted as (
		insert into bench_buckets as b select bucket_id, count(*) from given join new using (id) group by 1 order by 1
		on conflict (id) do update set reports = b.reports + excluded.reports
	)
	insert into bench_days as d select bucket_id, received::date, count(*) from given join new using (id)
	group by 1, 2 order by 1, 2
	on conflict (bucket_id, day) do update set reports = d.reports + excluded.reports`

const sqlStoreRow = sqlGiven + ` insert into bench_rows select id, body from given`

// lessStore queues reports for writers. Each writer stores all reports that arrived while it was
// writing. Nil stores nothing.
type lessStore chan *lessReport

type lessReport struct {
	crash.Record

	body []byte
	done chan error
}

// SaveReport implements intake.Store.
func (q lessStore) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	if q == nil {
		return rec.ID, false, nil
	}
	var plain []byte
	for name, value := range rec.Fields {
		plain = append(append(append(append(plain, name...), 0), value...), 0)
	}
	r := &lessReport{rec, s2.Encode(nil, plain), make(chan error, 1)}
	q <- r
	return rec.ID, false, <-r.done
}

// startLess starts writers. Each writer stores up to most reports in one statement.
func startLess(b *testing.B, pool *pgxpool.Pool, sql string, writers, most int) lessStore {
	b.Helper()
	q := make(lessStore, 128)
	b.Cleanup(func() { close(q) })
	for range writers {
		go func() {
			for r := range q {
				batch := []*lessReport{r}
				for len(batch) < most && len(q) > 0 {
					batch = append(batch, <-q)
				}
				var keys, buckets, bodies [][]byte
				var ids [][16]byte
				var received []time.Time
				for _, r := range batch {
					bucket := crash.BucketIDOf(r.Grouping.Signature)
					keys, buckets, bodies = append(keys, r.DuplicateKey[:]), append(buckets, bucket[:]), append(bodies, r.body)
					ids, received = append(ids, r.ID), append(received, r.Received())
				}
				_, err := pool.Exec(b.Context(), sql, keys, ids, received, buckets, bodies)
				for _, r := range batch {
					r.done <- err
				}
			}
		}()
	}
	return q
}
