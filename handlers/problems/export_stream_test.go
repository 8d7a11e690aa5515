package problems_test

import (
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// sqlCopyReports copies a problem's report, one per millisecond, and marks all copies as counted.
const sqlCopyReports = `
	insert into reports
	select (lpad(to_hex((extract(epoch from r.received) * 1000)::bigint - n), 12, '0') ||
			substr(replace(r.id::text, '-', ''), 13))::uuid,
		r.received - n * interval '1 ms', r.occurred, r.day, r.counted, r.system,
			r.system_key, r.bucket_id, r.unbucketed, r.rule, r.rules,
		r.problem_type, repeat('title ', 40), r.executable, r.package, r.version, r.source_package,
			r.release, r.architecture, r.package_architecture,
		r.address_signature, r.proposed, r.complete, r.body
	from reports as r, generate_series(1, $1) as n`

// TestExportStreams exports 40,000 reports (20 MB) of a problem. Neither the server nor its
// database connection may hold them all in memory.
func TestExportStreams(t *testing.T) { // not parallel: it measures the memory of the whole process
	const copies, mostMore = 40_000, 12 << 20
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	site := handlertest.New(t, handlertest.Options{Store: store})
	b := site.Save(t, crashtest.Native(crashtest.At(time.Now().Add(-time.Hour))))
	dbtest.Exec(t, url, sqlCopyReports, copies)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	token := handlertest.MakeToken(t, site.As(t, crash.RoleViewer), "read", "read-private")
	for _, path := range []string{b.ID.Path() + ".csv", "/user/machine-1.csv"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		before := heap()
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		counted := &counter{from: answer.Body}
		lines, rows, peak := csv.NewReader(counted), 0, uint64(0)
		lines.ReuseRecord = true
		for {
			if _, err := lines.Read(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s, line %d: %v", path, rows, err)
			}
			if rows++; rows%5000 == 0 {
				peak = max(peak, heap())
			}
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || rows != copies+2 {
			t.Errorf("%s: got status %d and %d lines, want one for each of %d reports", path, answer.StatusCode, rows, copies+1)
		}
		if counted.bytes < mostMore*3/2 {
			t.Errorf("%s: got %d bytes, too few for a measurement", path, counted.bytes)
		}
		if peak > before+mostMore {
			t.Errorf("%s: the heap grew from %d to %d bytes while %d were sent, want growth of at most %d", path, before, peak,
				counted.bytes, mostMore)
		}
	}
}

// counter counts the bytes that are read.
type counter struct {
	from  io.Reader
	bytes int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes += n
	return n, err
}
