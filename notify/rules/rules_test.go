package rules_test

import (
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/notify/rules"
)

// valid returns a rule that Check accepts.
func valid() rules.Rule {
	return rules.Rule{Name: "New in mesa", Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"mesa"}},
		When: crash.EventNew, Machines: 3, Actions: rules.Actions{Followers: true, Queue: true}}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*rules.Rule){
		"When a problem of mesa is new and at least 3 machines report it, " +
			"notify its followers and queue it for filing.": func(*rules.Rule) {},
		"When a problem of mesa, linux-* and zsh is new, notify its followers and queue it for filing.": func(r *rules.Rule) {
			r.Machines, r.Scope.Names = 1, []string{"mesa", "linux-*", "zsh"}
		},
		"When a problem is rising and at least 1,000 machines report it, file a bug (at most 5 per " +
			"hour).": func(r *rules.Rule) {
			r.When, r.Machines, r.Scope = crash.EventRising, 1000, rules.Scope{Kind: rules.Everything}
			r.Actions = rules.Actions{File: true, HourlyLimit: 5}
		},
		"When a problem of the package sets core and desktop has not been seen for 1 week and at least 3 machines " +
			"have reported it, mute it until it is seen in a newer version or until it regresses.": func(r *rules.Rule) {
			r.When, r.Weeks, r.Scope = crash.EventQuiet, 1, rules.Scope{Kind: rules.OfSet, Names: []string{"core", "desktop"}}
			r.Actions = rules.Actions{Mute: &rules.Mute{Newer: true, Regression: true}}
		},
		"When a problem of a package of desktop-bugs gets its function names, notify administrators, 2 people and " +
			"1 program, assign it to ada and tag it “named”.": func(r *rules.Rule) {
			r.When, r.Machines, r.Scope = crash.EventSymbolised, 1,
				rules.Scope{Kind: rules.OfTeam, Names: []string{"desktop-bugs"}}
			r.Actions = rules.Actions{Administrators: true, Users: []int64{1, 2}, Endpoints: []int64{7}, Assign: "ada",
				Tag: "named"}
		},
		"When a problem of mesa is new and at least 3 machines report it and it is concentrated on graphics driver " +
			"nvidia-*, notify its followers.": func(r *rules.Rule) {
			r.Scope, r.Machines, r.Actions = rules.Scope{Kind: rules.OfPackage, Names: []string{"mesa"}}, 3,
				rules.Actions{Followers: true}
			r.If.Concentrated = rules.Concentrated{Field: stats.FacetGraphics, Value: "nvidia-*"}
		},
		"When a problem gets its function names, merge it with its twins.": func(r *rules.Rule) {
			r.When, r.Machines, r.Scope = crash.EventSymbolised, 1, rules.Scope{Kind: rules.Everything}
			r.Actions = rules.Actions{Merge: true}
		},
		"When the tracker does not accept mishap's credentials, notify administrators.": func(r *rules.Rule) {
			r.When, r.Scope = crash.EventTracker, rules.Scope{Kind: rules.Everything}
			r.Actions = rules.Actions{Administrators: true}
		},
	} {
		r := valid()
		change(&r)
		if got := r.Sentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if wrong := r.Check(); len(wrong) > 0 {
			t.Errorf("%s: %v", want, wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field  string
		change func(*rules.Rule)
	}{
		"no name":       {"name", func(r *rules.Rule) { r.Name = " " }},
		"unknown kind":  {"when", func(r *rules.Rule) { r.When, r.Actions.Queue = crash.EventMany, false }},
		"unknown scope": {"scope", func(r *rules.Rule) { r.Scope.Kind = "moon" }},
		"no package":    {"names", func(r *rules.Rule) { r.Scope.Names = nil }},
		"bad pattern":   {"names", func(r *rules.Rule) { r.Scope.Names = []string{"a["} }},
		"pattern of a set": {"names",
			func(r *rules.Rule) { r.Scope = rules.Scope{Kind: rules.OfSet, Names: []string{"x*"}} }},
		"no machines":           {"machines", func(r *rules.Rule) { r.Machines = 0 }},
		"no weeks":              {"weeks", func(r *rules.Rule) { r.When, r.Actions.Queue = crash.EventQuiet, false }},
		"no action":             {"actions", func(r *rules.Rule) { r.Actions = rules.Actions{} }},
		"queue and file":        {"actions", func(r *rules.Rule) { r.Actions.File, r.Actions.HourlyLimit = true, 1 }},
		"regressions have bugs": {"actions", func(r *rules.Rule) { r.When = crash.EventRegressed }},
		"no limit":              {"limit", func(r *rules.Rule) { r.Actions = rules.Actions{File: true} }},
		"mute and file":         {"mute", func(r *rules.Rule) { r.Actions.Mute = &rules.Mute{} }},
		"credentials of mesa": {"scope", func(r *rules.Rule) {
			r.When, r.Actions = crash.EventTracker,
				rules.Actions{Administrators: true}
		}},
		"value of any field": {"concentrated",
			func(r *rules.Rule) { r.If.Concentrated = rules.Concentrated{Field: rules.ConcentratedAny, Value: "x"} }},
		"value of no field": {"concentrated",
			func(r *rules.Rule) { r.If.Concentrated = rules.Concentrated{Value: "x"} }},
		"field of no trait": {"concentrated",
			func(r *rules.Rule) { r.If.Concentrated = rules.Concentrated{Field: "ProcMaps"} }},
		"bad pattern of values": {"concentrated",
			func(r *rules.Rule) { r.If.Concentrated = rules.Concentrated{Field: stats.FacetModel, Value: "a["} }},
		"tag with a blank": {"tag", func(r *rules.Rule) { r.Actions.Tag = "a b" }},
	} {
		r := valid()
		c.change(&r)
		if wrong := r.Check(); len(wrong) != 1 || wrong[c.field] == "" {
			t.Errorf("%s: got %v, want only a problem with %s", name, wrong, c.field)
		}
	}
}

func TestWatches(t *testing.T) {
	t.Parallel()
	members := map[string]bool{"mesa": true}
	for _, c := range []struct {
		scope          rules.Scope
		binary, source string
		want           bool
	}{
		{rules.Scope{Kind: rules.Everything}, "", "", true},
		{rules.Scope{Kind: rules.OfPackage, Names: []string{"lib*", "zsh"}}, "libgl1", "mesa", true},
		{rules.Scope{Kind: rules.OfPackage, Names: []string{"mesa"}}, "libgl1", "mesa", true},
		{rules.Scope{Kind: rules.OfPackage, Names: []string{"mes"}}, "libgl1", "mesa", false},
		{rules.Scope{Kind: rules.OfPackage, Names: []string{"*"}}, "", "", false},
		{rules.Scope{Kind: rules.OfSet, Names: []string{"x"}}, "libgl1", "mesa", true},
		{rules.Scope{Kind: rules.OfTeam, Names: []string{"x"}}, "mesa", "other", false},
	} {
		if got := c.scope.Watches(c.binary, c.source, members); got != c.want {
			t.Errorf("%v watches %s of %s: got %v", c.scope, c.binary, c.source, got)
		}
	}
}

func TestStorms(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	series := func(from time.Duration, n int, every time.Duration) []time.Time {
		var list []time.Time
		for i := range n {
			list = append(list, begin.Add(from+time.Duration(i)*every))
		}
		return list
	}
	if got := rules.Storms(series(0, 10, time.Second)); len(got) != 0 {
		t.Errorf("ten problems: got %v", got)
	}
	if got := rules.Storms(series(0, 30, 61*time.Second)); len(got) != 0 {
		t.Errorf("eleven problems in more than ten minutes: got %v", got)
	}
	arrivals := slices.Concat(series(0, 15, 50*time.Second), series(20*time.Minute, 1, 0),
		series(5*time.Hour, 11, time.Minute))
	slices.Reverse(arrivals)
	got := rules.Storms(arrivals)
	if len(got) != 2 || got[0].Problems != 16 || got[1].Problems != 11 ||
		!got[0].From.Equal(begin) || !got[0].Known.Equal(begin.Add(500*time.Second)) ||
		!got[0].Until.Equal(begin.Add(20*time.Minute)) || !got[1].Until.Equal(begin.Add(5*time.Hour+10*time.Minute)) {
		t.Errorf("two storms: got %+v", got)
	}
}
