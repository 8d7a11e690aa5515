package crash_test

import (
	"errors"
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

func TestParseAssignee(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " anna ": "anna", "anna@example.org": "anna@example.org", "~desktop-packages": "~desktop-packages",
		"https://launchpad.net/~desktop-packages": "~desktop-packages",
		"https://bugs.launchpad.net/~anna/":       "~anna",
	} {
		if got, err := crash.ParseAssignee(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"anna bob", "~", "~Anna Bob", "~a/b", "a\x00b", strings.Repeat("a", 65),
		"~" + strings.Repeat("a", 81)} {
		if got, err := crash.ParseAssignee(text); !errors.Is(err, crash.Invalid) {
			t.Errorf("%q: got %q, %v, want an error", text, got, err)
		}
	}
}

func TestAssigneeOfBug(t *testing.T) {
	t.Parallel()
	task := func(target, assignee string, complete bool) crash.BugTask {
		return crash.BugTask{Target: target, Assignee: assignee, Complete: complete}
	}
	bug := func(tasks ...crash.BugTask) crash.Bug {
		return crash.Bug{Number: 7, State: crash.BugState{BugReading: crash.BugReading{Number: 7, Tasks: tasks}}}
	}
	private := bug(task("/ubuntu/+source/zsh", "anna", false))
	private.State.Private = true
	duplicate := bug(task("/ubuntu/+source/zsh", "anna", false))
	duplicate.State.DuplicateOf = 8
	duplicate.Master = &crash.BugState{BugReading: crash.BugReading{Number: 8,
		Tasks: []crash.BugTask{task("/ubuntu/+source/zsh", "bob", false)}}}
	for name, tt := range map[string]struct {
		bug  crash.Bug
		want string
	}{
		"no bug": {crash.Bug{}, ""},
		"nobody": {bug(task("/ubuntu/+source/zsh", "", false)), ""},
		"one":    {bug(task("/ubuntu/+source/zsh", "anna", false)), "~anna"},
		"its package": {bug(task("/ubuntu/+source/bash", "bob", false), task("/ubuntu/+source/zsh", "anna", false)),
			"~anna"},
		"open first": {bug(task("/ubuntu/noble/+source/zsh", "bob", true), task("/ubuntu/+source/zsh", "anna", false)),
			"~anna"},
		"complete":     {bug(task("/ubuntu/+source/zsh", "anna", true)), "~anna"},
		"elsewhere":    {bug(task("/ubuntu/+source/zsh", "", false), task("/zsh", "upstream", false)), "~upstream"},
		"private":      {private, ""},
		"of duplicate": {duplicate, "~bob"},
	} {
		if got := tt.bug.AssigneeOf("zsh"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestParseTag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{" SRU ": "sru", "24.04": "24.04", "c++": "c++", "a-b": "a-b"} {
		if got, err := crash.ParseTag(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "two words", "-a", "a,b", "ä", "a:b", strings.Repeat("a", 41)} {
		if got, err := crash.ParseTag(text); !errors.Is(err, crash.Invalid) {
			t.Errorf("%q: got %q, %v, want an error", text, got, err)
		}
	}
}
