package people_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// signInTest holds a clock, two instances on one database, and the account "ada".
type signInTest struct {
	now        time.Time
	one, other *people.Store
	t          *testing.T
}

func newSignInTest(t *testing.T) *signInTest {
	t.Helper()
	h := &signInTest{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), t: t}
	url, clock := dbtest.URL(t), func() time.Time { return h.now }
	h.one, h.other = people.New(storeAt(t, url, clock)), people.New(storeAt(t, url, clock))
	dbtest.Must(h.one.Add(t.Context(), "", "ada", crash.RoleAdmin, goodPassword))(t)
	return h
}

// guess tries a wrong password. It returns how long the next attempt must wait, or 0 if this one
// was allowed.
func (h *signInTest) guess(in people.SignIn) time.Duration {
	h.t.Helper()
	in.Password = "wrong"
	return h.try(h.one, in)
}

// count works like guess, but does not check the password, which takes long.
func (h *signInTest) count(in people.SignIn) time.Duration {
	h.t.Helper()
	return h.waitOf(people.CountAttempt(h.t.Context(), h.one, in))
}

func (h *signInTest) try(a *people.Store, in people.SignIn) time.Duration {
	h.t.Helper()
	_, err := a.SignIn(h.t.Context(), in)
	return h.waitOf(err)
}

func (h *signInTest) waitOf(err error) time.Duration {
	h.t.Helper()
	if e, ok := errors.AsType[*crash.Error](err); ok && e.Kind == crash.TooMany {
		return e.RetryAfter
	}
	if err != nil && crash.KindOf(err) != crash.Unauthenticated {
		h.t.Fatalf("sign in: %v", err)
	}
	return 0
}

// signIn signs in on the other instance and returns the entries for the browser.
func (h *signInTest) signIn(in people.SignIn) string {
	h.t.Helper()
	in.Name, in.Password = "Ada", goodPassword
	out, err := h.other.SignIn(h.t.Context(), in)
	if err != nil {
		h.t.Fatalf("right password: %v", err)
	}
	return out.Browsers
}

func from(address string) people.SignIn {
	return people.SignIn{Name: "ADA", Address: netip.MustParseAddr(address)}
}

// Guessing from one address delays only people at the same address.
func TestGuessingSlowsDownItsAddress(t *testing.T) {
	t.Parallel()
	h := newSignInTest(t)
	for i := range 5 {
		if wait := h.guess(from("192.0.2.1")); wait != 0 {
			t.Fatalf("failure %d: has to wait %v, want no wait", i+1, wait)
		}
	}
	// These are the delays after the sixth and later failures. An attempt is allowed exactly after the
	// delay, and refused attempts do not extend it.
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		if wait := h.guess(from("192.0.2.1")); wait != 0 {
			t.Fatalf("after a wait: has to wait %v more", wait)
		}
		want := time.Duration(seconds) * time.Second
		for range 3 {
			if wait := h.try(h.other, people.SignIn{Name: "ada", Password: goodPassword,
				Address: netip.MustParseAddr("192.0.2.1")}); wait != want {
				t.Fatalf("right password from there in between: has to wait %v, want %v", wait, want)
			}
		}
		h.signIn(from("192.0.2.2"))
		h.now = h.now.Add(want)
	}
	h.signIn(from("192.0.2.1"))
	for i := range 3 { // a success clears the count of the account, but not that of the address
		if wait := h.guess(from("192.0.2.1")); wait != 0 {
			t.Fatalf("failure %d after success: has to wait %v, want no wait", i+1, wait)
		}
	}
	h.now = h.now.Add(15*time.Minute + time.Second)
	for range 6 {
		if wait := h.guess(from("192.0.2.1")); wait != 0 {
			t.Fatalf("after a quarter of an hour: has to wait %v, want no wait", wait)
		}
	}
}

