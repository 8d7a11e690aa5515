package handlers_test

import (
	"net/http"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestFilesForVisitors checks that visitors share a file until something is counted, and how many they get
// a minute. People and tokens have no such limit.
func TestFilesForVisitors(t *testing.T) {
	t.Parallel()
	const limit = 5
	site := handlertest.New(t, handlertest.Options{ExportRatePerAddress: limit})
	site.Save(t, crashtest.Native())
	visitor, person := site.Visitor(t), site.As(t, crash.RoleViewer)
	first := visitor.Get("/search.csv?q=tide").Want(http.StatusOK)
	again := visitor.Get("/search.csv?q=tide").Want(http.StatusOK)
	if len(handlertest.CSVOf(t, first)) != 1 || again.Body != first.Body ||
		again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("got %q and then %q, want the same file", first.Body, again.Body)
	}
	site.Save(t, crashtest.Native(crashtest.Process(2)))
	if rows := handlertest.CSVOf(t, visitor.Get("/search.csv?q=tide").Want(http.StatusOK)); rows[0]["count"] != "2" {
		t.Errorf("got %v after another report, want a new file", rows)
	}
	visitor.Get("/problems.atom").Want(http.StatusOK)
	visitor.Get("/", handlertest.Header{Name: "Accept", Value: "text/csv"}).Want(http.StatusOK)
	for _, path := range []string{"/problems.json", "/search.csv?q=tide", "/problems.atom"} {
		if a := visitor.Get(path).Want(http.StatusTooManyRequests); a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got no Retry-After", path)
		}
	}
	visitor.Get("/").Want(http.StatusOK)
	token := handlertest.Header{Name: "Authorization", Value: "Bearer " + handlertest.MakeToken(t, person, "read")}
	for range limit + 1 {
		person.Get("/problems.csv").Want(http.StatusOK)
		visitor.Get("/problems.csv", token).Want(http.StatusOK)
	}
}
