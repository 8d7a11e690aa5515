package people

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"mishap/crash"
)

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
			"A password needs at least %d characters, since shorter ones are quickly guessed; a few words in a row are good.",
			minPassword)
	case len(password) > maxPassword:
		return crash.Errorf(crash.Invalid, "long_password", "A password can have at most %d bytes.", maxPassword)
	case !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\r\n"):
		return crash.Errorf(crash.Invalid, "unusable_password", "A password must be one line of text.")
	case strings.EqualFold(password, name):
		return crash.Errorf(crash.Invalid, "password_is_name", "The password must not be the name: it is the first thing "+
			"that is tried.")
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
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return h, nil
}

// matches reports whether a password has the stored hash.
func (a *Store) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := a.acquireHashing(ctx); err != nil {
		return false, err
	}
	defer a.releaseHashing()
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return ok, nil
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
