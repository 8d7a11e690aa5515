package crash_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
)

func TestMuteUntilText(t *testing.T) {
	t.Parallel()
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		until crash.MuteUntil
		want  string
	}{
		{crash.MuteUntil{}, "until somebody unmutes it"},
		{crash.MuteUntil{Date: december}, "until 1 December 2026"},
		{crash.MuteUntil{Date: december, Reports: 50, Days: 7}, "until 1 December 2026 or 50 more reports within 7 days"},
		{crash.MuteUntil{Reports: 1}, "until 1 more report"},
		{crash.MuteUntil{Machines: 1, Days: 1}, "until 1 machine reports it within 1 day"},
		{crash.MuteUntil{Machines: 5}, "until 5 machines report it"},
		{crash.MuteUntil{Version: "1.4-3"}, "until it is seen in 1.4-3 or later"},
		{crash.MuteUntil{Version: "1.4-3", Release: "Ubuntu 24.04", Regression: true},
			"until it is seen in 1.4-3 (Ubuntu 24.04) or later or it regresses"},
		{crash.MuteUntil{Newer: true}, "until it is seen in a newer version"},
	} {
		checktest.Equal(t, fmt.Sprintf("%+v", c.until), c.until.String(), c.want)
	}
}

func TestTriageText(t *testing.T) {
	t.Parallel()
	muted := crash.Mark{Kind: crash.MarkMuted, Person: "anna", Reason: "waits for upstream"}
	wontFix := crash.Mark{Kind: crash.MarkWontFix, Person: "anna"}
	fixed := crash.Mark{Kind: crash.MarkFixed, Person: "anna",
		Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-2"}, {Release: "", Version: "2.0"}}}
	again := crash.ManualFix{FixedIn: crash.FixedIn{Release: "Ubuntu 24.04", Version: "1.4-2"}, By: fixed, Again: 12,
		AgainIn: "Ubuntu 24.04", AgainAt: "1.4-3"}
	for _, c := range []struct{ got, want string }{
		{muted.Text(true), "Muted by anna until somebody unmutes it: waits for upstream"},
		{muted.Text(false), "Muted until somebody unmutes it"},
		{wontFix.Text(true), "Marked won't fix by anna"},
		{fixed.Text(true), "Marked fixed in 1.4-2 (Ubuntu 24.04), 2.0 by anna"},
		{again.Text(true), "Marked fixed in 1.4-2 (Ubuntu 24.04) by anna; seen again in 1.4-3: 12 reports since"},
		{crash.ManualStatus{Muted: &muted, Fixes: []crash.ManualFix{again}}.Text(false),
			"Muted until somebody unmutes it. Marked fixed in 1.4-2 (Ubuntu 24.04); seen again in 1.4-3: 12 reports since."},
	} {
		checktest.Equal(t, "value", c.got, c.want)
	}
}

func TestTriageCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	mute := func(u crash.MuteUntil) crash.Mark { return crash.Mark{Kind: crash.MarkMuted, Until: u} }
	fix := func(f ...crash.FixedIn) crash.Mark { return crash.Mark{Kind: crash.MarkFixed, Fixes: f} }
	for _, c := range []struct {
		name   string
		triage crash.Mark
		code   string // empty: valid
	}{
		{"for ever", mute(crash.MuteUntil{}), ""},
		{"tomorrow", mute(crash.MuteUntil{Date: now.AddDate(0, 0, 1)}), ""},
		{"today", mute(crash.MuteUntil{Date: crash.Midnight(now)}), "past_date"},
		{"in ten years", mute(crash.MuteUntil{Date: now.AddDate(10, 0, 0)}), "late_date"},
		{"reports", mute(crash.MuteUntil{Reports: 50, Days: 7}), ""},
		{"negative", mute(crash.MuteUntil{Reports: -1}), "bad_reports"},
		{"too many reports", mute(crash.MuteUntil{Reports: crash.MaxMuteReports + 1}), "bad_reports"},
		{"too many machines", mute(crash.MuteUntil{Machines: crash.MaxMuteMachines + 1}), "bad_machines"},
		{"only days", mute(crash.MuteUntil{Days: 7}), "only_days"},
		{"too many days", mute(crash.MuteUntil{Reports: 1, Days: 400}), "bad_days"},
		{"version", mute(crash.MuteUntil{Version: "1:2.4-1ubuntu3", Release: "Ubuntu 24.04"}), ""},
		{"no version", mute(crash.MuteUntil{Version: "next one"}), "bad_version"},
		{"only a release", mute(crash.MuteUntil{Release: "Ubuntu 24.04"}), "only_release"},
		{"release with blanks", mute(crash.MuteUntil{Version: "1", Release: " Ubuntu"}), "bad_release"},
		{"won't fix", crash.Mark{Kind: crash.MarkWontFix, Reason: "hardware"}, ""},
		{"long reason", crash.Mark{Kind: crash.MarkWontFix, Reason: strings.Repeat("x", 501)}, "bad_reason"},
		{"fix", fix(crash.FixedIn{Release: "Ubuntu 24.04", Version: "1.4-2"}, crash.FixedIn{Release: "", Version: "2.0"}),
			""},
		{"no fix", fix(), "no_version"},
		{"bad fix", fix(crash.FixedIn{Release: "", Version: "soon"}), "bad_version"},
		{"same release", fix(crash.FixedIn{Release: "", Version: "1"}, crash.FixedIn{Release: "", Version: "2"}),
			"same_release"},
		{"unknown", crash.Mark{Kind: "closed"}, "unknown_triage"},
	} {
		err := c.triage.Check(now)
		var e *crash.Error
		if c.code == "" && err != nil ||
			c.code != "" && (!errors.As(err, &e) || e.Code != c.code || e.Kind != crash.Invalid) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.code)
		}
	}
}

func TestStandingFixes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	all := []crash.Mark{
		{ID: 1, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-2"},
			{Release: "Ubuntu 26.04", Version: "2.0-1"}}},
		{ID: 2, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-4"}}},
		{ID: 3, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Release: "Ubuntu 26.04", Version: "2.0-9"}}, UndoneAt: at},
	}
	var got []string
	for _, f := range crash.StandingFixes(all) {
		got = append(got, f.String())
	}
	if want := "2.0-1 (Ubuntu 26.04), 1.4-4 (Ubuntu 24.04)"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

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
		checktest.Equal(t, text, strings.Join(names, " "), want)
	}
	checktest.Equal(t, "of many", len(crash.Mentions(strings.Repeat("@anna ", 100))), 50)
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
		checktest.Equal(t, name, tt.bug.AssigneeOf("zsh"), tt.want)
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
