package debuginfod_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/handlers/handlertest"
)

// uploads is a site into which symbols are uploaded.
type uploads struct {
	*handlertest.Site
	t      *testing.T
	folder *debuginfo.Folder
}

func newUploads(t *testing.T) *uploads {
	t.Helper()
	folder, err := debuginfo.OpenFolder(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return &uploads{handlertest.New(t, handlertest.Options{SymbolFiles: folder}), t, folder}
}

// token returns a new API token.
func (u *uploads) token(role crash.Role, scopes ...crash.Scope) string {
	u.t.Helper()
	token, _, err := u.People.AddToken(u.t.Context(), u.AddUser(u.t, role), "builds", scopes,
		time.Now().AddDate(0, 0, 1))
	if err != nil {
		u.t.Fatal(err)
	}
	return token
}

// send sends a request and returns the status and body of the answer.
func (u *uploads) send(method, token, path string, body []byte) (int, string) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.URL+"/api/1.0/symbols/"+path, bytes.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// address returns the address for uploading a file as something.
func address(id, kind string, content []byte, offset int) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("%s/%s?size=%d&sha256=%s&offset=%d", id, kind, len(content), hex.EncodeToString(sum[:]), offset)
}

func TestUpload(t *testing.T) {
	t.Parallel()
	u := newUploads(t)
	token := u.token(crash.RoleTriager, crash.ScopeUpload)
	id := string(symboltest.BuildID(t, "tail"))
	content := symboltest.Read(t, filepath.Join(symboltest.Programs(t), "symbols/tail.debug"))
	const first = 1000
	for _, c := range []struct {
		method, path string
		body         []byte
		status       int
		want         string
	}{
		{http.MethodGet, address(id, "debuginfo", content, 0), nil, http.StatusOK, `{"stored":false,"received":0}`},
		{http.MethodPut, address(id, "debuginfo", content, first), content[first:], http.StatusConflict, "not the next part"},
		{http.MethodPut, address(id, "debuginfo", content, 0), content[:first], http.StatusAccepted, `"received":1000}`},
		{http.MethodGet, address(id, "debuginfo", content, 0), nil, http.StatusOK, `{"stored":false,"received":1000}`},
		{http.MethodPut, address(id, "debuginfo", content, 0), content, http.StatusConflict, "not the next part"},
		{http.MethodPut, address(id, "debuginfo", content, first), content[first:], http.StatusCreated, `{"stored":true`},
		{http.MethodGet, address(id, "debuginfo", content, 0), nil, http.StatusOK, `{"stored":true`},
	} {
		if status, body := u.send(c.method, token, c.path, c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s with %d bytes: got %d and %q, want %d and %q", c.method, c.path, len(c.body), status, body, c.status,
				c.want)
		}
	}
	if file, _, err := u.folder.Open(symboltest.BuildID(t, "tail"), debuginfo.Debuginfo); err != nil {
		t.Error(err)
	} else {
		_ = file.Close() // only opened to see that it is there
	}
	if files, err := os.ReadDir(u.folder.Dir()); err != nil || len(files) != 1 {
		t.Errorf("got %v, %v; want only the folder of the build", files, err)
	}
}

