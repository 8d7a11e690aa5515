package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// SignIn is one attempt to sign in.
type SignIn struct {
	Name, Password string
	Address        netip.Addr // of the client; zero if unknown
	Browsers       string     // entries from an earlier SignedIn.Browsers; empty for a new browser
}

// SignedIn is the result of a successful sign-in.
type SignedIn struct {
	User     crash.User
	Browsers string // entries that the browser must send with later attempts

	// NeedsCode says that a second factor must confirm the sign-in. Proof is then what changes with the
	// password. It must be stored where nobody can change it.
	NeedsCode bool
	Proof     string
}

var errWrongPassword = crash.Errorf(crash.Unauthenticated, "wrong_password",
	"Wrong name or password. Check both, and whether Caps Lock is on.")

// An account without a password counts as one that does not exist.
const sqlPasswordHash = `
	select id, password_hash, disabled, encode(sha256(convert_to(password_hash, 'UTF8')), 'hex'),
		exists (select from second_factors as f where f.user_id = users.id and f.confirmed is not null)
	from users where lower(name) = lower(@name) and password_hash <> ''`

// SignIn checks a name and a password. It returns Unauthenticated if they do not match or the
// account is disabled; neither the answer nor its time reveals which. It returns TooMany with
// RetryAfter after too many failures on any instance (see attempts). It counts the attempt before
// it checks the password, so that concurrent attempts have no advantage.
func (a *Store) SignIn(ctx context.Context, in SignIn) (SignedIn, error) {
	account, browser, tries, err := a.verify(ctx, in)
	if err != nil {
		return SignedIn{}, err
	}
	u, err := a.signedIn(ctx, account, tries)
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{User: u, Browsers: account.addEntry(in.Browsers, browser, a.store.Now()),
		NeedsCode: account.needsCode, Proof: account.proof}, nil
}

// CheckPassword checks the password of a person who is signed in. It returns the same errors as SignIn.
func (a *Store) CheckPassword(ctx context.Context, in SignIn) error {
	_, _, tries, err := a.verify(ctx, in)
	if crash.KindOf(err) == crash.Unauthenticated {
		return crash.Errorf(crash.Unauthenticated, "wrong_password", "Wrong password. Check whether Caps Lock is on.")
	}
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, func(tx pgx.Tx) error { return uncountAttempts(ctx, tx, tries) })
}

// verify checks a name and a password, and counts the attempt as a failure. An empty password is wrong
// without being an attempt at anything.
func (a *Store) verify(ctx context.Context, in SignIn) (account account, browser string, tries []attempt, err error) {
	if in.Password == "" {
		return account, "", nil, errWrongPassword
	}
	account.hash, account.disabled = absentHash, true
	err = a.store.Pool.QueryRow(ctx, sqlPasswordHash, pgx.NamedArgs{"name": storable(in.Name)}).
		Scan(&account.id, &account.hash, &account.disabled, &account.proof, &account.needsCode)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return account, "", nil, fmt.Errorf("sign in: %w", db.Classify(err))
	}
	browser = account.knownBrowser(in.Browsers, a.store.Now())
	tries = attempts(in, browser)
	if err := a.countAttempt(ctx, tries, tooManyPasswords); err != nil {
		return account, "", nil, err
	}
	ok, err := a.matches(ctx, crash.Truncate(in.Password, maxPassword), account.hash)
	if err != nil {
		return account, "", nil, err
	}
	if !ok || account.disabled || len(in.Password) > maxPassword {
		return account, "", nil, errWrongPassword
	}
	return account, browser, tries, nil
}

const sqlSignedIn = `
	update users as u set last_login = case when @partly::boolean then last_login else @now end
	where u.id = @id returning ` + userColumns

// signedIn records a sign-in, unless it still needs a code, and no longer counts its attempts as failures.
// It returns Unauthenticated if the account was removed meanwhile.
func (a *Store) signedIn(ctx context.Context, account account, tries []attempt) (crash.User, error) {
	var u crash.User
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		err := uncountAttempts(ctx, tx, tries)
		if err != nil {
			return err
		}
		u, err = db.One(ctx, tx, sqlSignedIn, a.withRights(pgx.NamedArgs{"id": account.id, "now": a.store.Now(),
			"partly": account.needsCode}), a.scanUser)
		if err != nil {
			return db.WrapOr(err, errWrongPassword, "record sign-in")
		}
		if account.needsCode { // recorded when the code is right
			return nil
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: u.Name, Action: "user.sign-in", Subject: u.Name,
			Detail: map[string]any{"source": "password"}})
	})
	return u, err
}

