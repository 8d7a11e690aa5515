package ingest_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/handlers/ingest"
)

var accepted = regexp.MustCompile(`^[0-9a-f-]{36} (OOPSID|CORE)$`)

// noReports is a store without reports. With a real database, each worker of the fuzzer would start
// a server.
type noReports struct{}

func (noReports) CoreRequested(context.Context, crash.OopsID, crash.SystemID) (bool, error) {
	return false, crash.Errorf(crash.NotFound, "core_not_requested", "Not asked for.")
}

func (noReports) RequestCore(context.Context, crash.CoreRequest, string) (bool, error) {
	return false, nil
}

func (noReports) CoreReceived(context.Context, crash.ReceivedCore) (bool, error) { return false, nil }

func (noReports) Collectors() []prometheus.Collector { return nil }

// FuzzPost posts any body to any machine's address, through everything except the database.
// whoopsie must understand the answer, which must not be an internal error.
func FuzzPost(f *testing.F) {
	files, err := filepath.Glob("testdata/*.bson")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("ant", body)
	}
	f.Add("", crashtest.Markup().BSON())
	f.Add("%2f..%00", []byte("\x05\x00\x00\x00\x00"))
	f.Add("6f3a0c1e-8a52-4a8e-9d0c-0f4f3f2b1a10/submit-core/amd64/ant", []byte("core"))
	f.Add("a/b/c", crashtest.Native().BSON()[:400])

	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := storeFunc(func(rec crash.Record) (crash.OopsID, bool, error) {
		if strings.Contains(string(rec.System), "\x00") {
			f.Errorf("got the system %q, which cannot be stored", rec.System)
		}
		return rec.ID, false, nil
	})
	handler, err := ingest.New(ingest.Deps{
		Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, store),
		Store:  noReports{}, Cores: openCores(f, f.TempDir()), MaxBytes: 1 << 20, Now: func() time.Time { return now },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, system string, body []byte) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		req.URL.Path, req.URL.RawPath = "/"+system, ""
		if path, err := url.PathUnescape("/" + system); err == nil {
			req.URL.Path, req.URL.RawPath = path, "/"+system
		}
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, req)
		text := res.Body.String()
		switch res.Code {
		case http.StatusOK:
			if text != "" && !accepted.MatchString(text) {
				t.Errorf("got 200 %q", text)
			}
		case http.StatusBadRequest, http.StatusNotFound:
			if text == "" || len(text) > 500 || strings.ContainsRune(text, 0) {
				t.Errorf("got %d with %.600q, want a sentence", res.Code, text)
			}
		default:
			t.Errorf("got %d %.200q", res.Code, text)
		}
	})
}
