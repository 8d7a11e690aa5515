package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// fafServer answers as FAF's pages for programs do. It refuses what it is asked for after the given number of requests.
type fafServer struct {
	t        *testing.T
	items    map[string]json.RawMessage
	last     map[string]string // day of the last crash by hash
	requests []string
	answers  atomic.Int64 // that are left
}

func (f *fafServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.answers.Add(-1) < 0 {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	f.requests = append(f.requests, r.URL.Path)
	var answer any
	switch period, listed := strings.CutPrefix(r.URL.Path, "/faf/reports/get_hash/*/*/"); {
	case r.Header.Get("Accept") != "application/json":
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/faf/reports":
		http.Redirect(w, r, "/faf/reports/?"+r.URL.RawQuery, http.StatusPermanentRedirect)
		return
	case r.URL.Path == "/faf/reports/":
		answer = map[string]any{"reports": []any{map[string]any{"id": 1}}}
	case listed:
		since, until, _ := strings.Cut(period, "/")
		hashes := []string{}
		for hash, day := range f.last {
			if day >= since && day <= until {
				hashes = append(hashes, hash)
			}
		}
		slices.Sort(hashes)
		answer = map[string]any{"data": hashes}
	case r.URL.Path == "/faf/reports/items/" && r.Method == http.MethodPost:
		var hashes []string
		checktest.NoError(f.t, json.NewDecoder(r.Body).Decode(&hashes))
		items := map[string]json.RawMessage{}
		for _, hash := range hashes {
			items[hash] = f.items[hash]
		}
		answer = items
	default:
		http.NotFound(w, r)
		return
	}
	checktest.NoError(f.t, json.NewEncoder(w).Encode(answer))
}

// TestCopyFAF copies reports from FAF's pages for programs, with an interruption.
func TestCopyFAF(t *testing.T) {
	t.Parallel()
	tr, database := trackertest.New(t), dbtest.URL(t)
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir())
	today := time.Now().UTC()
	day, month := today.AddDate(0, 0, -3).Format(time.DateOnly), today.AddDate(0, -5, 0).Format("2006-01")+"-01"
	oops, err := json.Marshal(crashtest.ModernOops().Fields()["OopsText"])
	checktest.NoError(t, err)
	text := strings.NewReplacer("{day}", day, "{month}", month, `"{oops}"`, string(oops), "{tracker}", tr.URL).
		Replace(string(dbtest.Must(os.ReadFile("testdata/faf/items.json"))(t)))
	f := &fafServer{t: t, last: map[string]string{}}
	checktest.NoError(t, json.Unmarshal([]byte(text), &f.items))
	for hash := range f.items {
		f.last[hash] = day
	}
	python := strings.Repeat("b1", 20)
	f.last[python] = month // in an earlier request
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	command := "import --faf " + server.URL + "/faf/"

	f.answers.Store(13)
	runSteps(t, environ, step{command, exitFailed, "1 stored, 0 known already, 0 too old, 0 unusable. … " +
		"0 bugs linked, 3 old addresses redirected. … " +
		"403 Forbidden; the same command continues"})
	f.requests = nil
	f.answers.Store(1000)
	const unusable = "f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1: FAF's answer does not describe this report. … " +
		"Report 5: FAF does not know its exception, or its traceback does not begin in a program. … "
	runSteps(t, environ, []step{
		{command, exitFailed, unusable + "4 stored, 1 known already, 1 too old, 2 unusable. … " +
			"1 bug linked, 7 old addresses redirected."},
		{command, exitOK, "0 stored, 0 known already, 0 too old, 0 unusable."},
	}...)
	items := slices.DeleteFunc(f.requests, func(path string) bool { return !strings.HasSuffix(path, "/items/") })
	checktest.Equal(t, "requests for reports after the interruption", len(items), 1)

	store := dbtest.Open(t, database)
	dbtest.Counted(t, store)
	const tideSignature = "/usr/bin/tidewatch:11:tide_parse_row:tide_load:main"
	for path, signature := range map[string]string{
		"/reports/1": tideSignature, "/problems/10": tideSignature,
		"/reports/bthash/" + strings.Repeat("a2", 20): tideSignature,
		"/reports/2": "/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@4:parse",
		"/reports/3": grouping.SignatureOf(crashtest.ModernOops().Fields()).Signature,
	} {
		id, err := bugs.New(store).ProblemAt(t.Context(), path)
		if err != nil || id != crash.BucketIDOf(signature) {
			t.Errorf("%s: got %v, %v, want %v", path, id, err, crash.BucketIDOf(signature))
		}
	}
	tide := dbtest.Must(store.Bucket(t.Context(), crash.BucketIDOf(tideSignature)))(t)
	checktest.Equal(t, "bug", tide.Bug.URL, tr.URL+"/bugs/2100007")
	checktest.Equal(t, "reports", tide.Reports, int64(2))
	versions := dbtest.Lines(t, database, `
		select release || ' of ' || source_package, version || ' on ' || day::text from reports`)
	if diff := cmp.Diff(map[string]string{
		"Fedora 43 of tidewatch": "1.4.9-2.fc43 on " + day, "RHEL 9 of tidewatch": "1.4.8-1.el9 on " + month,
		"Fedora 43 of harbor-sync": "1:2.1-1.fc43 on " + day, "Fedora 43 of kernel": " on " + day,
		"Fedora 43 of quillpad": " on " + day,
	}, versions); diff != "" {
		t.Errorf("versions and days differ:\n%s", diff)
	}
}

