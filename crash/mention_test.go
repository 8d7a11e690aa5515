package crash_test

import (
	"strings"
	"testing"

	"mishap/crash"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"@anna":                          "anna",
		"@anna, @Bob: (@carla) \"@dan\"": "anna Bob carla dan",
		"See @anna.\n@bob":               "anna bob",
		"@anna's idea":                   "anna",
		"@anna-maria @dan.o'brien":       "anna-maria dan.o",
		"mail anna@example.org":          "",
		"<anna@example.org>":             "",
		"@anna@example.org":              "anna@example.org", // names of accounts can contain an at sign
		"a@b @c":                         "c",
		"https://x.example/@anna":        "",
		"@@anna":                         "",
		"@ anna @":                       "",
		"@Zoë":                           "Zoë",
		"@" + strings.Repeat("a", 64):    strings.Repeat("a", 64),
	} {
		var names []string
		for _, m := range crash.Mentions(text) {
			names = append(names, m.Name)
			if text[m.Start:m.End] != "@"+m.Name {
				t.Errorf("%q: the position of %s is that of %q", text, m.Name, text[m.Start:m.End])
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := len(crash.Mentions(strings.Repeat("@anna ", 100))); got != 50 {
		t.Errorf("got %d of many, want 50", got)
	}
}
