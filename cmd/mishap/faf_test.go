package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// TestImportFAF exports the problems of a database with FAF's tables by the documented command, and imports
// them.
func TestImportFAF(t *testing.T) {
	checktest.Needs(t, "psql")
	t.Parallel()
	tr, database, old := trackertest.New(t), dbtest.URL(t), dbtest.Empty(t)
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir())
	tables := string(dbtest.Must(os.ReadFile("testdata/faf/faf.sql"))(t))
	dbtest.Exec(t, old, strings.ReplaceAll(tables, "{tracker}", tr.URL))
	query := exec.CommandContext(t.Context(), "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", old)
	query.Stdin = strings.NewReader(mustRun(t, nil, "bugs", "faf-query"))
	answer, err := query.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, answer)
	}
	file, oopses := filepath.Join(t.TempDir(), "faf.jsonl"), t.TempDir()
	checktest.NoError(t, os.WriteFile(file, append(answer, "{}\n"...), 0o600))
	checktest.NoError(t, os.MkdirAll(filepath.Join(oopses, "00", "00"), 0o700))
	checktest.NoError(t, os.WriteFile(filepath.Join(oopses, "00", "00", "4"),
		[]byte(crashtest.ModernOops().Fields()["OopsText"]), 0o600))

	const unusable = `line 1: FAF's report 1: bug 18123 is in the tracker "centos-mantisbt", which is not ` +
		`in the configuration … line 1: FAF's report 1: bug 2244557 is in the tracker "fedora-bugzilla", which … ` +
		`FAF's report 5: FAF does not know the program of a Java exception … ` +
		`FAF's report 6: mishap has no signatures for problems of the type "ruby" … ` +
		`FAF's report 7: some of its functions have no readable names: FAF has not retraced it … ` +
		`FAF's report 8: FAF does not know its exception, or its traceback … ` +
		`FAF's report 9: the text of the oops is missing; --oopses … ` +
		`FAF's report 10: FAF does not know its program, its signal or its stack … ` +
		`line 11: : the line is not a report of FAF, as its query prints it … `
	all := "--oopses " + oopses + " " + file
	runSteps(t, environ, []step{
		{"bugs import " + file, exitFailed, unusable + "FAF's report 4: the text of the oops is missing"},
		{"bugs import " + all, exitFailed, unusable + "0 to link, 6 to wait … 9 unusable. … " +
			"16 old addresses to redirect, 0 known already. Nothing was changed"},
		{"bugs import --apply " + all, exitFailed, "0 linked, 6 waiting … 16 old addresses redirected"},
		{"bugs import --apply " + all, exitFailed, "6 linked already … 0 old addresses redirected, 16 known"},
		{"import " + crashFile, exitOK, "1 stored"},
	}...)
	store := dbtest.Open(t, database)
	signature := grouping.SignatureOf(crashtest.Native().Fields()).Signature
	bucket := dbtest.Must(store.Bucket(t.Context(), crash.BucketIDOf(signature)))(t)
	checktest.Equal(t, "bug", bucket.Bug.URL, tr.URL+"/bugs/2100007")
	for _, path := range []string{"/reports/1", "/problems/70",
		"/reports/bthash/98dae815e401c4c5b8f87c950f124778cad0415e"} {
		id, err := bugs.New(store).ProblemAt(t.Context(), path)
		if err != nil || id != bucket.ID {
			t.Errorf("%s: got %v, %v, want %v", path, id, err, bucket.ID)
		}
	}
	if _, err := bugs.New(store).ProblemAt(t.Context(), "/reports/3"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("a problem without a report: got %v, want NotFound", err)
	}
	// The other links wait under the signatures that reports of these problems have.
	for number, signature := range map[int64]string{
		2100009: grouping.SignatureOf(crashtest.Python().Fields()).Signature,
		2100010: grouping.SignatureOf(crashtest.ModernOops().Fields()).Signature,
		2100008: "/usr/bin/quillpad:6:buffer_take:pad_save:main",
	} {
		fates, err := bugs.New(store).ImportBugs(t.Context(), []crash.BugImport{{Signature: signature,
			Bug: crash.Bug{Number: number}}}, false)
		if err != nil || fates[0] != crash.ImportKnown {
			t.Errorf("%s: got %v, %v, want a known link", signature, fates, err)
		}
	}
}

// TestImportAddresses imports addresses of another crash tracker without bugs.
func TestImportAddresses(t *testing.T) {
	t.Parallel()
	tr, database := trackertest.New(t), dbtest.URL(t)
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir())
	file := filepath.Join(t.TempDir(), "addresses.csv")
	checktest.NoError(t, os.WriteFile(file, []byte("address,signature\n"+
		"https://errors.ubuntu.com/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0,/bin/a:11:b:c\n"+
		"/problem/0123456789012345678901234567890123456789,/bin/a:11:b:c\n"+
		"https://errors.ubuntu.com/about,/bin/a:11:b:c\n"+
		",/bin/a:11:b:c\n"), 0o600))
	runSteps(t, environ, []step{
		{"bugs import " + file, exitFailed, "line 4: /bin/a:11:b:c: This is not the address of a problem or a report … " +
			"line 5: /bin/a:11:b:c: there is no … 2 unusable. 2 old addresses to redirect, 0 known already. Nothing"},
		{"bugs import --apply " + file, exitFailed, "2 old addresses redirected, 0 known already."},
	}...)
}
