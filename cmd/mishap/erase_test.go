package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

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
	if status, out, stderr := runIn(t.Context(), nil, environ, "system", "erase", machine, "--yes", noConfig(t)); status !=
		exitOK || !strings.Contains(out, "Removed: 2 reports; 1 problem corrected") || strings.Contains(out, " 0 ") {
		t.Fatalf("erase: got status %d: %s%s", status, out, stderr)
	}
	backUp(t, environ, "s3://backups/some/prefix")
	// A new machine has nothing but the storage.
	elsewhere := append(slices.Clip(settings), "MISHAP_DATA_DIR="+t.TempDir())
	if status, out, stderr := runIn(t.Context(), nil, elsewhere, "restore", first, "--database-url", target,
		noConfig(t)); status != exitOK {
		t.Fatalf("restore: got status %d: %s%s", status, out, stderr)
	}
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
		wantRefusal(t, environ, "mishap knows nothing of a machine with this id", append(args, noConfig(t))...)
	}
	if all, err := upkeep.NewErasing(dbtest.Open(t, url)).Erasures(t.Context(), 10); err != nil || len(all) != 0 {
		t.Errorf("got erasures %v, %v; want none", all, err)
	}
	status, out, stderr := runIn(t.Context(), nil, environ, "system", "erase", "nobody", "--yes", "--block", noConfig(t))
	if status != exitOK || !strings.Contains(out, "Removed: nothing.") {
		t.Errorf("block: got status %d: %s%s", status, out, stderr)
	}
	if status, _, stderr := runIn(t.Context(), nil, environ, "privacy", "nothing"); status != exitUsage ||
		!strings.Contains(stderr, "unknown command") {
		t.Errorf("privacy nothing: got status %d, %s; want an unknown command", status, stderr)
	}
}