// After a day of guessing from one place, others can still sign in, and few guesses were possible.
func TestNobodyIsLockedOutFromOnePlace(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(int) netip.Addr{
		"one address": func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
		"one IPv6 network": func(i int) netip.Addr {
			return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:1::%x", i+1))
		},
		"all networks of one IPv6 site": func(i int) netip.Addr {
			return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", i%65536))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSignInTest(t)
			looked := 0
			for i := range 24 * 20 { // one attempt every three minutes
				if h.count(people.SignIn{Name: "ada", Address: address(i)}) == 0 {
					looked++
				}
				h.now = h.now.Add(3 * time.Minute)
				if i%80 == 79 {
					h.signIn(from("198.51.100.7"))
					h.signIn(from("2001:db8:2::1"))
				}
			}
			if looked > 24*12+40 {
				t.Errorf("got %d guesses looked at in a day, want about 12 an hour", looked)
			}
		})
	}
}

// Guessing from many addresses is limited, and delays unknown browsers but not known ones.
func TestGuessingFromEverywhere(t *testing.T) {
	t.Parallel()
	h := newSignInTest(t)
	known := h.signIn(from("198.51.100.7"))
	looked := 0
	const hours = 4
	for i := range hours * 3600 / 5 { // one attempt every five seconds, each from another address
		if h.count(people.SignIn{Name: "ada",
			Address: netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)})}) == 0 {
			looked++
		}
		h.now = h.now.Add(5 * time.Second)
	}
	if want := 100 + hours*120; looked < want-1 || looked > want+1 {
		t.Errorf("got %d guesses looked at in %d hours, want %d", looked, hours, want)
	}
	for h.count(from("203.0.113.8")) == 0 { // until an attempt must wait
	}
	if wait := h.guess(from("203.0.113.9")); wait == 0 || wait > 30*time.Second {
		t.Errorf("a browser that is not known: has to wait %v, want up to 30 seconds", wait)
	}
	in := from("198.51.100.7")
	in.Browsers = known
	if again := h.signIn(in); again == "" {
		t.Error("the browser is not known any more")
	}
	in.Address = netip.MustParseAddr("100.0.0.1") // at any address
	h.signIn(in)
}

func TestKnownBrowsers(t *testing.T) {
	t.Parallel()
	h := newSignInTest(t)
	dbtest.Must(h.one.Add(t.Context(), "", "bob", crash.RoleViewer, goodPassword))(t)
	crowd := func() { // reaches the limits of the name and the address
		for h.guess(from("192.0.2.1")) == 0 {
		}
	}
	known := h.signIn(from("192.0.2.1"))
	crowd()
	in := from("192.0.2.1")
	in.Browsers = known
	h.signIn(in)
	crowd()

	// Anyone with the cookie is counted by it and has a few guesses, from any address.
	for i := range 6 {
		in.Address = netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if wait := h.guess(in); wait != 0 {
			t.Fatalf("guess %d with a known browser: has to wait %v, want no wait", i+1, wait)
		}
	}
	if wait := h.guess(in); wait != time.Second {
		t.Errorf("seventh guess with a known browser: has to wait %v, want 1s", wait)
	}
	h.now = h.now.Add(time.Second)
	in.Address = netip.MustParseAddr("192.0.2.1")
	h.signIn(in)
	crowd()

	slow := func(what, name, browsers string) {
		t.Helper()
		for h.guess(people.SignIn{Name: name, Address: netip.MustParseAddr("192.0.2.1")}) == 0 {
		}
		wait := h.try(h.one, people.SignIn{Name: name, Password: goodPassword, Address: netip.MustParseAddr("192.0.2.1"),
			Browsers: browsers})
		if wait == 0 {
			t.Errorf("%s: was let through, want a wait", what)
		}
	}
	slow("no cookie", "ada", "")
	slow("a changed cookie", "ada", changed(known, len(known)-2))
	slow("nonsense", "ada", "x~y~z.....~~~~")
	slow("a cookie with another id", "ada", changed(known, 0))
	slow("the cookie of ada for an account that does not exist", "nobody", known)
	slow("the cookie of ada for another account", "bob", known)

	// A browser that two people use knows both accounts.
	bob := dbtest.Must(h.one.SignIn(t.Context(), people.SignIn{Name: "bob", Password: goodPassword,
		Address: netip.MustParseAddr("192.0.2.8"), Browsers: known}))(t)
	in.Browsers = bob.Browsers
	h.signIn(in)

	checktest.NoError(t, h.one.SetPassword(t.Context(), "", "ada", goodPassword+" again"))
	slow("a cookie from before the password was changed", "ada", bob.Browsers)
	h.now = h.now.Add(people.KnownBrowserFor)
	slow("a cookie that is a year old", "bob", bob.Browsers)
}

