package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// TestImportBugs links a problem, links another when its first report arrives, and respects what people did.
func TestImportBugs(t *testing.T) {
	t.Parallel()
	tr, database := trackertest.New(t), dbtest.URL(t)
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir())
	store := dbtest.Open(t, database)
	links := filepath.Join(t.TempDir(), "links.csv")
	const signature = "/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"
	checktest.NoError(t, os.WriteFile(links, []byte("bug,since,signature\n"+
		"2100009,2024,"+signature+"\n"+
		tr.URL+"/bugs/2100007,2024,"+signature+"\n"+
		"LP: #2100008,2024,\"never, \"\"seen\"\"\"\n"+
		"none,2024,not a bug\n"+
		"1,2024,\"two\nlines\"\n"+
		"2\n"), 0o600))
	runSteps(t, environ, []step{
		{"bugs import " + links, exitFailed, "0 to link, 3 to wait for the first report of their problem, 0 linked " +
			"already, 0 unlinked by people, 3 unusable. Nothing was changed; --apply does it. … " +
			"line 5: not a bug: This is neither a bug number nor the address of a bug. … " +
			"line 6: two\\nlines: the signature has several lines … line 8: : there is no signature and bug"},
		{"bugs import --apply " + links, exitFailed, "0 linked, 3 waiting for the first report"},
		{"bugs import --apply " + links, exitFailed, "0 linked, 0 waiting … 3 linked already"},
		{"import " + crashFile, exitOK, "1 stored"},
	}...)
	bug := func() crash.Bug {
		t.Helper()
		b, err := store.Bucket(t.Context(), crash.BucketIDOf(signature))
		checktest.NoError(t, err)
		return b.Bug
	}
	if b := bug(); b.Number != 2100007 || b.How != crash.Linked || b.URL != tr.URL+"/bugs/2100007" {
		t.Errorf("after the first report: got %+v, want the lowest bug", b)
	}
	// The other bug of the problem is linked, too, now that the problem is there.
	runSteps(t, environ, step{"bugs import --apply " + links, exitFailed, "1 linked, 0 waiting"})
	checktest.NoError(t, bugs.New(store).UnlinkBug(t.Context(), crash.BucketIDOf(signature), 2100007, "tess"))
	runSteps(t, environ, step{"bugs import --apply " + links, exitFailed, "2 linked already, 1 unlinked by people"})
	checktest.Equal(t, "bug after a person unlinked the other", bug().Number, 2100009)

	wantStatus(t, environ, exitFailed, "no such file", "bugs", "import", links+"x")
	checktest.NoError(t, os.WriteFile(links, []byte("signature,number\nx,1\n"), 0o600))
	wantStatus(t, environ, exitFailed, `no column "bug"`, "bugs", "import", links)
}

// TestImportDuplicates imports a database as apport writes it.
func TestImportDuplicates(t *testing.T) {
	checktest.Needs(t, "sqlite3")
	t.Parallel()
	tr, database := trackertest.New(t), dbtest.URL(t)
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir())
	file := filepath.Join(t.TempDir(), "apport_duplicates.db")
	var sql strings.Builder
	sql.WriteString("create table crashes (signature varchar(255) not null, crash_id integer not null, " +
		"fixed_version varchar(50), last_change timestamp, constraint crashes_pk primary key (crash_id));")
	for i := range 1200 { // more than one statement takes
		fmt.Fprintf(&sql, "insert into crashes values ('/bin/x:11:f%d:\"g\",h', %d, null, current_timestamp);", i, 2100001+i)
	}
	command := exec.CommandContext(t.Context(), "sqlite3", file)
	command.Stdin = strings.NewReader(sql.String())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	wantOutput(t, environ, []string{"bugs", "import", "--apply", file}, "1200 waiting for the first report")
	wantOutput(t, environ, []string{"bugs", "import", file}, "1200 linked already")
	store := dbtest.Open(t, database)
	fates, err := bugs.New(store).ImportBugs(t.Context(), []crash.BugImport{
		{Signature: `/bin/x:11:f7:"g",h`, Bug: crash.Bug{Number: 2100008}}, {Signature: "/bin/y", Bug: crash.Bug{Number: 1}},
	}, false)
	if err != nil || fates[0] != crash.ImportKnown || fates[1] != crash.ImportWaits {
		t.Errorf("fates: got %v, %v", fates, err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if out, err := exec.CommandContext(t.Context(), "sqlite3", other, "create table t (a)").CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	wantStatus(t, environ, exitFailed, "is not apport's duplicate database: ", "bugs", "import", other)
}