// storable makes any text fit for a key and a query: short, valid UTF-8 and without NUL.
func storable(s string) string {
	return db.Storable(crash.Truncate(s, 128))
}

// attempt is one key against which a sign-in attempt is counted. The keys of one sign-in are locked
// in a fixed order, so that two sign-ins cannot deadlock.
type attempt struct {
	key   string
	limit limit
}

// limit defines how failed attempts delay further ones. The first few cause no delay, the next ones
// 1, 2, 4… seconds, up to a maximum. A limit with an interval is a queue instead: it allows one
// attempt per interval, and a few at once. A queue thus limits the attempts per day even if they
// never stop.
type limit struct {
	free     int           // attempts without a delay
	maximum  time.Duration // maximum delay
	interval time.Duration // of a queue; zero for other limits
	clear    bool          // a success clears the count, instead of subtracting only this attempt
}

// The limits slow down guessing, but do not allow an attacker to keep others from signing in:
//
//   - From one address or IPv6 site, an attacker can try one account about 12 times an hour. This
//     can only delay people at the same address.
//   - From one address or IPv6 site, an attacker can try all accounts together about 60 times an
//     hour.
//   - From all addresses together, an account can be tried 120 times an hour. This takes more than
//     ten addresses, and only delays people whose browser has never signed in to this account.
//   - A browser that has signed in to the account before has a count of its own, whatever happens
//     at its address. So no one can lock out people at their own browser, and stealing its cookie
//     allows only a few more guesses.
var (
	limitBrowser     = limit{free: 5, maximum: 5 * time.Minute, clear: true}
	limitAddress     = limit{free: 20, maximum: time.Minute}
	limitSite        = limit{free: 60, maximum: time.Minute}
	limitNameAddress = limit{free: 5, maximum: 5 * time.Minute, clear: true}
	limitNameSite    = limit{free: 20, maximum: 5 * time.Minute}
	limitName        = limit{free: 100, interval: 30 * time.Second}
	// limitCode applies to codes of one account, from wherever they come: 5, then 12 an hour. Only those
	// who have its password can enter any. One of 3 codes in a million is right at any time.
	limitCode = limit{free: 5, interval: 5 * time.Minute, clear: true}
)

// forgetFailuresAfter is how long after the last failure the count starts at zero again. It is
// longer than any delay.
const forgetFailuresAfter = 15 * time.Minute

// attempts returns the keys of a sign-in: the id of a known browser, or otherwise the address and
// the name.
func attempts(in SignIn, browser string) []attempt {
	if browser != "" {
		return []attempt{{"browser:" + browser, limitBrowser}}
	}
	name := "name:" + strings.ToLower(storable(in.Name))
	var all []attempt
	if in.Address.IsValid() {
		address, site := networks(in.Address)
		all = append(all, attempt{"address:" + address, limitAddress}, attempt{"address:" + address + " " + name,
			limitNameAddress})
		if site != "" {
			all = append(all, attempt{"site:" + site, limitSite}, attempt{"site:" + site + " " + name, limitNameSite})
		}
	}
	return append(all, attempt{name, limitName})
}

// networks returns the address or network that identifies a client, and the network that identifies
// an IPv6 site. An IPv6 client chooses the second half of its address freely, and a site has up to
// 65,536 such networks.
func networks(address netip.Addr) (client, site string) {
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String(), ""
	}
	return netip.PrefixFrom(address, 64).Masked().String(), netip.PrefixFrom(address, 48).Masked().String()
}

