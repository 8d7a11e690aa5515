package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// sqlLockTables locks every table that sign-in does not need.
const sqlLockTables = `
	do $$ declare name regclass; begin
		for name in
			select c.oid from pg_class as c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
				and c.relname not in ('sessions', 'users', 'api_tokens', 'counting', 'changes')
		loop execute format('lock table %s in access exclusive mode', name); end loop;
	end $$`

// lockTables blocks every read of reports and problems until the caller calls unlock.
func lockTables(t *testing.T, url string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"begin", sqlLockTables} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = conn.Close(context.WithoutCancel(t.Context())) }
}

// wantUnavailable checks that an answer says what failed, why, and when to try again.
func wantUnavailable(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "10" ||
		!strings.Contains(strings.ToLower(w.Body.String()), "try again") {
		t.Errorf("%s: got %d, Retry-After %q and %q; want 503, 10 and a message", what, w.Code,
			w.Header().Get("Retry-After"), w.Body)
	}
}

// TestDeadlinePasses lets the deadline of requests pass while the database is blocked.
func TestDeadlinePasses(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	// Exports have a longer deadline. The limit of a single statement ends this one.
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, url+"&statement_timeout=2000")})
	b := site.Save(t, crashtest.Native())
	rows, err := site.Problems.BucketReports(t.Context(), b.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("reports: got %v, %v, want one", rows, err)
	}
	session := site.As(t, crash.RoleAdmin).Cookie("sessionid")
	unlock := lockTables(t, url)
	defer unlock()
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, path := range []string{
		"/", "/search?q=a", b.ID.Path(), b.ID.Path() + "/traits", b.ID.Path() + "/review", "/bug/1", "/bucket/?id=x",
		"/package/tidewatch", "/release/Ubuntu%2024.04", "/oops/" + rows[0].ID.String(), "/user/machine-1", "/my",
		"/admin/tracker", "/admin/filings",
		"/problems.csv", "/problems.json", "/problems.atom", "/search.csv?q=a", b.ID.Path() + ".csv", b.ID.Path() +
			"/versions.csv",
		"/api/1.0/most-common-problems/", "/api/1.0/average-crashes/?format=json", "/api/1.0/instances-count/",
	} {
		for name, headers := range map[string]map[string]string{
			"page": {"Accept": "text/html"},
			"part": {"Accept": "text/html", "HX-Request": "true", "HX-Request-Type": "partial"},
			"JSON": {"Accept": "application/json"},
		} {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				for key, value := range headers {
					r.Header.Set(key, value)
				}
				r.AddCookie(&http.Cookie{Name: "sessionid", Value: session})
				w := httptest.NewRecorder()
				site.Handler.ServeHTTP(w, r)
				wantUnavailable(t, path+" as "+name, w)
			})
		}
	}
}

// TestStatementTimeout checks that PostgreSQL cancels a slow statement of an export long before the
// export's deadline.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, url+"&statement_timeout=2000")})
	b := site.Save(t, crashtest.Native())
	unlock := lockTables(t, url)
	defer unlock()
	for _, path := range []string{"/problems.csv", "/search.json?q=a", b.ID.Path(), "/api/1.0/most-common-problems/"} {
		w := httptest.NewRecorder()
		site.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		wantUnavailable(t, path, w)
	}
}
