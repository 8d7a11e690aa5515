package issuetest

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// addresses are the pages of the first issue of the project "sandbox/trial".
var addresses = map[string]string{
	"bugzilla": "/show_bug.cgi?id=1", "debian": "/1000001", "forgejo": "/sandbox/trial/issues/1",
	"github": "/sandbox/trial/issues/1", "gitlab": "/sandbox/trial/-/issues/1",
}

// TestPages comments on, closes and reopens an issue on its page, and starts another server with its state.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, kind := range Kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "state")
			s := New(t, kind())
			if err := s.Keep(file); err != nil {
				t.Fatal(err)
			}
			s.locked(func() {
				s.add(&Issue{Project: "sandbox/trial", Title: "It <b>broke", Text: "</pre>", Author: "mishap",
					Extra: map[string]any{"alias": []string{"mishap-1"}}}, s.kind.global || name == "bugzilla")
			})
			page := s.URL + addresses[name]
			read := func(address string) string {
				t.Helper()
				resp, err := http.Get(address)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close() //nolint:errcheck // only read
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: got %s, %v", address, resp.Status, err)
				}
				return string(body)
			}
			if got := read(page); !strings.Contains(got, "It &lt;b&gt;broke") || !strings.Contains(got, "&lt;/pre&gt;") {
				t.Errorf("got\n%s\nwant its texts, escaped", got)
			}
			for _, do := range []string{"close", "reopen", "close"} {
				resp, err := http.PostForm(s.URL+formOf(&s.Issues()[0]), url.Values{"do": {do}, "text": {"I " + do},
					"back": {addresses[name]}})
				if err != nil || resp.Body.Close() != nil || resp.Request.URL.String() != page {
					t.Fatalf("%s: got %v, %v, want the page again", do, resp, err)
				}
				if got := s.Issues()[0]; got.Closed != (do == "close") {
					t.Errorf("after %s: closed is %v", do, got.Closed)
				}
			}
			later := New(t, kind())
			if err := later.Keep(file); err != nil {
				t.Fatal(err)
			}
			got := later.Issues()
			if len(got) != 1 || !got[0].Closed || len(got[0].Comments) != 3 || got[0].Number != s.Issues()[0].Number ||
				texts(&got[0], "alias")[0] != "mishap-1" {
				t.Errorf("in the next server: got %+v", got)
			}
			if list := read(later.URL + "/"); !strings.Contains(list, "It &lt;b&gt;broke") {
				t.Errorf("list: got\n%s", list)
			}
		})
	}
}
