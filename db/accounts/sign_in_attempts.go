package accounts

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// An attempt is counted against one key. Keys of one sign-in are locked in the order of attempts, so that no two wait for
// each other.
type attempt struct {
	key   string
	limit limit
}

// A limit says how failed attempts slow down further ones: the first few not at all, then by 1, 2, 4… seconds up to a
// longest wait. With a pace it is a queue instead: one attempt each pace, of which the first few may come at once. A queue
// bounds how many attempts there are in a day, also when they never rest.
type limit struct {
	free   int
	most   time.Duration
	pace   time.Duration
	forget bool // success clears the count; else it takes back this attempt only
}

// Nobody can keep somebody else from signing in by guessing, and guessing is slow for everybody:
//
//   - An account is guessed from one address, or one IPv6 site, about 12 times an hour. Others at that address are in the
//     way of it, nobody else is.
//   - All accounts together are guessed from one address, or one IPv6 site, about 60 times an hour.
//   - An account is guessed from all addresses together 120 times an hour. That takes more than ten addresses, and then
//     slows down those who come with a browser that has never signed in to this account.
//   - A browser that has signed in to this account before is counted by itself, whatever happens at its address. So a
//     person at their own browser cannot be kept out, and who steals its cookie gains few guesses.
var (
	limitBrowser     = limit{free: 5, most: 5 * time.Minute, forget: true}
	limitAddress     = limit{free: 20, most: time.Minute}
	limitSite        = limit{free: 60, most: time.Minute}
	limitNameAddress = limit{free: 5, most: 5 * time.Minute, forget: true}
	limitNameSite    = limit{free: 20, most: 5 * time.Minute}
	limitName        = limit{free: 100, pace: 30 * time.Second}
)

// forgetFailuresAfter is how long after the last failure counting begins anew. It is longer than any wait.
const forgetFailuresAfter = 15 * time.Minute

// attempts are what an attempt counts against: the id of a known browser, or without one the address and the name.
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

// networks are what stands for one client, and for IPv6 for one site. An IPv6 client chooses the second half of its
// address; its site has up to 65,536 such networks.
func networks(address netip.Addr) (client, site string) {
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String(), ""
	}
	return netip.PrefixFrom(address, 64).Masked().String(), netip.PrefixFrom(address, 48).Masked().String()
}

// after returns what is stored after one more attempt at now, or how long it has to wait. A queue stores in last when it
// will be empty.
func (l limit) after(failures int, last, now time.Time) (int, time.Time, time.Duration) {
	if l.pace > 0 {
		empty := last
		if empty.Before(now) {
			empty = now
		}
		if wait := empty.Add(l.pace).Sub(now) - time.Duration(l.free)*l.pace; wait > 0 {
			return 0, last, wait
		}
		return 0, empty.Add(l.pace), 0
	}
	if now.Sub(last) > forgetFailuresAfter {
		failures = 0
	}
	if wait := last.Add(l.delay(failures)).Sub(now); wait > 0 {
		return failures, last, wait
	}
	return failures + 1, now, 0
}

// delay is how long after the last failure the next attempt is looked at.
func (l limit) delay(failures int) time.Duration {
	over := failures - l.free
	if over <= 0 {
		return 0
	}
	if over > 30 {
		return l.most
	}
	return min(l.most, time.Second<<(over-1))
}

const sqlLockFailures = `
	insert into sign_in_failures (key, failures, last) values (@key, 0, @now)
	on conflict (key) do update set key = excluded.key
	returning failures, last`

const sqlCountFailure = `update sign_in_failures set failures = @failures, last = @last where key = @key`

// countAttempt counts an attempt as failed until it succeeds. It returns TooMany when one of the keys has to wait; then none
// is counted, so that impatience costs nothing.
func (a *Store) countAttempt(ctx context.Context, all []attempt) error {
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
		if longest > 0 {
			return errTooManyFailures(longest) // rolls back
		}
		return nil
	})
}

func errTooManyFailures(wait time.Duration) error {
	seconds := int(math.Ceil(wait.Seconds()))
	e := crash.Errorf(crash.TooMany, "slow_down",
		"There were several failed attempts. Please wait %d %s, then try again; a right password works then.",
		seconds, crash.Plural(int64(seconds), "second", "seconds"))
	e.RetryAfter = time.Duration(seconds) * time.Second
	return e
}

const (
	sqlForgetFailures = `delete from sign_in_failures where key = @key`
	sqlTakeBackOne    = `
		update sign_in_failures set failures = greatest(failures - 1, 0), last = last - @pace::interval where key = @key`
)

// takeBack clears what failures of this browser, or of this name at this address, have cost. Everything else only loses this
// attempt: else a guesser with an account of their own could go on for ever.
func takeBack(ctx context.Context, tx pgx.Tx, all []attempt) error {
	for _, t := range all {
		sql, args := sqlTakeBackOne, pgx.NamedArgs{"key": t.key, "pace": t.limit.pace}
		if t.limit.forget {
			sql, args = sqlForgetFailures, pgx.NamedArgs{"key": t.key}
		}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("clear sign-in failures: %w", err)
		}
	}
	return nil
}