// after counts one more attempt at now. It returns the values to store, or how long the attempt
// must wait. For a queue, last is the time at which it will be empty.
func (l limit) after(failures int, last, now time.Time) (int, time.Time, time.Duration) {
	if l.interval > 0 {
		empty := last
		if empty.Before(now) {
			empty = now
		}
		if wait := empty.Add(l.interval).Sub(now) - time.Duration(l.free)*l.interval; wait > 0 {
			return 0, last, wait
		}
		return 0, empty.Add(l.interval), 0
	}
	if now.Sub(last) > forgetFailuresAfter {
		failures = 0
	}
	if wait := last.Add(l.delay(failures)).Sub(now); wait > 0 {
		return failures, last, wait
	}
	return failures + 1, now, 0
}

// delay returns how long after the last failure the next attempt is allowed.
func (l limit) delay(failures int) time.Duration {
	over := failures - l.free
	if over <= 0 {
		return 0
	}
	if over > 30 {
		return l.maximum
	}
	return min(l.maximum, time.Second<<(over-1))
}

const sqlLockFailures = `
	insert into sign_in_failures (key, failures, last) values (@key, 0, @now)
	on conflict (key) do update set key = excluded.key
	returning failures, last`

const sqlCountFailure = `update sign_in_failures set failures = @failures, last = @last where key = @key`

// Messages of countAttempt, with the time to wait.
const (
	tooManyPasswords = "Too many failed attempts. Wait %d %s, then try again; the correct password will work then."
	tooManySignIns   = "Too many failed attempts to sign in. Wait %d %s, then begin again."
	tooManyCodes     = "Too many wrong codes. Wait %d %s, then enter a new one."
)

// countAttempt counts an attempt as a failure, until uncountAttempts subtracts it. It returns
// TooMany with a message if one of the keys must wait. It then counts nothing, so that trying too early has
// no cost.
func (a *Store) countAttempt(ctx context.Context, all []attempt, message string) error {
	now := a.store.Now()
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var longest time.Duration
		for _, t := range all {
			var failures int
			var last time.Time
			if err := tx.QueryRow(ctx, sqlLockFailures, pgx.NamedArgs{"key": t.key, "now": now}).Scan(&failures,
				&last); err != nil {
				return fmt.Errorf("read sign-in failures: %w", err)
			}
			failures, last, wait := t.limit.after(failures, last, now)
			longest = max(longest, wait)
			if _, err := tx.Exec(ctx, sqlCountFailure, pgx.NamedArgs{"key": t.key, "failures": failures,
				"last": last}); err != nil {
				return fmt.Errorf("count sign-in failure: %w", err)
			}
		}
		if longest > 0 { // rolls back
			seconds := int64(math.Ceil(longest.Seconds()))
			e := crash.Errorf(crash.TooMany, "slow_down", message, seconds, crash.Plural(seconds, "second", "seconds"))
			e.RetryAfter = time.Duration(seconds) * time.Second
			return e
		}
		return nil
	})
}

const (
	sqlForgetFailures = `delete from sign_in_failures where key = @key`
	sqlUncountOne     = `
		update sign_in_failures set failures = greatest(failures - 1, 0), last = last - @pace::interval where key = @key`
)

// uncountAttempts clears the failures of this browser, or of this name at this address. For the
// other keys it subtracts only this attempt: otherwise attackers could clear their failures by
// signing in to an account of their own.
func uncountAttempts(ctx context.Context, tx pgx.Tx, all []attempt) error {
	for _, t := range all {
		sql, args := sqlUncountOne, pgx.NamedArgs{"key": t.key, "pace": t.limit.interval}
		if t.limit.clear {
			sql, args = sqlForgetFailures, pgx.NamedArgs{"key": t.key}
		}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("clear sign-in failures: %w", err)
		}
	}
	return nil
}

// CountAttempt counts an attempt to sign in at another site from an address, until UncountAttempt
// subtracts it. It returns TooMany after too many failures of any kind at this address.
func (a *Store) CountAttempt(ctx context.Context, address netip.Addr) error {
	return a.countAttempt(ctx, addressAttempts(address), tooManySignIns)
}

// UncountAttempt subtracts a successful attempt.
func (a *Store) UncountAttempt(ctx context.Context, address netip.Addr) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error { return uncountAttempts(ctx, tx, addressAttempts(address)) })
}

