package people_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

const goodPassword = "correct horse battery"

func TestAddUser(t *testing.T) {
	t.Parallel()
	a := people.New(dbtest.New(t))
	ada := dbtest.Must(a.Add(t.Context(), "", "Ada", crash.RoleTriager, goodPassword))(t)
	got, err := a.ByName(t.Context(), "aDA")
	if err != nil || !cmp.Equal(got, ada) {
		t.Errorf("by name: got %+v, %v, want %+v", got, err, ada)
	}
	if got, err = a.ByID(t.Context(), ada.ID); err != nil || !cmp.Equal(got, ada) {
		t.Errorf("by id: got %+v, %v, want %+v", got, err, ada)
	}
	dbtest.Must(a.Add(t.Context(), "Ada", "bob", crash.RoleViewer, goodPassword))(t)
	users, err := a.Accounts(t.Context())
	if err != nil || len(users) != 2 || users[0].Name != "Ada" || users[1].Name != "bob" {
		t.Errorf("list: got %+v, %v, want Ada and bob", users, err)
	}
}

func TestAddUserRefused(t *testing.T) {
	t.Parallel()
	a := people.New(dbtest.New(t))
	dbtest.Must(a.Add(t.Context(), "", "ada", crash.RoleViewer, goodPassword))(t)
	for _, tt := range []struct {
		name     string
		role     crash.Role
		password string
		kind     crash.Kind
		code     string
	}{
		{"ADA", crash.RoleViewer, goodPassword, crash.Conflict, "user_exists"},
		{"", crash.RoleViewer, goodPassword, crash.Invalid, "bad_user_name"},
		{"a b", crash.RoleViewer, goodPassword, crash.Invalid, "bad_user_name"},
		{"<b>", crash.RoleViewer, goodPassword, crash.Invalid, "bad_user_name"},
		{"bob\n", crash.RoleViewer, goodPassword, crash.Invalid, "bad_user_name"},
		{strings.Repeat("x", 65), crash.RoleViewer, goodPassword, crash.Invalid, "bad_user_name"},
		{"bob", "root", goodPassword, crash.Invalid, "unknown_role"},
		{"bob", "", goodPassword, crash.Invalid, "unknown_role"},
		{"bob", crash.RoleViewer, "seven77", crash.Invalid, "short_password"},
		{"bob", crash.RoleViewer, "ünï", crash.Invalid, "short_password"},
		{"bob", crash.RoleViewer, strings.Repeat("x", 1025), crash.Invalid, "long_password"},
		{"bob", crash.RoleViewer, "two\nlines of it", crash.Invalid, "unusable_password"},
		{"bobbobbob", crash.RoleViewer, "BOBbobbob", crash.Invalid, "password_is_name"},
	} {
		_, err := a.Add(t.Context(), "", tt.name, tt.role, tt.password)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Kind != tt.kind || e.Code != tt.code {
			t.Errorf("add %q, %q: got %v, want %v %s", tt.name, tt.role, err, tt.kind, tt.code)
		}
	}
	if _, err := a.ByName(t.Context(), "nobody"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("unknown name: got %v, want not found", err)
	}
	if err := a.Disable(t.Context(), "", "nobody"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("disable an unknown name: got %v, want not found", err)
	}
	if err := a.SetPassword(t.Context(), "", "nobody", goodPassword); crash.KindOf(err) != crash.NotFound {
		t.Errorf("password of an unknown name: got %v, want not found", err)
	}
	if err := a.SetPassword(t.Context(), "", "ada", "short"); crash.KindOf(err) != crash.Invalid {
		t.Errorf("short password: got %v, want invalid", err)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := people.New(storeAt(t, dbtest.URL(t), func() time.Time { return now }))
	ada := dbtest.Must(a.Add(t.Context(), "", "ada", crash.RoleAdmin, goodPassword))(t)
	in := people.SignIn{Name: "Ada", Password: goodPassword, Address: netip.MustParseAddr("192.0.2.1")}
	got, err := a.SignIn(t.Context(), in)
	ada.LastLogin = now
	if err != nil || !cmp.Equal(got.User, ada) {
		t.Errorf("sign in: got %+v, %v, want %+v", got, err, ada)
	}
	for _, wrong := range []people.SignIn{
		{Name: "ada", Password: goodPassword + " "},
		{Name: "ada", Password: ""},
		{Name: "ada", Password: goodPassword + strings.Repeat("x", 2000)},
		{Name: "nobody", Password: goodPassword},
		{Name: "", Password: ""},
		{Name: "nul\x00\xff", Password: "\x00"},
	} {
		if _, err := a.SignIn(t.Context(), wrong); crash.KindOf(err) != crash.Unauthenticated {
			t.Errorf("sign in as %q: got %v, want unauthenticated", wrong.Name, err)
		}
	}
	checktest.NoError(t, a.SetPassword(t.Context(), "", "ADA", "another password"))
	if _, err := a.SignIn(t.Context(), in); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("old password: got %v, want unauthenticated", err)
	}
	in.Password = "another password"
	if _, err := a.SignIn(t.Context(), in); err != nil {
		t.Errorf("new password: %v", err)
	}
	checktest.NoError(t, a.Disable(t.Context(), "", "ada"))
	if _, err := a.SignIn(t.Context(), in); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("disabled: got %v, want unauthenticated", err)
	}
}

func TestHashingIsGivenUp(t *testing.T) {
	t.Parallel()
	a := people.New(dbtest.New(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Add(ctx, "", "ada", crash.RoleViewer, goodPassword); err == nil {
		t.Error("got no error, want one: nobody waits for the answer")
	}
}

// storeAt opens a store with another clock.
func storeAt(t *testing.T, url string, now func() time.Time) *db.Store {
	t.Helper()
	s := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, MaxConns: 8, Log: dbtest.Log(t), Now: now}))(t)
	t.Cleanup(s.Close)
	return s
}

// TestHashCost checks the cost of hashes that the program stores, and that a sign-in with an unknown name
// takes as long as one with a known name.
func TestHashCost(t *testing.T) {
	t.Parallel()
	const leastMemory, leastIterations = 19 << 10, 2 // kB; OWASP's password storage cheat sheet
	if got := people.RealHash; got.Memory < leastMemory || got.Iterations < leastIterations {
		t.Errorf("got %+v, want at least %d kB and %d passes", got, leastMemory, leastIterations)
	}
	hash := dbtest.Must(argon2id.CreateHash(goodPassword, &people.RealHash))(t)
	stored, _, _, err := argon2id.DecodeHash(hash)
	if err != nil {
		t.Fatal(err)
	}
	absent, _, _, err := argon2id.DecodeHash(people.AbsentHash)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, absent); diff != "" {
		t.Errorf("parameters of the hash for unknown names (-want +got):\n%s", diff)
	}
}
