package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash/blobs/blobstest"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

// TestMoreSharedSymbols adds files on one machine and symbolises on another one. They share an object
// storage.
func TestMoreSharedSymbols(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	server := blobstest.Start(t, "mishap")
	database := dbtest.URL(t)
	dbtest.Exec(t, database, "insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, "+
		"state, missing) values (gen_random_uuid(), '', '', 'amd64', 'of another machine', 1, 'waiting', array['"+
		symboltest.BuildID(t, "tail")+"/debuginfo'])")
	configOf := func(secret string) string {
		return "--config=" + configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\nsymbols_from_machine = false\n"+
			"blobs = \"s3://mishap/test?endpoint=http://%s\"\nblobs_access_key = %q\nblobs_secret = %q\n"+
			"cores_key = \"a key of at least thirty-two characters\"\n",
			filepath.Join(symboltest.TempDir(t), "data"), database, server.Address, blobstest.AccessKey, secret))
	}
	files := []string{filepath.Join(dir, "root/usr/bin/tail"), filepath.Join(dir, "symbols/tail.debug")}
	add := func(conf string) (int, string) {
		status, _, stderr := runIn(t.Context(), nil, nil, append([]string{"symbols", "add", conf}, files...)...)
		return status, stderr
	}
	report := symboltest.Crash(t, "tail", symboltest.Core(t, "tail"))

	if status, stderr := add(configOf("wrong")); status != exitFailed ||
		!strings.Contains(stderr, "The files are added on this machine, but not shared with others: The object storage") {
		t.Errorf("with a wrong secret: got %d, %s", status, stderr)
	}
	if status, stderr := add(configOf(blobstest.Secret)); status != exitOK {
		t.Fatalf("symbols add: got %d, %s", status, stderr)
	}
	var state string
	err := dbtest.Open(t, database).Pool.QueryRow(t.Context(), "select state from symbol_jobs").Scan(&state)
	if err != nil || state != "queued" {
		t.Errorf("the job of another machine that waits for a file: got %s, %v; want it queued", state, err)
	}
	other := configOf(blobstest.Secret)
	for _, origin := range []string{"shared files", "cache (shared files)"} {
		status, stdout, stderr := runIn(t.Context(), nil, nil, "symbolise", other, report)
		if status != exitOK || !strings.Contains(stdout, "    program     "+origin+"\n") ||
			!strings.Contains(stdout, "    debug file  "+origin+"\n") || !strings.Contains(stdout, "hand_over") {
			t.Errorf("from %s: got %d, %q and\n%s", origin, status, stderr, stdout)
		}
	}
	status, stdout, stderr := runIn(t.Context(), nil, nil, "serve", configOf("wrong"))
	if status != exitFailed || !strings.Contains(stderr, "refuses the credentials") {
		t.Errorf("serve with a wrong secret: got %d, %s%s", status, stdout, stderr)
	}
	server.Kill()
	status, stdout, _ = runIn(t.Context(), nil, nil, "symbolise", configOf(blobstest.Secret), report)
	if status != exitOK || !strings.Contains(stdout, "shared files: failed (The object storage at "+server.Address) {
		t.Errorf("without the object storage: got %d and\n%s", status, stdout)
	}
}