// addressAttempts returns the keys of an attempt without a name.
func addressAttempts(address netip.Addr) []attempt {
	if !address.IsValid() {
		return nil
	}
	client, site := networks(address)
	all := []attempt{{"address:" + client, limitAddress}}
	if site != "" {
		all = append(all, attempt{"site:" + site, limitSite})
	}
	return all
}

const (
	// KnownBrowserFor is how long a browser stays known after its last sign-in.
	KnownBrowserFor = 365 * 24 * time.Hour

	maxKnownAccounts = 8 // of one browser; further ones replace the one that signed in longest ago
	browserIDLength  = 26
)

// account holds the fields of an account that signing in needs.
type account struct {
	id       int64
	hash     string // salted hash of the password
	disabled bool

	needsCode bool   // a second factor must confirm sign-ins
	proof     string // hash of hash
}

// A browser stores one entry for each account that has signed in there, newest first, separated by
// ".". An entry consists of an id of the browser, an expiry time, and a signature of both. The key
// of the signature is the stored password hash of the account: all instances have it, and it
// contains 128 random bits. It changes with the password, so a new password makes all browsers
// unknown. An entry does not reveal its account.

// knownBrowser returns the browser's id if one of the entries is valid for this account, and
// otherwise an empty id. No entry is valid for an account that does not exist: the hash that stands
// in for its password is public.
func (a account) knownBrowser(entries string, now time.Time) string {
	if a.id == 0 {
		return ""
	}
	for _, entry := range splitEntries(entries) {
		id, rest, _ := strings.Cut(entry, "~")
		until, _, _ := strings.Cut(rest, "~")
		seconds, err := strconv.ParseInt(until, 36, 64)
		if err == nil && now.Before(time.Unix(seconds, 0)) && hmac.Equal([]byte(entry), []byte(a.entry(id, until))) {
			return id
		}
	}
	return ""
}

// addEntry puts a new entry for this account in front of the entries. id is the id in the account's
// old entry, or empty if there is none.
func (a account) addEntry(entries, id string, now time.Time) string {
	if id == "" {
		id = rand.Text()
	}
	all := []string{a.entry(id, strconv.FormatInt(now.Add(KnownBrowserFor).Unix(), 36))}
	for _, entry := range splitEntries(entries) {
		if old, _, _ := strings.Cut(entry, "~"); old != id && len(all) < maxKnownAccounts {
			all = append(all, entry)
		}
	}
	return strings.Join(all, ".")
}

// entry returns a signed entry.
func (a account) entry(id, until string) string {
	mac := hmac.New(sha256.New, []byte(a.hash))
	_, _ = fmt.Fprintf(mac, "mishap: known browser\n%d\n%s\n%s", a.id, id, until) // a hash never fails
	return id + "~" + until + "~" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// splitEntries splits a text into entries. It omits malformed ones, because a browser can send
// anything.
func splitEntries(entries string) []string {
	var all []string
	for entry := range strings.SplitSeq(crash.Truncate(entries, 4096), ".") {
		id, rest, _ := strings.Cut(entry, "~")
		if len(id) == browserIDLength && len(rest) < 100 && len(all) < maxKnownAccounts {
			all = append(all, entry)
		}
	}
	return all
}

// hashParams sets the cost of one hash: 19 MiB and two passes, about 35 ms on a small machine.
// OWASP's password storage cheat sheet recommends these values for argon2id. Each hash contains its
// parameters, so they can be raised later.
var hashParams = argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// maxHashes is how many passwords are hashed at the same time, so that many sign-ins use at most 80
// MiB.
const maxHashes = 4

// absentHash is compared with the password if the account does not exist, so that the answer takes
// as long as for an existing one. No password with this hash is known.
const absentHash = "$argon2id$v=19$m=19456,t=2,p=1$AkjTHWCZ3M4u1Tcz5Rk/8g$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const (
	minPassword = 8    // characters
	maxPassword = 1024 // bytes; longer ones take longer to hash without being safer
)

// checkPassword returns Invalid, with the reason, if a password is not good enough.
func checkPassword(name, password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return crash.Errorf(crash.Invalid, "short_password",
			"A password needs at least %d characters; a few words in a row are good.",
			minPassword)
	case len(password) > maxPassword:
		return crash.Errorf(crash.Invalid, "long_password", "A password can have at most %d bytes.", maxPassword)
	case !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\r\n"):
		return crash.Errorf(crash.Invalid, "unusable_password", "A password must be one line of text.")
	case strings.EqualFold(password, name):
		return crash.Errorf(crash.Invalid, "password_is_name", "The password must not be the name.")
	}
	return nil
}

