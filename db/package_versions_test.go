package db_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// versionReads counts the statements that read the versions in use of all packages.
type versionReads struct{ n atomic.Int32 }

func (r *versionReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "from package_versions order by") {
		r.n.Add(1)
	}
	return ctx
}

func (*versionReads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestVersionsInUse counts reports and erases some. It checks that concurrent callers get the versions in
// use after each step, and that they are read only if they have changed, and only by one of the callers.
func TestVersionsInUse(t *testing.T) {
	t.Parallel()
	reads := &versionReads{}
	s, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Log: dbtest.Log(t), Statements: reads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	now := time.Now()
	add := func(machine string, at time.Time, version string) {
		t.Helper()
		save(t, s, record(t, at, machine, crash.Fields{"Package": "harbor " + version}))
	}
	want := func(step string, wantReads int32, versions ...string) {
		t.Helper()
		before := reads.n.Load()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				known, err := s.VersionsInUse(t.Context(), "harbor")
				var got []string
				for _, k := range known {
					got = append(got, k.Version)
				}
				if err != nil || strings.Join(got, " ") != strings.Join(versions, " ") {
					t.Errorf("%s: got %q, %v, want %q", step, got, err, versions)
				}
			})
		}
		callers.Wait()
		if n := reads.n.Load() - before; n != wantReads {
			t.Errorf("%s: read %d times, want %d", step, n, wantReads)
		}
	}
	add("one", now.AddDate(0, 0, -2), "1.0-1")
	want("first use", 1, "1.0-1")
	add("two", now.AddDate(0, 0, -1), "1.0-1")
	want("a known version", 0, "1.0-1")
	add("two", now, "1.1-1")
	want("a new version", 1, "1.0-1", "1.1-1")
	add("three", now.AddDate(0, 0, -5), "1.1-1")
	want("an older report", 1, "1.0-1", "1.1-1")
	e, err := upkeep.NewErasing(s).Request(t.Context(), crash.NewSystemID("one"), false, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if erased, _, err := db.NewDecisions(s).EraseReports(t.Context(), e, 10); err != nil || erased != 1 {
		t.Fatalf("erased %d reports, %v, want 1", erased, err)
	}
	want("erased", 1, "1.0-1", "1.1-1")
	if known, err := s.VersionsInUse(t.Context(), "harbor"); err != nil || len(known) == 0 ||
		known[0].Since.Before(now.AddDate(0, 0, -2)) {
		t.Errorf("erased: got %+v, %v, want that 1.0-1 is in use for a day less", known, err)
	}
}