// changed returns a cookie with another letter at i.
func changed(cookie string, i int) string {
	letter := "B"
	if cookie[i] == 'B' {
		letter = "C"
	}
	return cookie[:i] + letter + cookie[i+1:]
}

func TestSignInSlowsDownAddresses(t *testing.T) {
	t.Parallel()
	h := newSignInTest(t)
	name := func(n int, address string) people.SignIn {
		return people.SignIn{Name: fmt.Sprintf("name-%d", n), Address: netip.MustParseAddr(address)}
	}
	for i := range 21 {
		if wait := h.count(name(i, "192.0.2.1")); wait != 0 {
			t.Fatalf("name %d: has to wait %v, want no wait", i, wait)
		}
	}
	if h.guess(name(99, "192.0.2.1")) == 0 {
		t.Error("22nd name from one address: was looked at, want a wait")
	}
	// The refused attempts from that address did not count against the name.
	for range 200 {
		_ = h.guess(name(99, "192.0.2.1"))
	}
	if wait := h.guess(name(99, "192.0.2.9")); wait != 0 {
		t.Errorf("from another address: has to wait %v, want no wait", wait)
	}
	if wait := h.guess(people.SignIn{Name: "name-99"}); wait != 0 {
		t.Errorf("from nowhere: has to wait %v, want no wait", wait)
	}
	for i := range 61 { // each network of a site may have a few
		if wait := h.count(name(i, fmt.Sprintf("2001:db8:1:%x::1", i))); wait != 0 {
			t.Fatalf("network %d of a site: has to wait %v, want no wait", i, wait)
		}
	}
	if h.guess(name(99, "2001:db8:1:ffff::1")) == 0 {
		t.Error("62nd network of a site: was looked at, want a wait")
	}
}