// hash returns the hash of a password, for the database.
func (a *Store) hash(ctx context.Context, password string) (string, error) {
	if err := a.acquireHashing(ctx); err != nil {
		return "", err
	}
	defer a.releaseHashing()
	h, err := argon2id.CreateHash(password, &hashParams)
	return h, db.Wrap(err, "hash password")
}

// matches reports whether a password has the stored hash.
func (a *Store) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := a.acquireHashing(ctx); err != nil {
		return false, err
	}
	defer a.releaseHashing()
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	return ok, db.Wrap(err, "compare password")
}

// acquireHashing waits until fewer than maxHashes passwords are being hashed.
func (a *Store) acquireHashing(ctx context.Context) error {
	select {
	case a.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (a *Store) releaseHashing() { <-a.hashing }

// Names of session values that are also columns, so that sessions can be listed and ended.
const (
	SessionUser     = "user"             // id of the signed-in account, in decimal
	SessionIdentity = "identity"         // id of the identity that signed in, in decimal
	SessionProvider = "provider_session" // session at the provider that identified the person
	SessionAddress  = "address"          // address from which the person signed in
	SessionBrowser  = "browser"          // browser with which the person signed in
)

// Sessions stores browser sessions for all instances. It implements the store of the scs session
// manager, which passes hashed tokens. It reads the account from session data written by
// SessionCodec, so that sessions end with their account.
type Sessions struct{ store *db.Store }

// NewSessions returns the sessions in store.
func NewSessions(store *db.Store) *Sessions { return &Sessions{store: store} }

// maxSessionToken is the maximum length of a token in bytes. The session manager makes tokens of 43
// bytes, so longer ones are forged and need no query.
const maxSessionToken = 64

const sqlFindSession = `
	with used as (
		update sessions set used = @now
		where token = @token and expiry > @now and used < @now::timestamptz - interval '5 minutes'
	)
	select data from sessions where token = @token and expiry > @now`

// FindCtx returns the data of a session, and false if it does not exist or has expired.
func (s *Sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	if len(token) > maxSessionToken {
		return nil, false, nil
	}
	var data []byte
	err := s.store.Pool.QueryRow(db.Everything(ctx), sqlFindSession,
		pgx.NamedArgs{"token": token, "now": s.store.Now()}).Scan(&data)
	return data, err == nil, db.WrapOr(err, nil, "find session")
}

const sqlCommitSession = `
	insert into sessions (token, data, expiry, created, used, user_id, identity_id, provider_session, address, browser)
	values (@token, @data, @expiry, @now, @now, @user, @identity, @provider, @address, @browser)
	on conflict (token) do update set data = excluded.data, expiry = excluded.expiry, user_id = excluded.user_id,
		identity_id = excluded.identity_id, provider_session = excluded.provider_session, address = excluded.address,
		browser = excluded.browser`

// CommitCtx stores a session under its token.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	var d sessionData
	_ = json.Unmarshal(data, &d) // the columns of a session that cannot be read stay empty
	_, err := s.store.Pool.Exec(ctx, sqlCommitSession, pgx.NamedArgs{
		"token": token, "data": data, "expiry": expiry, "now": s.store.Now(),
		"user": d.id(SessionUser), "identity": d.id(SessionIdentity), "provider": d.Values[SessionProvider],
		"address": d.Values[SessionAddress], "browser": d.Values[SessionBrowser],
	})
	return db.Wrap(err, "store session")
}

const sqlDeleteSession = `delete from sessions where token = @token`

// DeleteCtx deletes a session. It returns nil if there is none.
func (s *Sessions) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.store.Pool.Exec(ctx, sqlDeleteSession, pgx.NamedArgs{"token": token})
	return db.Wrap(err, "delete session")
}

// errNoContext is returned by the methods without a context. The session manager's interface
// requires them, but the manager never calls them if there are methods with a context.
var errNoContext = errors.New("sessions are stored in a database: use the method with a context")

