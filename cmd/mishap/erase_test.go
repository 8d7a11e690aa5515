package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// secret is in everything that the erased machine sends.
const secret = "zanzibar"

// traceFiles returns the files below a folder that contain one of some words, also in their names.
func traceFiles(t *testing.T, folder string, words ...string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, word := range words {
			if strings.Contains(path, word) || bytes.Contains(content, []byte(word)) {
				found = append(found, path+" has "+word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// traceTables returns the tables whose text contains one of some words.
func traceTables(t *testing.T, url string, words ...string) (found []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // only read
	rows, err := conn.Query(t.Context(), `select quote_ident(relname) from pg_class
		where relkind = 'r' and relnamespace = 'public'::regnamespace or relname = 'pg_statistic'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, word := range words {
			// Encodings of bytea are text: the bodies of reports are searched in hexadecimal digits, too.
			sql := fmt.Sprintf(`select exists (select from %s as t where position('%s' in t::text) > 0
				or position('%x' in t::text) > 0)`, table, word, word)
			var there bool
			if err := conn.QueryRow(t.Context(), sql).Scan(&there); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if there {
				found = append(found, table+" has "+word)
			}
		}
	}
	return found
}

// TestEraseMachine erases a machine while mishap runs, and searches for its traces: in the database, in
// files, in the log, on pages, in exports, in metrics and in the API. It does so again after an older
// backup was restored.
func TestEraseMachine(t *testing.T) {
	t.Parallel()
	url, data := dbtest.URL(t), filepath.Join(t.TempDir(), "data")
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + data, "MISHAP_READ_ARCHIVE=false",
		"MISHAP_INGEST_RATE_PER_SYSTEM=0", "MISHAP_INGEST_RATE_PER_ADDRESS=0"}
	server, addresses := serveProcess(t, environ)
	machine, other := "5a"+strings.Repeat("0123456789abcdef", 4), "77"+strings.Repeat("0123456789abcdef", 4)
	marked := func(i int) crashtest.Report {
		return crashtest.Python(crashtest.Process(i), crashtest.Set("ExecutablePath", "/usr/bin/"+secret),
			crashtest.Set("ProcCmdline", "run --key "+secret), crashtest.Set("Hostname", secret))
	}
	for i := range 5 {
		answerTo(t, addresses["ingest_listen"], "/"+machine, marked(i).BSON())
		answerTo(t, addresses["ingest_listen"], "/"+machine, crashtest.Native(crashtest.Process(i)).BSON())
		answerTo(t, addresses["ingest_listen"], "/"+other, crashtest.Native(crashtest.Process(i)).BSON())
	}
	core := ""
	for i := 0; core == ""; i++ {
		native := nameless("tiny")
		crashtest.Process(1000 + i)(native)
		id, word, _ := strings.Cut(answerTo(t, addresses["ingest_listen"], "/"+machine, native.BSON()), " ")
		if word == "CORE" {
			core = id
		}
	}
	answerTo(t, addresses["ingest_listen"], "/"+core+"/submit-core/amd64/"+machine, []byte("a core with "+secret))
	coreFile := filepath.Join("cores", core+".core")
	if _, err := os.Stat(filepath.Join(data, coreFile)); err != nil {
		t.Fatal(err)
	}
	store := dbtest.Open(t, url)
	dbtest.AddUser(t, store, "ada", crash.RoleAdmin, testPassword)
	ada := signIn(t, "http://"+addresses["listen"], "ada")
	pages := []string{"/?period=year", "/problems.csv?period=year", "/search.csv?q=" + secret[:4], "/admin/data",
		"/admin/audit",
		"/user/" + machine + ".csv", "/api/1.0/most-common-problems/?limit=100",
		"/api/1.0/reports-for-system/?system=" + machine}
	tracesOn := func() (found []string) {
		for _, page := range pages {
			body := ada.Get(page).Body
			// The answer of a page may name the machine that its address names, in links to itself.
			if strings.Contains(body, secret) || strings.Contains(strings.ReplaceAll(body, page, ""), machine) {
				found = append(found, page)
			}
		}
		return found
	}
	if tables, on := traceTables(t, url, secret, machine), tracesOn(); len(tables) < 4 || len(on) < 4 {
		t.Fatalf("got traces only in %v and %v before", tables, on)
	}
	backups := filepath.Join(t.TempDir(), "backups")
	old := backUp(t, environ, backups, "--blobs")

	status, out, stderr := mishap(t, environ, "system", "dump", machine)
	if status != exitOK || !strings.Contains(out, secret) || strings.Contains(out, other) {
		t.Errorf("dump: got status %d and %d bytes: %s", status, len(out), stderr)
	}
	status, out, _ = mishap(t, environ, "system", "erase", machine)
	if status != exitOK || !strings.Contains(out, "--yes erases it.") || len(traceTables(t, url, machine)) == 0 {
		t.Errorf("without --yes: got status %d and %s", status, out)
	}
	status, out, stderr = mishap(t, environ, "system", "erase", machine, "--yes")
	if status != exitOK || !strings.Contains(out, "is erased.") || !strings.Contains(out, "1 core dump") ||
		strings.Contains(out, machine) || strings.Contains(out, secret) {
		t.Errorf("erase: got status %d and %s%s", status, out, stderr)
	}
	wantNone := func(when, url, data string) {
		t.Helper()
		if found := traceTables(t, url, secret, machine); len(found) > 0 {
			t.Errorf("%s: traces in the database: %v", when, found)
		}
		if found := traceFiles(t, data, secret, machine, core); len(found) > 0 {
			t.Errorf("%s: traces in files: %v", when, found)
		}
		mustRun(t, []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + data}, "check", "--all")
	}
	wantNone("erased", url, data)
	if on := tracesOn(); len(on) > 0 {
		t.Errorf("traces on pages: %v", on)
	}
	if metrics := getText(t, "http://"+addresses["ops_listen"]+"/metrics"); strings.Contains(metrics, machine) ||
		strings.Contains(metrics, secret) {
		t.Error("traces in metrics")
	}
	if said := server.said.String(); strings.Contains(said, machine) || strings.Contains(said, secret) {
		t.Errorf("traces in the log:\n%s", said)
	}
	if got := postTo(t, addresses["ingest_listen"], machine, marked(3)); got != http.StatusBadRequest {
		t.Errorf("an erased report sent again: got %d, want 400, so that the machine does not send it again", got)
	}

	restored := filepath.Join(t.TempDir(), "restored")
	url2 := dbtest.Empty(t)
	mustRun(t, environ, "restore", old, "--database-url", url2, "--data-dir", restored)
	wantNone("restored", url2, restored)
	if _, err := os.Stat(filepath.Join(restored, upkeep.ErasuresFile)); err != nil {
		t.Errorf("the record of erasures: %v", err)
	}
}

// TestMoreRemoteErasures erases a machine between two backups in object storage. Restoring the first one
// erases it again, by the record in the second one.
func TestMoreRemoteErasures(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "backups")
	url, target := dbtest.URL(t), dbtest.Empty(t)
	store := dbtest.Open(t, url)
	in := intake.New(intake.Config{Now: time.Now}, store)
	const machine = "0123456789abcdef0123456789abcdef"
	for i, system := range []crash.SystemID{machine, machine, "another machine"} {
		if _, err := in.Accept(t.Context(), crash.Report{System: system,
			Fields: crashtest.Native(crashtest.Process(i)).Fields()}); err != nil {
			t.Fatal(err)
		}
	}
	dbtest.Counted(t, store)
	settings := []string{"MISHAP_BLOBS=s3://backups/blobs?endpoint=http://" + server.Address,
		"MISHAP_BLOBS_ACCESS_KEY=" + blobstest.AccessKey, "MISHAP_BLOBS_SECRET=" + blobstest.Secret,
		"MISHAP_CORES_KEY=a key that object storage requires, of 32 characters"}
	environ := append(settings, "MISHAP_DATABASE_URL="+url, "MISHAP_DATA_DIR="+t.TempDir())
	first := backUp(t, environ, "s3://backups/some/prefix")
	if out := mustRun(t, environ, "system", "erase", machine, "--yes"); strings.Contains(out, " 0 ") ||
		!strings.Contains(out, "Removed: 2 reports; 1 problem corrected") {
		t.Fatalf("erase: got %s", out)
	}
	backUp(t, environ, "s3://backups/some/prefix")
	// A new machine has nothing but the storage.
	elsewhere := append(slices.Clip(settings), "MISHAP_DATA_DIR="+t.TempDir())
	mustRun(t, elsewhere, "restore", first, "--database-url", target)
	restored := dbtest.Open(t, target)
	for system, want := range map[crash.SystemID]int64{machine: 0, "another machine": 1} {
		if facts, err := upkeep.NewErasing(restored).Facts(t.Context(), system); err != nil || facts.Reports != want {
			t.Errorf("%s: got %+v, %v; want %d reports", system, facts, err, want)
		}
	}
}

// TestEraseUnknown checks that nothing is recorded if nobody knows a machine, and that it can still be
// blocked.
func TestEraseUnknown(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + t.TempDir()}
	for _, args := range [][]string{{"system", "erase", "nobody"}, {"system", "erase", "nobody", "--yes"}} {
		wantRefusal(t, environ, "mishap knows nothing of a machine with this id", args...)
	}
	if all, err := upkeep.NewErasing(dbtest.Open(t, url)).Erasures(t.Context(), 10); err != nil || len(all) != 0 {
		t.Errorf("got erasures %v, %v; want none", all, err)
	}
	wantOutput(t, environ, []string{"system", "erase", "nobody", "--yes", "--block"}, "Removed: nothing.")
}

func TestPrivacyCommand(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	oldReports(t, p, 5) // besides the one that is there
	runSteps(t, p.environ, step{"privacy check", exitOK,
		"Of 6 reports, 0 have secret fields and 6 have private fields. … private 6 UserGroups"})
	runSteps(t, append(p.environ, "MISHAP_PRIVACY_FIELDS=UserGroups=secret"), []step{
		{"privacy table", exitOK, "UserGroups secret"},
		{"privacy check", exitOK, "6 have secret fields … secret 6 UserGroups"},
		{"privacy check --apply", exitOK, "Removed secret fields from 6 of 6"},
		{"privacy check", exitOK, "0 have secret fields"},
		{"check --all", exitOK, ""},
	}...)
	// The command inspect names the fields that would be dropped.
	runSteps(t, append(p.environ, "MISHAP_PRIVACY_FIELDS=Uname=secret"),
		step{"inspect testdata/crashes/" + samples(t)[0].File, exitOK, "dropped fields"})

	// An impossible class stops the program, whatever the command.
	for _, wrong := range []string{"Package=secret", "X=hidden", "*=secret", "UserGroups=public"} {
		status, _, stderr := mishap(t, append(p.environ, "MISHAP_PRIVACY_FIELDS="+wrong), "check")
		if status == exitOK || !strings.Contains(stderr, "PRIVACY_FIELDS") {
			t.Errorf("%s: got status %d, %s; want a refusal that names the key", wrong, status, stderr)
		}
	}
}
