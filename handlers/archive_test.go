package handlers_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/views/layout"
)

// archived is a database with reports of one problem, of which the older ones are in an archive.
type archived struct {
	url, archive string
	bucket       crash.BucketID
	signature    string
	old          crash.OopsID // a report in the archive
	until        string       // the first day whose reports are not there
}

// newArchived stores two reports that are archived, and a number of recent ones, all from machine-1.
func newArchived(t *testing.T, recent int) archived {
	t.Helper()
	a := archived{url: dbtest.URL(t)}
	store := dbtest.Open(t, a.url)
	long := time.Now().UTC().AddDate(0, 0, -92)
	in := intake.New(intake.Config{MaxAgeDays: 366}, nil)
	for i := range recent + 2 {
		at := time.Now().Add(-time.Duration(i+1) * time.Minute)
		if i >= recent {
			at = long.Add(time.Duration(i) * time.Second)
		}
		id := crash.NewOopsID(at)
		rec, err := in.Examine(crash.Report{ID: id, System: "machine-1",
			Fields: crashtest.Native(crashtest.At(at), crashtest.Process(1000+i)).Fields()})
		if err != nil {
			t.Fatal(err)
		}
		a.old = dbtest.Must(take(store.SaveReport(t.Context(), rec)))(t)
		a.signature = rec.Grouping.Signature
	}
	dbtest.Counted(t, store)
	a.bucket = crash.BucketIDOf(a.signature)
	a.archive = dbtest.WithArchive(t, a.url, long)
	a.until = time.Date(long.Year(), long.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	return a
}

func take[T, U any](value T, _ U, err error) (T, error) { return value, err }

// site returns a site that has not asked the archive yet.
func (a archived) site(t *testing.T) *handlertest.Site {
	t.Helper()
	return handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, a.url)})
}

// get requests a page or file, with a limit far above what mishap allows itself.
func get(t *testing.T, c *handlertest.Client, path string) *handlertest.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(r)
}

const missingHeader = "Mishap-Missing-Before"

// TestArchiveDown requests pages, files and resources of the API while an archive refuses connections, accepts them
// without an answer, and hangs when it is asked for reports. Each answer says what it lacks.
func TestArchiveDown(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testing.T, archived){
		"refuses": func(t *testing.T, a archived) { dbtest.Refuse(t, a.archive, true) },
		"hangs":   func(t *testing.T, a archived) { dbtest.WithProxy(t, a.url, a.archive).Hang() },
		"hangs later": func(t *testing.T, a archived) {
			dbtest.WithProxy(t, a.url, a.archive).HangAt("DECLARE")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchived(t, 3)
			instances := "/api/1.0/instances/?id=" + url.QueryEscape(a.signature)
			oops := "/oops/" + a.old.String()
			for _, first := range []string{a.bucket.Path(), instances, oops, a.bucket.Path() + ".csv"} {
				fail(t, a)
				site := a.site(t)
				viewer := site.As(t, crash.RoleViewer)
				get(t, viewer, first) // waits for the archive; the others do without it
				for _, page := range []string{a.bucket.Path(), "/user/machine-1"} {
					get(t, viewer, page).Want(http.StatusOK).
						WantText(".banner", "Reports that arrived before "+a.until+" may be missing here")
				}
				get(t, viewer, oops).Want(http.StatusServiceUnavailable).WantText("main", "archive server")
				get(t, viewer, "/").Want(http.StatusOK)
				answer := get(t, viewer, instances).Want(http.StatusOK)
				checktest.Equal(t, "header of the API", answer.Header.Get(missingHeader), a.until)
				if n := strings.Count(answer.Body, `"incident"`); n != 3 {
					t.Errorf("the API lists %d reports, want the 3 that are here", n)
				}
				answer = get(t, viewer, "/api/1.0/oops/"+a.old.String()+"/").Want(http.StatusServiceUnavailable)
				if !strings.Contains(answer.Body, `"archive_away"`) {
					t.Errorf("the API: got %s", answer.Body)
				}
				a.wantPartialFiles(t, viewer)
			}
		})
	}
}

