package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

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
	if err := a.countAttempt(ctx, tries); err != nil {
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
		if err := uncountAttempts(ctx, tx, tries); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlSignedIn, a.withRights(pgx.NamedArgs{"id": account.id, "now": a.store.Now(),
			"partly": account.needsCode}))
		if err != nil {
			return fmt.Errorf("record sign-in: %w", err)
		}
		u, err = pgx.CollectExactlyOneRow(rows, a.scanUser)
		if errors.Is(err, pgx.ErrNoRows) {
			return errWrongPassword
		}
		if err != nil {
			return fmt.Errorf("record sign-in: %w", err)
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
