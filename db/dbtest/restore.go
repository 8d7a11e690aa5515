package dbtest

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// Copy copies the database at address, which must have no connections. The returned function
// replaces the database by the copy, like an administrator who restores a backup. It terminates all
// connections.
func Copy(t testing.TB, address string) (restore func()) {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	run := func(ctx context.Context, sql, to, from string) {
		t.Helper()
		sql = strings.Replace(strings.Replace(sql, "%s", quote(to), 1), "%s", quote(from), 1)
		if _, err := h.admin.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run(t.Context(), sqlCloneTemplate, name+"_copy", name)
	t.Cleanup(func() { run(context.Background(), sqlDrop, name+"_copy", "") })
	return func() {
		t.Helper()
		run(t.Context(), sqlDrop, name, "")
		run(t.Context(), sqlCloneTemplate, name, name+"_copy")
	}
}

// Refuse makes the server end and refuse connections to the database at address, or accept them again.
func Refuse(t testing.TB, address string, refuse bool) {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	sql := "alter database " + quote(name) + " allow_connections " + strconv.FormatBool(!refuse)
	if _, err := h.admin.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if refuse {
		if _, err := h.admin.Exec(t.Context(), sqlDisconnect, name); err != nil {
			t.Fatalf("end the connections to %s: %v", name, err)
		}
	}
}

const sqlDisconnect = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1"