// TestCopyReplicated copies the µReports of a server that lists them for replication.
func TestCopyReplicated(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	day := time.Now().UTC().AddDate(0, 0, -2).Truncate(24 * time.Hour)
	busy := true
	mux := http.NewServeMux()
	mux.HandleFunc("GET /reports", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `["core","python","gone","../reports","broken","old","core"]`)
	})
	mux.HandleFunc("GET /report/{name}", func(w http.ResponseWriter, r *http.Request) {
		name, at := r.PathValue("name"), day
		switch {
		case name == "core" && busy:
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case name == "broken":
			_, _ = io.WriteString(w, "{")
			return
		case name == "old":
			name, at = "core", day.AddDate(-3, 0, 0)
		}
		file, err := os.ReadFile("../../crash/format/abrt/testdata/" + name + ".json")
		if err != nil {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", at, bytes.NewReader(file))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	command := "import --faf " + server.URL
	runSteps(t, environ, []step{
		{command, exitFailed, "../reports: The name is not that of a report. … gone: FAF does not know GET … " +
			"broken: Couldn't parse JSON data. … 2 stored, 0 known already, 1 too old, 3 unusable."},
		{command, exitOK, "0 stored, 0 known already, 0 too old, 0 unusable."},
		{command + "/nothing", exitFailed, "FAF does not know GET"},
		{"import --faf ftp://example.org", exitFailed, "--faf: expected the address of FAF's pages"},
		{"import", exitUsage, "requires at least 1 arg"},
	}...)
	// Without the names of what is copied, the database recognises the reports.
	dir := filepath.Join(strings.TrimPrefix(environ[1], "MISHAP_DATA_DIR="), "faf")
	names := dbtest.Must(filepath.Glob(filepath.Join(dir, "*")))(t)
	checktest.Equal(t, "files", len(names), 1)
	checktest.NoError(t, os.WriteFile(names[0], []byte("bro"), 0o600)) // cut off
	runSteps(t, environ, step{command, exitFailed, "0 stored, 2 known already, 1 too old, 3 unusable."})
	database := strings.TrimPrefix(environ[0], "MISHAP_DATABASE_URL=")
	dbtest.Counted(t, dbtest.Open(t, database))
	for line := range dbtest.Lines(t, database, "select day::text, reports::text from release_days") {
		checktest.Equal(t, "day", line, day.Format(time.DateOnly))
	}
}
