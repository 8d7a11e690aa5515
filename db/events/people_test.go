package events_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/rules"
)

// TestRulesRefuseStrangers saves rules that name people who do not exist or may not read reports. Such a
// rule can be switched off, but not on again.
func TestRulesRefuseStrangers(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s := events.New(store)
	for _, name := range []string{"reader", "lost", "off"} {
		dbtest.AddUser(t, store, name, crash.RoleViewer, "correct horse battery")
	}
	ids, unknown, err := s.AccountIDs(t.Context(), []string{"reader", "LOST", "off", "stranger"})
	if err != nil || len(ids) != 3 || len(unknown) != 1 || unknown[0] != "stranger" {
		t.Fatalf("got %v, %v, %v, want three accounts", ids, unknown, err)
	}
	rule := func(name string, a rules.Actions) rules.Rule {
		return rules.Rule{Name: name, Scope: rules.Scope{Kind: rules.Everything}, When: crash.EventNew, Machines: 1,
			Enabled: true, Actions: a}
	}
	saved := rule("all three", rules.Actions{Users: ids})
	if saved.ID, err = s.SaveRule(t.Context(), saved, "ada"); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, `update users set role = '' where name = 'lost'`)
	dbtest.Exec(t, url, `delete from account_grants`)
	dbtest.Exec(t, url, `update users set disabled = true where name = 'off'`)
	refused := func(r rules.Rule, names ...string) {
		t.Helper()
		_, err := s.SaveRule(t.Context(), r, "ada")
		if crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want Invalid", r.Name, err)
		}
		for _, name := range names {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v, want the name %s", r.Name, err, name)
			}
		}
	}
	refused(saved, "lost", "off")
	refused(rule("number", rules.Actions{Users: []int64{4711}}), "number 4711")
	refused(rule("assign", rules.Actions{Assign: "stranger"}), "stranger")
	refused(rule("assign again", rules.Actions{Assign: "lost"}), "lost")
	saved.Enabled = false
	if _, err := s.SaveRule(t.Context(), saved, "ada"); err != nil {
		t.Errorf("switching off: %v", err)
	}
	for name, a := range map[string]rules.Actions{"a": {Assign: "Reader"}, "b": {Assign: "~desktop-packages"},
		"c": {Users: ids[:1]}} {
		if _, err := s.SaveRule(t.Context(), rule(name, a), "ada"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
