package accounts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
	"mishap/db/dbtest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	accounts := accounts.New(dbtest.New(t))
	ada, err := accounts.Add(t.Context(), "", "ada", crash.RoleTriager, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := accounts.Add(t.Context(), "", "bob", crash.RoleViewer, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().AddDate(0, 0, 1)
	token, kept, err := accounts.AddToken(t.Context(), ada, " phasing ", []crash.Scope{crash.ScopeRead}, tomorrow)
	if err != nil || !strings.HasPrefix(token, kept.Hint) || len(token) < 40 || kept.Name != "phasing" {
		t.Fatalf("AddToken: got %q, %+v, %v", token, kept, err)
	}
	u, used, err := accounts.ByToken(t.Context(), token)
	if err != nil || u.Name != "ada" || !used.Allows(crash.ScopeRead) || used.Allows(crash.ScopeFile) {
		t.Errorf("ByToken: got %+v, %+v, %v, want ada's, for reading", u, used, err)
	}
	list, err := accounts.Tokens(t.Context(), ada)
	if err != nil || len(list) != 1 || list[0].LastUsed.IsZero() {
		t.Fatalf("Tokens: got %+v, %v, want one that was used", list, err)
	}
	if strings.Contains(cmp.Diff(list, nil), token) {
		t.Error("the token can be read again")
	}
	if err := accounts.RevokeToken(t.Context(), bob, kept.ID); crash.KindOf(err) != crash.NotFound {
		t.Errorf("bob revokes ada's: got %v, want not found", err)
	}
	if err := accounts.RevokeToken(t.Context(), ada, kept.ID); err != nil {
		t.Error(err)
	}
	if _, _, err := accounts.ByToken(t.Context(), token); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("revoked: got %v, want unauthenticated", err)
	}
	if list, err := accounts.Tokens(t.Context(), ada); err != nil || len(list) != 0 {
		t.Errorf("after revoking: got %v, %v, want none", list, err)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Log: dbtest.Log(t),
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	accounts := accounts.New(store)
	ada, err := accounts.Add(t.Context(), "", "ada", crash.RoleTriager, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	both := []crash.Scope{crash.ScopeRead, crash.ScopeFile}
	token, _, err := accounts.AddToken(t.Context(), ada, "x", both, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if _, _, err := accounts.ByToken(t.Context(), token); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("expired: got %v, want unauthenticated", err)
	}
	if token, _, err = accounts.AddToken(t.Context(), ada, "y", both, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := accounts.Disable(t.Context(), "", "ada"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := accounts.ByToken(t.Context(), token); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("disabled: got %v, want unauthenticated", err)
	}
	for name, try := range map[string]func() error{
		"no name": func() error {
			_, _, err := accounts.AddToken(t.Context(), ada, " ", both, now.Add(time.Hour))
			return err
		},
		"no scope": func() error {
			_, _, err := accounts.AddToken(t.Context(), ada, "z", nil, now.Add(time.Hour))
			return err
		},
		"past": func() error { _, _, err := accounts.AddToken(t.Context(), ada, "z", both, now); return err },
		"very long": func() error {
			_, _, err := accounts.AddToken(t.Context(), ada, "z", both, now.AddDate(9, 0, 0))
			return err
		},
	} {
		if err := try(); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	for _, text := range []string{"", "mishap_", "mishap_nobody", "Bearer x", strings.Repeat("mishap_", 50)} {
		if _, _, err := accounts.ByToken(t.Context(), text); crash.KindOf(err) != crash.Unauthenticated {
			t.Errorf("%q: got %v, want unauthenticated", text, err)
		}
	}
}
