package layout_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/views/gallery"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// hostile is text that breaks out of every unescaped context.
const hostile = `"'><script>alert(1)</script><b onmouseover=alert(1) style="x">&amp; % %zz
	http://evil.example/ ${x} 漢字 \u0000 </title></textarea><!--`

func TestEveryPageIsWellFormed(t *testing.T) {
	t.Parallel()
	handler := gallery.Handler("")
	for _, path := range gallery.Paths() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			checkHTML(t, w.Body.String())
		})
	}
}

// TestNothingHostileGetsThrough checks the components that are written in Go. Templates escape all text.
func TestNothingHostileGetsThrough(t *testing.T) {
	t.Parallel()
	note := crash.Note{Person: hostile, Texts: []crash.NoteText{{Text: hostile + " @ada " + hostile}}}
	stack := problemsview.NewStack(crash.StoredReport{Fields: crash.Fields{"Stacktrace": hostile,
		"StdErr":    "panic: " + hostile + "\n\ngoroutine 1 [running]:\nmain.load(0x1)\n\t/src/main.go:7",
		"Traceback": hostile}})
	for what, c := range map[string]templ.Component{
		"note": problemsview.Notes(problemsview.NotesView{Notes: []crash.Note{note},
			Names: map[string]string{"ada": hostile}}),
		"problem": problemsview.Problem(problemsview.ProblemPage{Stack: stack,
			Shell: layout.Shell{User: crash.User{ID: 1, Role: crash.RoleViewer}}}),
		"trace": layout.Trace(hostile),
	} {
		var b strings.Builder
		checktest.NoError(t, c.Render(t.Context(), &b))
		text := b.String()
		for _, bad := range []string{"<script>alert", "<b onmouseover"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: got %q unescaped", what, bad)
			}
		}
	}
}

var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
	"wbr"}

// checkHTML fails the test if tags do not nest, an id occurs twice, a label has no target, or an
// attribute violates the content security policy.
func checkHTML(t *testing.T, text string) {
	t.Helper()
	var open, references []string
	ids := map[string]int{}
	z := html.NewTokenizer(strings.NewReader(text))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		token := z.Token()
		if kind == html.EndTagToken {
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("got </%s> inside %q, want the innermost element closed first", token.Data, open)
			}
			open = open[:len(open)-1]
		}
		if kind != html.StartTagToken {
			continue
		}
		if !slices.Contains(void, token.Data) {
			open = append(open, token.Data)
		}
		for _, a := range token.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "for", a.Key == "aria-labelledby", a.Key == "aria-describedby":
				references = append(references, strings.Fields(a.Val)...)
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"):
				t.Errorf("got attribute %s=%q on <%s>, want no such attribute", a.Key, a.Val, token.Data)
			case strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:"):
				t.Errorf("got a script address in %s of <%s>", a.Key, token.Data)
			}
		}
	}
	if !errors.Is(z.Err(), io.EOF) {
		t.Fatalf("tokenise: %v", z.Err())
	}
	if len(open) > 0 {
		t.Errorf("got %q unclosed, want every element closed", open)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("got id %q %d times, want once", id, n)
		}
	}
	for _, id := range references {
		if ids[id] == 0 {
			t.Errorf("got a reference to id %q, which does not exist", id)
		}
	}
}

func TestMergeSidesMarkDifferences(t *testing.T) {
	t.Parallel()
	side := func(functions string) crash.Bucket {
		return crash.Bucket{Signature: "/usr/bin/tide:11:" + functions, Executable: "/usr/bin/tide",
			Rule: crash.RuleStacktrace}
	}
	var got []string
	for _, s := range problemsview.NewMergeSides([]crash.Bucket{side("parse:load:main"), side("parse:reload:main"),
		side("parse:load:main:start")}) {
		var parts []string
		for _, p := range s.Parts {
			if p.Differs {
				parts = append(parts, p.Text)
			}
		}
		got = append(got, strings.Join(parts, " "))
	}
	if want := "load|reload|load start"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// forbidden lists what templates must not contain. The content security policy would block most of
// it; the rest belongs in one file.
var forbidden = []struct {
	what    string
	pattern *regexp.Regexp
	allowed string // the one file that may contain it
}{
	{"a script in the page", regexp.MustCompile(`(?i)<script(?:[^>]*[^/])?>\s*[^<\s]`), ""},
	{"a script element", regexp.MustCompile(`(?i)<script`), "shell.templ"},
	{"a style in the page", regexp.MustCompile(`(?i)<style|\sstyle\s*=|\bstyle\?=`), ""},
	{"an event handler", regexp.MustCompile(`(?i)\s(?:hx-)?on[a-z:-]*\s*=`), ""},
	{"an outside address", regexp.MustCompile(`(?i)["'\x60(]\s*(?:https?:)?//[a-z]`), ""},
	{"a form of its own that is sent by POST", regexp.MustCompile(`(?i)method\s*=\s*["']?post`), "common.templ"},
	{"text that is not escaped", regexp.MustCompile(`templ\.Raw\(|templ\.ToGoHTML|templ\.JSUnsafe`), ""},
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.templ")
	if err != nil || len(files) < 10 {
		t.Fatalf("templates: got %d (%v), want all of them", len(files), err)
	}
	for _, name := range files {
		content := dbtest.Must(os.ReadFile(name))(t)
		for i, line := range strings.Split(string(content), "\n") {
			for _, f := range forbidden {
				if f.allowed != filepath.Base(name) && f.pattern.MatchString(line) {
					t.Errorf("%s:%d: got %s, want none: %s", name, i+1, f.what, strings.TrimSpace(line))
				}
			}
		}
	}
}