// TestUploadRefuses checks that nothing is stored of what is not what it says.
func TestUploadRefuses(t *testing.T) {
	t.Parallel()
	u := newUploads(t)
	token := u.token(crash.RoleTriager, crash.ScopeUpload)
	dir, id := symboltest.Programs(t), string(symboltest.BuildID(t, "tail"))
	debug := symboltest.Read(t, filepath.Join(dir, "symbols/tail.debug"))
	other := symboltest.Read(t, filepath.Join(dir, "symbols/deep.debug"))
	cut := debug[:len(debug)/2]
	text := []byte("no ELF file")
	long := strings.Replace(address(id, "debuginfo", text, 0), "size=11", "size=5", 1)
	lie := strings.Replace(address(id, "debuginfo", debug, 0), "sha256=", "sha256=00", 1)
	lie = lie[:strings.Index(lie, "&offset")-2] + "&offset=0"
	for _, c := range []struct {
		path   string
		body   []byte
		status int
		want   string
	}{
		{address(id, "debuginfo", other, 0), other, http.StatusUnprocessableEntity, "its build-id is"},
		{address(id, "debuginfo", cut, 0), cut, http.StatusUnprocessableEntity, "refused"},
		{address(id, "debuginfo", text, 0), text, http.StatusUnprocessableEntity, "refused"},
		{address(id, "executable", debug, 0), debug, http.StatusUnprocessableEntity, "it has no code"},
		{address(id, "source.zip", text, 0), text, http.StatusUnprocessableEntity, "refused"},
		{lie, debug, http.StatusUnprocessableEntity, "differs from its checksum"},
		{long, text, http.StatusRequestEntityTooLarge, "larger than announced"},
		{address(id, "vdso", debug, 0), debug, http.StatusNotFound, "kinds of files"},
		{address("..", "debuginfo", debug, 0), debug, http.StatusBadRequest, "build-id"},
		{address("xyz", "debuginfo", debug, 0), debug, http.StatusBadRequest, "build-id"},
		{address(id, "debuginfo", nil, 0), nil, http.StatusBadRequest, "size"},
		{address(id, "debuginfo", debug, -1), debug, http.StatusBadRequest, "offset"},
		{id + "/debuginfo?size=9&offset=0&sha256=zz", debug, http.StatusBadRequest, "sha256"},
		{id + "/debuginfo?size=99999999999999&offset=0", debug, http.StatusBadRequest, "size"},
	} {
		if status, body := u.send(http.MethodPut, token, c.path, c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s: got %d and %q, want %d and %q", c.path, status, body, c.status, c.want)
		}
	}
	if files, err := os.ReadDir(u.folder.Dir()); err != nil || len(files) != 0 {
		t.Errorf("got %v, %v; want nothing stored", files, err)
	}
	file := address(id, "debuginfo", debug, 0)
	for name, token := range map[string]string{
		"401": "", "403": u.token(crash.RoleTriager, crash.ScopeRead, crash.ScopeFile),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			if status, body := u.send(method, token, file, debug); fmt.Sprint(status) != name {
				t.Errorf("%s: got %d and %q, want %s", method, status, body, name)
			}
		}
	}
	if _, _, err := u.People.AddToken(t.Context(), u.AddUser(t, crash.RoleViewer), "builds",
		[]crash.Scope{crash.ScopeUpload}, time.Now().AddDate(0, 0, 1)); crash.KindOf(err) != crash.Forbidden {
		t.Errorf("a viewer's token: got %v, want Forbidden", err)
	}
}

func TestLearnBuilds(t *testing.T) {
	t.Parallel()
	u := newUploads(t)
	token := u.token(crash.RoleTriager, crash.ScopeUpload)
	const fact = `{"path": "/usr/bin/tail", "package": "tide", "version": "1.0", "architecture": "amd64", "build": "ab12ab12"}`
	for body, want := range map[string]int{
		"[" + fact + "," + fact + "]": http.StatusNoContent,
		"[" + fact:                    http.StatusBadRequest,
		"[" + strings.Replace(fact, "ab12ab12", "../x", 1) + "]":      http.StatusUnprocessableEntity,
		"[" + strings.Replace(fact, "/usr/bin/tail", "tail", 1) + "]": http.StatusUnprocessableEntity,
		"[" + strings.Replace(fact, `"1.0"`, `""`, 1) + "]":           http.StatusUnprocessableEntity,
		"[" + strings.Repeat("{},", 10_000) + "{}]":                   http.StatusRequestEntityTooLarge,
	} {
		if status, answer := u.send(http.MethodPost, token, "builds", []byte(body)); status != want {
			t.Errorf("%.100s: got %d and %q, want %d", body, status, answer, want)
		}
	}
	if status, _ := u.send(http.MethodPost, "", "builds", []byte("["+fact+"]")); status != http.StatusUnauthorized {
		t.Errorf("without a token: got %d", status)
	}
}
