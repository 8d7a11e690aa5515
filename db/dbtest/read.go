package dbtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Connect returns a connection to a database, which is closed when the test ends.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Lines returns the rows of a query for two texts as a map.
func Lines(t testing.TB, url, sql string) map[string]string {
	t.Helper()
	conn := Connect(t, url)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	found := map[string]string{}
	var key, value string
	if _, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		found[key] = value
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}
