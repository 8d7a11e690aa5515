package ingest_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/minidump/minidumptest"
	"mishap/db/dbtest"
	"mishap/handlers/ingest"
)

func minidumpOf(pc uint64) minidumptest.Dump {
	return minidumptest.Dump{Signal: 11, PC: pc, Secret: "hunter2", Modules: []minidumptest.Module{
		{Path: "/opt/chartd/chartd", Start: 0x400000, Size: 0x9000, BuildID: "aa11bb22cc33dd44"}}}
}

// dumpForm returns a form with a dump and annotations, and its media type.
func dumpForm(t *testing.T, dump []byte, notes ...string) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, note := range notes {
		name, value, _ := strings.Cut(note, "=")
		checktest.NoError(t, w.WriteField(name, value))
	}
	part := dbtest.Must(w.CreateFormFile("upload_file_minidump", "x.dmp"))(t)
	_ = dbtest.Must(part.Write(dump))(t)
	checktest.NoError(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_ = dbtest.Must(w.Write(data))(t)
	checktest.NoError(t, w.Close())
	return b.Bytes()
}

// sendDump posts a body. The header has lines such as "Content-Encoding: gzip".
func (h *fixture) sendDump(t *testing.T, path string, body io.Reader, header ...string) (status int, text string) {
	t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, body))(t)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := h.Client().Do(r)
	checktest.NoError(t, err)
	defer answer.Body.Close() //nolint:errcheck // read to the end
	return answer.StatusCode, string(dbtest.Must(io.ReadAll(answer.Body))(t))
}

// TestMinidumps sends minidumps as Breakpad and crashpad do: in forms, compressed or not, in one piece or in chunks,
// and bare. The answer is the id of the report. Only the version of the annotations is stored.
func TestMinidumps(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	p := h.addProject(t, "chartd", false)
	path := fmt.Sprintf("/api/%d/minidump/?sentry_key=%s", p.Number, p.Key())
	encoder := dbtest.Must(zstd.NewWriter(nil))(t)
	dumps := map[string]func(dump []byte) (io.Reader, []string){
		"Breakpad": func(dump []byte) (io.Reader, []string) {
			body, kind := dumpForm(t, dump, "prod=chartd", "ver=0.9.1", "guid=e1b2", "email=ada@example.org")
			return bytes.NewReader(body), []string{"Content-Type: " + kind}
		},
		"crashpad": func(dump []byte) (io.Reader, []string) {
			body, kind := dumpForm(t, dump, "ver=0.9.1")
			return io.MultiReader(bytes.NewReader(gzipped(t, body))), []string{"Content-Type: " + kind,
				"Content-Encoding: gzip"} // in chunks
		},
		"Sentry": func(dump []byte) (io.Reader, []string) {
			body, kind := dumpForm(t, dump, "sentry[release]=chartd@0.9.1", `sentry={"user":{"email":"ada@example.org"}}`)
			return bytes.NewReader(body), []string{"Content-Type: " + kind}
		},
		"zstd inside": func(dump []byte) (io.Reader, []string) {
			body, kind := dumpForm(t, encoder.EncodeAll(dump, nil), "Version=0.9.1")
			return bytes.NewReader(body), []string{"Content-Type: " + kind}
		},
		"bare": func(dump []byte) (io.Reader, []string) {
			return bytes.NewReader(dump), []string{"Content-Type: application/x-dmp"}
		},
		"bare gzip": func(dump []byte) (io.Reader, []string) {
			return bytes.NewReader(gzipped(t, dump)), []string{"Content-Type: application/octet-stream"}
		},
	}
	pc := uint64(0x401000)
	for name, client := range dumps {
		pc += 0x10
		dump := minidumpOf(pc).Bytes(t)
		var ids []string
		for range 2 {
			body, header := client(dump)
			status, text := h.sendDump(t, path, body, header...)
			if _, err := crash.ParseOopsID(text); status != http.StatusOK || err != nil {
				t.Fatalf("%s: got %d %q, want the id of the report", name, status, text)
			}
			ids = append(ids, text)
		}
		if ids[0] != ids[1] {
			t.Errorf("%s: got reports %v of one dump, want one", name, ids)
		}
		report := dbtest.Must(h.store.Report(t.Context(), dbtest.Must(crash.ParseOopsID(ids[0]))(t)))(t)
		want := fmt.Sprintf("/opt/chartd/chartd:11:chartd@aa11bb22cc33dd44+%x", pc-0x400000)
		version := map[bool]string{true: "chartd 0.9.1", false: "chartd"}[!strings.HasPrefix(name, "bare")]
		if report.Fields["StacktraceAddressSignature"] != want || report.Fields["Package"] != version ||
			report.Fields["SourcePackage"] != "chartd" {
			t.Errorf("%s: got %v", name, report.Fields)
		}
		for field, text := range report.Fields {
			if strings.Contains(text, "hunter2") || strings.Contains(text, "ada@") || strings.Contains(text, "e1b2") {
				t.Errorf("%s: %s has private data: %q", name, field, text)
			}
		}
	}
}

// TestMinidumpRefused checks refusals. None is 429, after which clients would send the dump again at once.
func TestMinidumpRefused(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.RatePerAddress = 6 })
	p := h.addProject(t, "chartd", false)
	good := minidumpOf(0x401000).Bytes(t)
	path := fmt.Sprintf("/api/%d/minidump/", p.Number)
	key := "?sentry_key=" + p.Key()
	empty, kind := dumpForm(t, nil)
	for _, c := range []struct {
		name, path string
		body       []byte
		header     string
		status     int
	}{
		{"no key", path, good, "X: ", 403}, {"a wrong key", path + "?sentry_key=abc", good, "X: ", 403},
		{"a text", path + key, []byte("x"), "X: ", 400}, {"an empty dump", path + key, empty, "Content-Type: " + kind, 400},
		{"a bomb", path + key, gzipped(t, make([]byte, 2<<20)), "X: ", 413},
		{"a bad gzip", path + key, good, "Content-Encoding: gzip", 400},
		{"too many", path + key, good, "X: ", 503},
	} {
		status, text := h.sendDump(t, c.path, bytes.NewReader(c.body), c.header)
		if status != c.status || strings.Contains(text, "{") {
			t.Errorf("%s: got %d %q, want %d", c.name, status, text, c.status)
		}
	}
}

// TestMinidumpStored checks that a dump is stored as a core is: of a problem that wants one.
func TestMinidumpStored(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	p := h.addProject(t, "chartd", false)
	path := fmt.Sprintf("/api/%d/minidump/?sentry_key=%s", p.Number, p.Key())
	dump := minidumpOf(0x401000)
	status, first := h.sendDump(t, path, bytes.NewReader(dump.Bytes(t)))
	if status != http.StatusOK {
		t.Fatalf("got %d %q", status, first)
	}
	dump.Secret = "another"
	_, second := h.sendDump(t, path, bytes.NewReader(dump.Bytes(t)))
	if first == second {
		t.Error("got one report of two dumps")
	}
	h.wantFiles(t, first+".core")
}
