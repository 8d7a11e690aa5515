package people_test

import (
	"encoding/base32"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// TestVectors checks the vectors of RFC 6238, appendix B (SHA-1), of which apps show the last six digits.
func TestVectors(t *testing.T) {
	t.Parallel()
	secret := crash.Secret(base32.StdEncoding.EncodeToString([]byte("12345678901234567890")))
	for at, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		for _, late := range []int64{-30, 0, 30} {
			if step, err := people.MatchingStep(secret, code, time.Unix(at+late, 0)); err != nil || step != at/30 {
				t.Errorf("%s at %d: got %d, %v, want step %d", code, at+late, step, err, at/30)
			}
		}
		for _, late := range []int64{-90, 90} {
			if _, err := people.MatchingStep(secret, code,
				time.Unix(at+late, 0)); crash.KindOf(err) != crash.Unauthenticated {
				t.Errorf("%s at %d: got %v, want a wrong code", code, at+late, err)
			}
		}
	}
}

const password = "correct horse battery"

// bench is an account with an app, and two instances.
type bench struct {
	*testing.T
	one, two *people.Store
	accounts *people.Store
	user     crash.User
	secret   crash.Secret
	recovery []string
	mu       sync.Mutex
	now      time.Time
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) wait(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// code returns the code that the app shows.
func (b *bench) code() string {
	b.Helper()
	code, err := totp.GenerateCode(string(b.secret), b.clock())
	if err != nil {
		b.Fatal(err)
	}
	return code
}

func (b *bench) signIn() people.SignedIn {
	b.Helper()
	in, err := b.accounts.SignIn(b.Context(), people.SignIn{Name: "ada", Password: password})
	if err != nil {
		b.Fatal(err)
	}
	return in
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, now: time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)}
	url := dbtest.URL(t)
	open := func() (*people.Store, *people.Store) {
		store := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t), Now: b.clock}))(t)
		t.Cleanup(store.Close)
		a := people.New(store)
		return people.New(store), a
	}
	b.one, b.accounts = open()
	b.two, _ = open()
	var err error
	if b.user, err = b.accounts.Add(t.Context(), "", "ada", crash.RoleTriager, password); err != nil {
		t.Fatal(err)
	}
	if b.signIn().NeedsCode {
		t.Fatal("got a second step without an app")
	}
	if err := b.one.BeginSecondFactor(t.Context(), people.SignIn{Name: "ada", Password: "wrong"}); crash.KindOf(
		err) != crash.Unauthenticated {
		t.Fatalf("wrong password: got %v", err)
	}
	checktest.NoError(t, b.one.BeginSecondFactor(t.Context(), people.SignIn{Name: "ada", Password: password}))
	f, err := b.two.SecondFactor(t.Context(), b.user.ID)
	if err != nil || f.On() || f.Secret == "" || !f.HasPassword {
		t.Fatalf("begun: got %+v, %v", f, err)
	}
	b.secret = f.Secret
	if b.signIn().NeedsCode {
		t.Fatal("got a second step before the app is confirmed")
	}
	if _, err := b.one.ConfirmSecondFactor(t.Context(), b.user, "12345"); crash.KindOf(err) != crash.Unauthenticated {
		t.Fatalf("wrong first code: got %v", err)
	}
	if b.recovery, err = b.two.ConfirmSecondFactor(t.Context(), b.user, b.code()); err != nil || len(b.recovery) != 10 {
		t.Fatalf("confirm: got %v, %v", b.recovery, err)
	}
	f, err = b.one.SecondFactor(t.Context(), b.user.ID)
	if err != nil || !f.On() || f.Secret != "" || f.RecoveryCodes != 10 {
		t.Fatalf("confirmed: got %+v, %v", f, err)
	}
	return b
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestSecondStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.signIn()
	if !in.NeedsCode {
		t.Fatal("got no second step")
	}
	first := b.code()
	if code := codeOf(b.one.SignInWithCode(t.Context(), b.user.ID, in.Proof, first)); code != "used_code" {
		t.Errorf("the code that confirmed: got %q, want used_code", code)
	}
	b.wait(30 * time.Second)
	if err := b.one.SignInWithCode(t.Context(), b.user.ID, in.Proof, b.code()[:3]+" "+b.code()[3:]); err != nil {
		t.Errorf("next code: got %v", err)
	}
	if code := codeOf(b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, b.code())); code != "used_code" {
		t.Errorf("the same code elsewhere: got %q, want used_code", code)
	}
	if code := codeOf(b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, first)); code != "used_code" {
		t.Errorf("an older code: got %q, want used_code", code)
	}
	recovery := strings.ToUpper(b.recovery[3])
	if err := b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, recovery); err != nil {
		t.Errorf("recovery code: got %v", err)
	}
	if code := codeOf(b.one.SignInWithCode(t.Context(), b.user.ID, in.Proof, recovery)); code != "wrong_code" {
		t.Errorf("recovery code again: got %q, want wrong_code", code)
	}
	if f, err := b.one.SecondFactor(t.Context(), b.user.ID); err != nil || f.RecoveryCodes != 9 {
		t.Errorf("got %+v, %v, want 9 recovery codes", f, err)
	}
}

