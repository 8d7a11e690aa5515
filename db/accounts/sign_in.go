package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

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
}

var errWrongPassword = crash.Errorf(crash.Unauthenticated, "wrong_password",
	"Wrong name or password. Check both, and whether Caps Lock is on.")

// An account without a password counts as one that does not exist.
const sqlPasswordHash = `
	select id, password_hash, disabled from users where lower(name) = lower(@name) and password_hash <> ''`

// SignIn checks a name and a password. It returns Unauthenticated if they do not match or the
// account is disabled; neither the answer nor its time reveals which. It returns TooMany with
// RetryAfter after too many failures on any instance (see attempts). It counts the attempt before
// it checks the password, so that concurrent attempts have no advantage.
func (a *Store) SignIn(ctx context.Context, in SignIn) (SignedIn, error) {
	account := account{hash: absentHash, disabled: true}
	err := a.store.Pool.QueryRow(ctx, sqlPasswordHash, pgx.NamedArgs{"name": storable(in.Name)}).
		Scan(&account.id, &account.hash, &account.disabled)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return SignedIn{}, fmt.Errorf("sign in: %w", db.Classify(err))
	}
	browser := account.knownBrowser(in.Browsers, a.store.Now())
	tries := attempts(in, browser)
	if err := a.countAttempt(ctx, tries); err != nil {
		return SignedIn{}, err
	}
	ok, err := a.matches(ctx, crash.Truncate(in.Password, maxPassword), account.hash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok || account.disabled || len(in.Password) > maxPassword {
		return SignedIn{}, errWrongPassword
	}
	u, err := a.signedIn(ctx, account.id, tries)
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{User: u, Browsers: account.addEntry(in.Browsers, browser, a.store.Now())}, nil
}

const sqlSignedIn = `
	update users as u set last_login = @now where u.id = @id returning ` + userColumns

// signedIn records a sign-in and no longer counts its attempts as failures. It returns
// Unauthenticated if the account was removed meanwhile.
func (a *Store) signedIn(ctx context.Context, id int64, tries []attempt) (crash.User, error) {
	var u crash.User
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := uncountAttempts(ctx, tx, tries); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlSignedIn, pgx.NamedArgs{"id": id, "now": a.store.Now(),
			"series": a.series()})
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
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: u.Name, Action: "user.sign-in", Subject: u.Name,
			Detail: map[string]any{"source": "password"}})
	})
	return u, err
}

// storable makes any text fit for a key and a query: short, valid UTF-8 and without NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(crash.Truncate(s, 128), "�"), "\x00", "�")
}
