package dbtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Exec runs a statement in the database at url, bypassing stores. It creates rows that older
// versions of mishap, or accidents, leave behind.
func Exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect to the test database: %v", err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
