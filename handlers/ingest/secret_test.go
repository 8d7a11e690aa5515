package ingest_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/db/dbtest"
	"mishap/handlers/ingest"
)

// TestSecretFields sends secret fields, some large enough to be compressed. It searches the whole
// database, with all bodies decompressed, and all files of the instance for their values.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	table, err := privacy.Parse("ErrorMessage=secret JournalErrors=secret Acme*=secret", "private")
	if err != nil {
		t.Fatal(err)
	}
	url := dbtest.URL(t)
	h := &fixture{store: dbtest.Open(t, url), url: url, data: t.TempDir(), metrics: prometheus.NewRegistry()}
	h.serve(t, func(d *ingest.Deps) {
		d.Intake = intake.New(intake.Config{MaxAgeDays: 3660, Privacy: table}, h.store)
	})
	const secret, harmless = "Tgr7secretvalue9Qx", "Tgr7harmlessvalue9Qx"
	long := strings.Repeat("a line of a log\n", 10_000) + secret
	for i, r := range []crashtest.Report{
		crashtest.Native(crashtest.Process(1), crashtest.Set("JournalErrors", long), crashtest.Set("MyApiToken", secret),
			crashtest.Set("AcmeNote", secret), crashtest.Set("Note", harmless)),
		// The error message would become the signature and the title.
		crashtest.Package(crashtest.Set("ErrorMessage", secret+" failed"), crashtest.Set("DpkgTerminalLog", ""),
			crashtest.Set("Note", harmless)),
		crashtest.Native(crashtest.Process(2), crashtest.Set("JournalErrors", crashtest.Compressed(long)),
			crashtest.Set("Note", harmless)),
	} {
		if got := h.post(t, "/machine", bytes.NewReader(r.BSON())); got.status != http.StatusOK {
			t.Fatalf("report %d: got %d %q, want it stored", i, got.status, got.text)
		}
	}
	h.counted(t)
	if found := h.search(t, harmless); len(found) == 0 {
		t.Fatal("the search does not even find a field that is stored")
	}
	if found := h.search(t, secret); len(found) > 0 {
		t.Errorf("got a secret value in %q, want none", found)
	}
	found := strings.Join(h.search(t, "AcmeNote\nJournalErrors\nMyApiToken"), "\n")
	if strings.Count(found, crash.DroppedField) != 1 {
		t.Errorf("got %q, want one report that lists the names of its three dropped fields", found)
	}
}

// search returns where a text is in the database and in the files of the instance.
func (h *fixture) search(t *testing.T, text string) (found []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // only read
	rows, err := conn.Query(t.Context(), `
		select format('%I.%I', n.nspname, c.relname) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 30 {
		t.Fatalf("got %d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		var n int64
		if err := conn.QueryRow(t.Context(), "select count(*) from "+table+" as t where strpos(t::text, $1) > 0 or "+
			"strpos(t::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0", text).Scan(&n); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if n > 0 {
			found = append(found, table)
		}
	}
	rows, err = conn.Query(t.Context(), "select id from reports")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		for name, value := range h.report(t, crash.OopsID(id)).Fields {
			if strings.Contains(name, text) || strings.Contains(value, text) {
				found = append(found, crash.OopsID(id).String()+" "+name)
			}
		}
	}
	if err := filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}
