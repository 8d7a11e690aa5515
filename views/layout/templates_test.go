package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
	{"a form of its own that is sent by POST", regexp.MustCompile(`(?i)method\s*=\s*["']?post`), "post_form.templ"},
	{"text that is not escaped", regexp.MustCompile(`templ\.Raw\(|templ\.ToGoHTML|templ\.JSUnsafe`), ""},
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.templ")
	if err != nil || len(files) < 10 {
		t.Fatalf("templates: got %d (%v), want all of them", len(files), err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, f := range forbidden {
				if f.allowed != filepath.Base(name) && f.pattern.MatchString(line) {
					t.Errorf("%s:%d: got %s, want none: %s", name, i+1, f.what, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestForbiddenPatterns(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"a script in the page":                   `<script>alert(1)</script>`,
		"a script element":                       `<script src="/x.js"></script>`,
		"a style in the page":                    `<p style="color: red">`,
		"an event handler":                       `<button onclick={ x }>`,
		"an outside address":                     `<img src="//cdn.example.org/x.png"/>`,
		"a form of its own that is sent by POST": `<form method="POST" action="/">`,
		"text that is not escaped":               `@templ.Raw(x)`,
	} {
		found := false
		for _, f := range forbidden {
			found = found || f.what == what && f.pattern.MatchString(line)
		}
		if !found {
			t.Errorf("%s: got no match of %q, want one", what, line)
		}
	}
}