// Find always returns an error; use FindCtx.
func (*Sessions) Find(string) ([]byte, bool, error) { return nil, false, errNoContext }

// Commit always returns an error; use CommitCtx.
func (*Sessions) Commit(string, []byte, time.Time) error { return errNoContext }

// Delete always returns an error; use DeleteCtx.
func (*Sessions) Delete(string) error { return errNoContext }

const (
	sqlDeleteExpiredSessions = `delete from sessions where expiry <= @now`
	sqlDeleteOldFailures     = `delete from sign_in_failures where last < @before`
)

// DeleteExpired deletes expired sessions, sign-in failures that no longer delay anyone, and old
// rows of changes. A periodic job calls it; its interval affects only disk space.
func (s *Sessions) DeleteExpired(ctx context.Context) error {
	now := s.store.Now()
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"now": now, "before": now.Add(-forgetFailuresAfter)}
		if err := db.Exec(ctx, tx, args, sqlDeleteExpiredSessions, sqlDeleteOldFailures); err != nil {
			return fmt.Errorf("delete expired sessions and old sign-in failures: %w", err)
		}
		return s.store.DeleteOldChanges(ctx, tx)
	})
}

// SessionCodec encodes the values of a session as JSON. All values must be strings.
type SessionCodec struct{}

type sessionData struct {
	Deadline time.Time         `json:"deadline"`
	Values   map[string]string `json:"values"`
}

// Encode encodes a session. It returns an error if a value is not a string.
func (SessionCodec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	d := sessionData{Deadline: deadline, Values: make(map[string]string, len(values))}
	for name, value := range values {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("session value %q is a %T, not text", name, value)
		}
		d.Values[name] = text
	}
	return json.Marshal(d)
}

// Decode decodes a session that Encode has encoded.
func (SessionCodec) Decode(data []byte) (time.Time, map[string]any, error) {
	var d sessionData
	if err := json.Unmarshal(data, &d); err != nil {
		return time.Time{}, nil, fmt.Errorf("read session: %w", err)
	}
	values := make(map[string]any, len(d.Values))
	for name, text := range d.Values {
		values[name] = text
	}
	return d.Deadline, values, nil
}

// id returns the value of a session as the id of a row, or nil if it is none.
func (d sessionData) id(name string) *int64 {
	id, err := strconv.ParseInt(d.Values[name], 10, 64)
	if err != nil {
		return nil
	}
	return &id
}

// SessionID returns the id under which the session with this token is stored.
func SessionID(token string) string {
	hash := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

const sqlSessions = `
	select s.token, s.created, s.used, s.address, s.browser, coalesce(i.source, '')
	from sessions as s left join identities as i on i.id = s.identity_id
	where s.user_id = @user and s.expiry > @now order by s.used desc, s.token limit 100`

// SessionsOf returns the sessions of an account, the last used first, at most 100.
func (a *Store) SessionsOf(ctx context.Context, user int64) ([]crash.Session, error) {
	sessions, err := db.List(ctx, a.store.Pool, sqlSessions, pgx.NamedArgs{"user": user, "now": a.store.Now()},
		db.Into(func(s *crash.Session) []any {
			return []any{&s.ID, &s.Created, &s.Used, &s.Address, &s.Browser, &s.Source}
		}))
	return sessions, db.Wrap(err, "sessions")
}

const sqlEndSessions = `
	delete from sessions as s using users as u
	where s.user_id = @user and (s.token = @id) <> @others::boolean and u.id = s.user_id returning u.name, s.address`

// EndSessions ends the session of an account with this id, or all others. It does nothing if there is none.
func (a *Store) EndSessions(ctx context.Context, user int64, id string, others bool) error {
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		var name, address string
		var addresses []string
		args := pgx.NamedArgs{"user": user, "id": id, "others": others}
		err := db.Each(ctx, tx, sqlEndSessions, args, []any{&name, &address}, func() {
			addresses = append(addresses, address)
		})
		if err != nil || len(addresses) == 0 {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "session.end", Subject: name,
			Detail: map[string]any{"addresses": addresses}})
	})
	return db.Wrap(err, "end sessions")
}