func TestSignInCountsParallelAttempts(t *testing.T) {
	t.Parallel()
	h := newSignInTest(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	kinds := map[crash.Kind]int{}
	for range 30 {
		wg.Go(func() {
			_, err := h.one.SignIn(t.Context(), people.SignIn{Name: "ada", Password: "wrong",
				Address: netip.MustParseAddr("192.0.2.1")})
			mu.Lock()
			defer mu.Unlock()
			kinds[crash.KindOf(err)]++
		})
	}
	wg.Wait()
	if want := (map[crash.Kind]int{crash.Unauthenticated: 6, crash.TooMany: 24}); !cmp.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

var _ scs.CtxStore = (*people.Sessions)(nil)

func TestSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := storeAt(t, dbtest.URL(t), func() time.Time { return now })
	s := people.NewSessions(store)
	find := func(token string) string {
		t.Helper()
		data, found, err := s.FindCtx(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if found != (data != nil) {
			t.Fatalf("find %q: got %q, %v", token, data, found)
		}
		return string(data)
	}
	if got := find("a"); got != "" {
		t.Errorf("unknown: got %q, want nothing", got)
	}
	if got := find(strings.Repeat("x", 5000) + "\x00"); got != "" {
		t.Errorf("made up: got %q, want nothing", got)
	}
	for token, expiry := range map[string]time.Time{"a": now.Add(time.Hour), "b": now.Add(time.Minute)} {
		checktest.NoError(t, s.CommitCtx(t.Context(), token, []byte("first"), expiry))
	}
	checktest.NoError(t, s.CommitCtx(t.Context(), "a", []byte("second"), now.Add(time.Hour)))
	if got := find("a"); got != "second" {
		t.Errorf("got %q, want second", got)
	}
	now = now.Add(time.Minute)
	if got := find("b"); got != "" {
		t.Errorf("ended session: got %q, want nothing", got)
	}
	checktest.NoError(t, people.NewSessions(store).DeleteExpired(t.Context()))
	now = now.Add(-time.Minute)
	if got := find("b"); got != "" {
		t.Errorf("removed session: got %q, want nothing", got)
	}
	if got := find("a"); got != "second" {
		t.Errorf("session that goes on: got %q, want second", got)
	}
	for range 2 {
		checktest.NoError(t, s.DeleteCtx(t.Context(), "a"))
	}
	if got := find("a"); got != "" {
		t.Errorf("deleted session: got %q, want nothing", got)
	}
}

func TestSessionsEndWithTheirAccount(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, s := people.New(store), people.NewSessions(store)
	ada := dbtest.Must(a.Add(t.Context(), "", "ada", crash.RoleViewer, goodPassword))(t)
	end := time.Now().Add(time.Hour)
	encode := func(values map[string]any) []byte {
		t.Helper()
		return dbtest.Must(people.SessionCodec{}.Encode(end, values))(t)
	}
	hers, nobodys := encode(map[string]any{people.SessionUser: strconv.FormatInt(ada.ID, 10), "flash": "x"}), encode(nil)
	for _, change := range []func() error{
		func() error { return a.SetPassword(t.Context(), "", "ada", "another password") },
		func() error { return a.Disable(t.Context(), "", "ada") },
	} {
		for token, data := range map[string][]byte{"1": hers, "2": hers, "3": nobodys} {
			checktest.NoError(t, s.CommitCtx(t.Context(), token, data, end))
		}
		checktest.NoError(t, change())
		got := map[string]bool{}
		for _, token := range []string{"1", "2", "3"} {
			var err error
			_, got[token], err = s.FindCtx(t.Context(), token)
			checktest.NoError(t, err)
		}
		if want := map[string]bool{"1": false, "2": false, "3": true}; !cmp.Equal(got, want) {
			t.Errorf("sessions: got %v, want %v", got, want)
		}
	}
}

func TestSessionCodec(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 1, 0, 0, 0, 5, time.UTC)
	values := map[string]any{"user": "7", "flash": "“é”\x00"}
	b := dbtest.Must(people.SessionCodec{}.Encode(end, values))(t)
	gotEnd, got, err := people.SessionCodec{}.Decode(b)
	if err != nil || !gotEnd.Equal(end) || !cmp.Equal(got, values) {
		t.Errorf("got %v, %v, %v, want %v, %v", gotEnd, got, err, end, values)
	}
	if _, err := (people.SessionCodec{}).Encode(end, map[string]any{"n": 7}); err == nil {
		t.Error("a number was taken, want an error")
	}
	if _, _, err := (people.SessionCodec{}).Decode(bytes.Repeat([]byte("x"), 9)); err == nil {
		t.Error("rubbish was read, want an error")
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	a := people.New(store)
	dbtest.Must(a.Add(t.Context(), "root", "ada", crash.RoleViewer, goodPassword))(t)
	checktest.NoError(t, a.SetPassword(t.Context(), "ada", "ADA", "another password"))
	checktest.NoError(t, a.Disable(t.Context(), "root", "ada"))
	conn := dbtest.Must(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	rows := dbtest.Must(conn.Query(t.Context(),
		`select concat_ws('|', person, action, subject, before::text, after::text) from audit_events order by id`))(t)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{
		`root|user.add|ada|{"role": "viewer"}`, `ada|user.password|ada|{"password": "changed"}`,
		`root|user.disable|ada|{"disabled": false}|{"disabled": true}`,
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