// TestConcurrentCodes checks that one code signs in once, however many instances try it together.
func TestConcurrentCodes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.signIn()
	b.wait(30 * time.Second)
	code, results := b.code(), make(chan error, 4)
	for i := range cap(results) {
		go func() {
			results <- []*people.Store{b.one, b.two}[i%2].SignInWithCode(t.Context(), b.user.ID, in.Proof, code)
		}()
	}
	signedIn := 0
	for range cap(results) {
		if <-results == nil {
			signedIn++
		}
	}
	if signedIn != 1 {
		t.Errorf("got %d sign-ins by one code, want 1", signedIn)
	}
}

func TestWrongCodes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.signIn()
	b.wait(time.Hour)
	for range 5 {
		if code := codeOf(b.one.SignInWithCode(t.Context(), b.user.ID, in.Proof, "no-such-code")); code != "wrong_code" {
			t.Fatalf("got %q, want wrong_code", code)
		}
	}
	b.signIn() // must not clear the count of wrong codes
	if err := b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, b.code()); crash.KindOf(err) != crash.TooMany {
		t.Errorf("after five: got %v, want too many", err)
	}
	b.wait(5 * time.Minute)
	if err := b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, b.code()); err != nil {
		t.Errorf("later: got %v", err)
	}
}

// TestChangesDuringSecondStep checks that a new password ends a second step and all sessions, and that
// regenerating, switching off and resetting work.
func TestChangesDuringSecondStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.signIn()
	b.wait(30 * time.Second)
	checktest.NoError(t, b.accounts.SetPassword(t.Context(), "", "ada", password+"!"))
	if code := codeOf(b.one.SignInWithCode(t.Context(), b.user.ID, old.Proof, b.code())); code != crash.CodeSignInAgain {
		t.Errorf("after a new password: got %q, want %s", code, crash.CodeSignInAgain)
	}
	now := people.SignIn{Name: "ada", Password: password + "!"}
	codes, err := b.one.NewRecoveryCodes(t.Context(), now)
	if err != nil || len(codes) != 10 || codes[0] == b.recovery[0] {
		t.Errorf("new recovery codes: got %v, %v", codes, err)
	}
	in := dbtest.Must(b.accounts.SignIn(t.Context(), now))(t)
	if code := codeOf(b.one.SignInWithCode(t.Context(), b.user.ID, in.Proof, b.recovery[0])); code != "wrong_code" {
		t.Errorf("replaced recovery code: got %q, want wrong_code", code)
	}
	if err := b.one.SwitchOffSecondFactor(t.Context(), people.SignIn{Name: "ada", Password: "x"}); crash.KindOf(
		err) != crash.Unauthenticated {
		t.Errorf("off with a wrong password: got %v", err)
	}
	if all, err := b.two.SecondFactors(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("got %v, %v, want one app", all, err)
	}
	if err := b.one.SwitchOffSecondFactor(t.Context(), now); err != nil {
		t.Error(err)
	}
	if code := codeOf(b.two.SignInWithCode(t.Context(), b.user.ID, in.Proof, codes[0])); code != crash.CodeSignInAgain {
		t.Errorf("after switching off: got %q, want %s", code, crash.CodeSignInAgain)
	}
	if err := b.one.ResetSecondFactor(t.Context(), "", "ada"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("reset without an app: got %v, want conflict", err)
	}
	if err := b.one.ResetSecondFactor(t.Context(), "", "eve"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("reset of nobody: got %v, want not found", err)
	}
	checktest.NoError(t, b.one.BeginSecondFactor(t.Context(), now))
	if err := b.one.ResetSecondFactor(t.Context(), "", "ADA"); err != nil {
		t.Error(err)
	}
}
