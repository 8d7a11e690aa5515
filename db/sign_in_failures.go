package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// SignIn is one attempt to sign in.
type SignIn struct {
	Name, Password string
	Address        string // of the client, "192.0.2.1"; empty: not known
}

// A slowdown says how much patience failed sign-ins cost: the first few nothing, then 1, 2, 4… seconds up to a limit that
// stays small enough for a person who is in the way of somebody else's guessing.
type slowdown struct {
	free  int
	limit time.Duration
}

// By name, so that one account is not guessed from many addresses; by address, so that many accounts are not guessed
// from one. A whole office may sit behind one address, hence the larger number there.
var (
	slowByName    = slowdown{free: 5, limit: 30 * time.Second}
	slowByAddress = slowdown{free: 20, limit: time.Minute}
)

// forgetFailuresAfter is how long after the last failure counting begins anew.
const forgetFailuresAfter = 15 * time.Minute

// wait is how long after the last failure the next attempt is looked at.
func (s slowdown) wait(failures int) time.Duration {
	over := failures - s.free
	if over <= 0 {
		return 0
	}
	if over > 30 {
		return s.limit
	}
	return min(s.limit, time.Second<<(over-1))
}

var errWrongPassword = crash.Errorf(crash.Unauthenticated, "wrong_password",
	"This name and password do not belong together. Check both, and whether caps lock is on.")

const sqlPasswordHash = `select id, password_hash, disabled from users where lower(name) = lower(@name)`

// SignIn checks a name and its password. It returns Unauthenticated when they do not belong together or the account is
// disabled, which cannot be told apart by the answer or by its time, and TooMany with RetryAfter when there were too many
// failures for this name or address, on any unit. The attempt is counted before the password is looked at, so that many
// at once gain nothing.
func (a *Accounts) SignIn(ctx context.Context, in SignIn) (crash.User, error) {
	if err := a.countAttempt(ctx, in); err != nil {
		return crash.User{}, err
	}
	var id int64
	hash, disabled := absentHash, true
	err := a.store.pool.QueryRow(ctx, sqlPasswordHash, pgx.NamedArgs{"name": storable(in.Name)}).Scan(&id, &hash, &disabled)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return crash.User{}, fmt.Errorf("sign in: %w", known(err))
	}
	ok, err := a.matches(ctx, cut(in.Password, maxPassword), hash)
	if err != nil {
		return crash.User{}, err
	}
	if !ok || disabled || len(in.Password) > maxPassword {
		return crash.User{}, errWrongPassword
	}
	return a.signedIn(ctx, id, in)
}

const sqlLockFailures = `
	insert into sign_in_failures (key, failures, last) values (@key, 0, @now)
	on conflict (key) do update set key = excluded.key
	returning failures, last`

const sqlCountFailure = `update sign_in_failures set failures = @failures, last = @now where key = @key`

// countAttempt counts an attempt as failed until it succeeds. The address comes first: while it has to wait, its attempts
// do not count against the name.
func (a *Accounts) countAttempt(ctx context.Context, in SignIn) error {
	now := a.store.now()
	return a.store.inTx(ctx, func(tx pgx.Tx) error {
		for _, k := range failureKeys(in) {
			var failures int
			var last time.Time
			if err := tx.QueryRow(ctx, sqlLockFailures, pgx.NamedArgs{"key": k.key, "now": now}).Scan(&failures, &last); err != nil {
				return fmt.Errorf("read sign-in failures: %w", err)
			}
			if now.Sub(last) > forgetFailuresAfter {
				failures = 0
			}
			if wait := last.Add(k.slow.wait(failures)).Sub(now); wait > 0 {
				return errTooManyFailures(wait)
			}
			if _, err := tx.Exec(ctx, sqlCountFailure, pgx.NamedArgs{"key": k.key, "failures": failures + 1, "now": now}); err != nil {
				return fmt.Errorf("count sign-in failure: %w", err)
			}
		}
		return nil
	})
}

func errTooManyFailures(wait time.Duration) error {
	seconds := int(math.Ceil(wait.Seconds()))
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	e := crash.Errorf(crash.TooMany, "slow_down",
		"There were several failed attempts. Please wait %d %s, then try again; a right password works then.", seconds, unit)
	e.RetryAfter = time.Duration(seconds) * time.Second
	return e
}

type failureKey struct {
	key  string
	slow slowdown
}

func failureKeys(in SignIn) []failureKey {
	keys := make([]failureKey, 0, 2)
	if in.Address != "" {
		keys = append(keys, failureKey{"address:" + storable(in.Address), slowByAddress})
	}
	return append(keys, failureKey{"name:" + strings.ToLower(storable(in.Name)), slowByName})
}

const (
	sqlForgetNameFailures = `delete from sign_in_failures where key = @key`
	sqlTakeBackAttempt    = `update sign_in_failures set failures = greatest(failures - 1, 0) where key = @key`
	sqlSignedIn           = `
		update users set last_login = @now where id = @id
		returning id, name, role, disabled, created, last_login, tracker_name`
)

// signedIn clears the name's failures, and takes back this attempt for the address: were the address cleared too, a guesser
// with an account of their own could go on for ever.
func (a *Accounts) signedIn(ctx context.Context, id int64, in SignIn) (crash.User, error) {
	var u crash.User
	err := a.store.inTx(ctx, func(tx pgx.Tx) error {
		for _, k := range failureKeys(in) {
			sql := sqlTakeBackAttempt
			if k.slow == slowByName {
				sql = sqlForgetNameFailures
			}
			if _, err := tx.Exec(ctx, sql, pgx.NamedArgs{"key": k.key}); err != nil {
				return fmt.Errorf("clear sign-in failures: %w", err)
			}
		}
		rows, err := tx.Query(ctx, sqlSignedIn, pgx.NamedArgs{"id": id, "now": a.store.now()})
		if err != nil {
			return fmt.Errorf("record sign-in: %w", err)
		}
		if u, err = pgx.CollectExactlyOneRow(rows, scanUser); err != nil {
			return fmt.Errorf("record sign-in: %w", err)
		}
		return nil
	})
	return u, err
}

// storable makes typed text fit for a key and a query: bounded, valid, without NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(cut(s, 128), "�"), "\x00", "�")
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