// wantPartialFiles checks that files with lists of reports say what they lack.
func (a archived) wantPartialFiles(t *testing.T, c *handlertest.Client) {
	t.Helper()
	for _, list := range []string{a.bucket.Path(), "/user/machine-1"} {
		file := get(t, c, list+".csv").Want(http.StatusOK)
		if rows := handlertest.CSVOf(t, file); len(rows) != 3 || file.Header.Get("ETag") != "" ||
			file.Header.Get("Last-Modified") != "" ||
			!strings.HasSuffix(file.Header.Get("Content-Disposition"), "-from-"+a.until+`.csv"`) {
			t.Errorf("%s.csv: got %d rows with %v", list, len(rows), file.Header)
		}
		checktest.Equal(t, list+".csv", file.Header.Get(missingHeader), a.until)
		var table struct {
			Objects []any  `json:"objects"`
			Missing string `json:"missing_before"`
		}
		file = get(t, c, list+".json").Want(http.StatusOK)
		if file.JSON(&table); len(table.Objects) != 3 || table.Missing != a.until {
			t.Errorf("%s.json: got %+v", list, table)
		}
		file = get(t, c, list+".atom").Want(http.StatusOK)
		if !strings.Contains(file.Body, "<subtitle>Reports that arrived before "+a.until) {
			t.Errorf("%s.atom: got %s", list, file.Body)
		}
	}
}

// TestArchiveDiesInFile downloads files while an archive fails when it is asked for their second part. The connection
// breaks before the end. While the archive works, the files say nothing.
func TestArchiveDiesInFile(t *testing.T) {
	t.Parallel()
	a := newArchived(t, 500)
	whole := a.site(t).As(t, crash.RoleViewer).Get(a.bucket.Path() + ".csv").Want(http.StatusOK)
	if rows := handlertest.CSVOf(t, whole); len(rows) != 502 || whole.Header.Get(missingHeader) != "" ||
		whole.Header.Get("ETag") == "" {
		t.Errorf("with the archive: got %d rows with %v", len(rows), whole.Header)
	}
	for _, format := range []string{"csv", "json"} {
		viewer := a.site(t).As(t, crash.RoleViewer)
		dbtest.WithProxy(t, a.url, a.archive).HangAt("bucket_id")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, viewer.URL+a.bucket.Path()+"."+format, nil)
		if err != nil {
			t.Fatal(err)
		}
		if part, err := viewer.Try(r); err == nil || part == nil || len(part.Body) == 0 ||
			part.Header.Get(missingHeader) != "" {
			t.Errorf("%s: got %v, want a part and a broken connection", format, err)
		}
	}
}

// TestArchiveDownClicks clicks on what changes many reports while an archive is down: it is refused, or waits and says
// so.
func TestArchiveDownClicks(t *testing.T) {
	t.Parallel()
	a := newArchived(t, 3)
	running := db.NewDecisions(dbtest.Open(t, a.url))
	dbtest.Must(running.StartRegroup(t.Context(), 1000, false, "ada"))(t)
	dbtest.Refuse(t, a.archive, true)
	site := a.site(t)
	admin := site.As(t, crash.RoleAdmin)
	admin.Get(layout.PathRegroup).Want(http.StatusOK).WantText("#regroup-run", "waiting for an archive")
	admin.Post(layout.PathRegroup, url.Values{"dry": {"yes"}}).Want(http.StatusSeeOther)
	admin.Get(layout.PathRegroup).Want(http.StatusOK).WantText(".flash-error", "The archive server old cannot be")
	admin.Post(layout.PathPrivacy+"/check", nil).Want(http.StatusServiceUnavailable).
		WantText("[role=alert]", "Nothing was started. The archive server old cannot be reached")
	admin.Get("/user/machine-1/dump.jsonl").Want(http.StatusServiceUnavailable)

	condition := url.Values{"field": {"architecture"}, "value": {"amd64"}}
	split := admin.Post(a.bucket.Path()+"/split", condition).Want(http.StatusSeeOther)
	admin.Get(split.Header.Get("Location")).Want(http.StatusOK).WantText("main", "waiting for an archive")

	var e struct {
		Waits    bool   `json:"waits"`
		Finished string `json:"finished"`
	}
	answer := admin.PostJSON("/api/1.0/erase-machine/", map[string]any{"system": "machine-1"}).Want(http.StatusAccepted)
	if answer.JSON(&e); !e.Waits || e.Finished != "" {
		t.Errorf("erasure: got %s", answer.Body)
	}
	admin.Get(layout.PathData).Want(http.StatusOK).WantText("main", "waits for an archive")
}
