package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/symboltest"
)

// uploader returns the name of a file with a new API token of these scopes.
func (in *installation) uploader(scopes string) string {
	in.t.Helper()
	status, token, stderr := runIn(in.t.Context(), nil, in.environ, "token", "create", "tess", "--name", scopes,
		"--scope", scopes, "--config", in.config)
	if status != exitOK {
		in.t.Fatalf("token create: got %d and %q", status, stderr)
	}
	file := filepath.Join(in.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		in.t.Fatal(err)
	}
	return file
}

// TestPush uploads a program with its debug file and sources, and downloads them.
func TestPush(t *testing.T) {
	t.Parallel()
	dir, id := symboltest.Programs(t), string(symboltest.BuildID(t, "tail"))
	in := install(t, "serve_symbols = true")
	in.account("tess", crash.RoleTriager)
	program, debug := filepath.Join(dir, "root/usr/bin/tail"), filepath.Join(dir, "symbols/tail.debug")
	args := []string{"symbols", "push", "--to", in.url, "--source", "/usr/src/tide=" + dir + "/src", "--token-file"}

	status, stdout, stderr := runIn(t.Context(), nil, nil, append(args, in.uploader("read"), program)...)
	if status != exitFailed || !strings.Contains(stderr, "This API token does not have the scope upload.") {
		t.Errorf("with another scope: got %d, %q and\n%s", status, stderr, stdout)
	}
	token := in.uploader("upload")
	status, stdout, stderr = runIn(t.Context(), nil, nil, append(args, token, program, debug,
		filepath.Join(dir, "src/tail.c"))...)
	if status != exitFailed || !strings.Contains(stdout, "3 uploaded, 0 known already, 1 refused.") ||
		!strings.Contains(stderr, "tail.c: refused: neither an ELF file nor a Debian package") {
		t.Errorf("push: got %d, %q and\n%s", status, stderr, stdout)
	}
	for path, file := range map[string]string{
		"executable": program, "debuginfo": debug, "source/usr/src/tide/tail.c": filepath.Join(dir, "src/tail.c"),
	} {
		if got := in.get(in.url+"/buildid/"+id+"/"+path, http.StatusOK); got != string(symboltest.Read(t, file)) {
			t.Errorf("%s: got %d other bytes", path, len(got))
		}
	}
	status, stdout, _ = runIn(t.Context(), nil, nil, append(args[:4], "--token-file", token, program, debug)...)
	if status != exitOK || !strings.Contains(stdout, "0 uploaded, 2 known already, 0 refused.") {
		t.Errorf("again: got %d and\n%s", status, stdout)
	}
	for _, bad := range [][]string{
		{"--to", "crashes.example.com", "--token-file", token}, {"--to", "http://crashes.example.com", "--token-file", token},
		{"--to", in.url, "--token-file", "/nowhere"}, {"--to", in.url},
	} {
		if status, _, stderr := runIn(t.Context(), nil, nil, append(append([]string{"symbols", "push"}, bad...),
			program)...); status != exitUsage {
			t.Errorf("%q: got %d and %q, want a usage error", bad, status, stderr)
		}
	}
}

// TestPushGoesOn uploads through a proxy that cuts every third request or refuses it, after a part of
// it has arrived.
func TestPushGoesOn(t *testing.T) {
	t.Parallel()
	symboltest.Programs(t)
	in := install(t, "serve_symbols = true")
	in.account("tess", crash.RoleTriager)
	target, err := url.Parse(in.url)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if n.Add(1)%3 == 2 && r.Out.Method == http.MethodPut {
			r.Out.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.In.Body, 1000), brokenReader{}))
		}
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	large := filepath.Join(t.TempDir(), "large")
	content := append(symboltest.Read(t, filepath.Join(symboltest.Programs(t), "original/tail")),
		make([]byte, 3*pushPart)...)
	if err := os.WriteFile(large, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p, err := symbolCommands{&program{out: &out, err: &errs}}.newPusher(server.URL, in.uploader("upload"))
	if err != nil {
		t.Fatal(err)
	}
	p.pause = time.Millisecond
	if err := p.push(t.Context(), []string{large}, nil); err != nil || !strings.Contains(out.String(), "2 uploaded") {
		t.Fatalf("got %v, %s and\n%s", err, errs.String(), out.String())
	}
	id := string(symboltest.BuildID(t, "tail"))
	if got := in.get(in.url+"/buildid/"+id+"/executable", http.StatusOK); got != string(content) {
		t.Errorf("got %d other bytes", len(got))
	}
	if n.Load() < 12 {
		t.Errorf("got only %d requests", n.Load())
	}
}

// brokenReader is a connection that breaks.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
