package secondfactor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"mishap/crash"
	"mishap/db"
)

const (
	period         = 30 * time.Second
	secretBytes    = 20 // as RFC 4226 recommends
	recoveryCodes  = 10
	recoveryLength = 16 // characters of 5 random bits
)

var (
	errWrongCode = crash.Errorf(crash.Unauthenticated, "wrong_code",
		"Wrong code. Enter the six digits that the app shows now, and check that the clock of your device is right.")
	errUsedCode = crash.Errorf(crash.Unauthenticated, "used_code",
		"This code has been used. Wait until the app shows the next one, at most 30 seconds.")
	errWrongRecovery = crash.Errorf(crash.Unauthenticated, "wrong_code",
		"Wrong code. It is neither one of the app, which has six digits, nor a recovery code that has not been used.")
)

// newSecret returns a random secret in base32, as apps take it.
func newSecret() crash.Secret {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return crash.Secret(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret))
}

// factor is a row of second_factors.
type factor struct {
	sealed    string
	confirmed bool
	lastStep  int64
	proof     string // see accounts.SignedIn
	disabled  bool
}

const sqlLock = `
	select f.secret, f.confirmed is not null, f.last_step, encode(sha256(convert_to(u.password_hash, 'UTF8')), 'hex'),
		u.disabled
	from second_factors as f join users as u on u.id = f.user_id where f.user_id = @user for update of f`

// lock returns the second factor of an account, and locks it until the end of the transaction. It returns
// Conflict if there is none.
func lock(ctx context.Context, tx pgx.Tx, user int64) (factor, error) {
	var f factor
	err := tx.QueryRow(ctx, sqlLock, pgx.NamedArgs{"user": user}).Scan(&f.sealed, &f.confirmed, &f.lastStep, &f.proof,
		&f.disabled)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, errOff
	}
	if err != nil {
		return f, fmt.Errorf("lock second factor: %w", err)
	}
	return f, nil
}

const sqlFinishSignIn = `update users set last_login = @now where id = @user returning name`

// SignIn completes signing in to an account by a code of the app or a recovery code, each of which works
// once on all instances together. proof is from accounts.SignIn: SignIn returns Unauthenticated with the
// code sign_in_again if the password has changed since, and Unauthenticated with another code if the code
// is wrong. It returns TooMany after too many wrong codes.
func (s *Store) SignIn(ctx context.Context, user int64, proof, code string) error {
	return s.counted(ctx, user, func(tx pgx.Tx) error {
		f, err := lock(ctx, tx, user)
		if crash.KindOf(err) == crash.Conflict { // switched off meanwhile
			return errSignInAgain
		}
		if err != nil {
			return err
		}
		if !f.confirmed || f.disabled || subtle.ConstantTimeCompare([]byte(f.proof), []byte(proof)) != 1 {
			return errSignInAgain
		}
		recovery := !appCode.MatchString(tidy(code))
		if recovery {
			err = useRecoveryCode(ctx, tx, user, code)
		} else {
			err = s.useAppCode(ctx, tx, user, f, code)
		}
		if err != nil {
			return err
		}
		var name string
		args := pgx.NamedArgs{"user": user, "now": s.store.Now()}
		if err := tx.QueryRow(ctx, sqlFinishSignIn, args).Scan(&name); err != nil {
			return fmt.Errorf("record sign-in: %w", err)
		}
		if recovery {
			if err := s.store.Audit(ctx, tx, db.AuditEvent{
				Person: name, Action: "user.recovery-code-used", Subject: name,
				Before: map[string]any{"code": "valid"}, After: map[string]any{"code": "used"}}); err != nil {
				return err
			}
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "user.sign-in", Subject: name,
			Detail: map[string]any{"source": "password and code"}})
	})
}

// counted runs a check of a code, and counts it as a failure unless it succeeds.
func (s *Store) counted(ctx context.Context, user int64, check func(pgx.Tx) error) error {
	if err := s.accounts.CountCode(ctx, user); err != nil {
		return err
	}
	if err := s.store.InTx(ctx, check); err != nil {
		return err
	}
	return s.accounts.UncountCode(ctx, user)
}

var appCode = regexp.MustCompile(`^[0-9]{6}$`)

// tidy removes what people type between the characters of a code.
func tidy(code string) string { return strings.NewReplacer(" ", "", "-", "").Replace(code) }

const sqlUseStep = `update second_factors set last_step = @step where user_id = @user`

// useAppCode checks a code of the app, and records its period, so that neither this code nor an older one
// is accepted again.
func (s *Store) useAppCode(ctx context.Context, tx pgx.Tx, user int64, f factor, code string) error {
	secret, err := s.store.OpenSecret(f.sealed, sealContext(user))
	if err != nil {
		return errUnreadable
	}
	step, err := matchingStep(secret, tidy(code), s.store.Now())
	if err != nil {
		return err
	}
	if step <= f.lastStep {
		return errUsedCode
	}
	if _, err := tx.Exec(ctx, sqlUseStep, pgx.NamedArgs{"user": user, "step": step}); err != nil {
		return fmt.Errorf("use code: %w", err)
	}
	return nil
}

// matchingStep returns the number of the period to which a code belongs: the present one, the one before
// or the next one.
func matchingStep(secret crash.Secret, code string, now time.Time) (int64, error) {
	step := now.Unix() / int64(period/time.Second)
	for _, candidate := range []int64{step, step - 1, step + 1} {
		//nolint:gosec // no time is before 1970
		want, err := hotp.GenerateCodeCustom(string(secret), uint64(candidate), hotp.ValidateOpts{
			Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, fmt.Errorf("compute code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return candidate, nil
		}
	}
	return 0, errWrongCode
}

const (
	sqlDeleteRecoveryCodes = `delete from recovery_codes where user_id = @user`
	sqlInsertRecoveryCodes = `insert into recovery_codes (user_id, hash) select @user, unnest(@hashes::bytea[])`
	sqlUseRecoveryCode     = `delete from recovery_codes where user_id = @user and hash = @hash`
)

// replaceRecoveryCodes makes new recovery codes instead of the present ones.
func replaceRecoveryCodes(ctx context.Context, tx pgx.Tx, user int64) ([]string, error) {
	codes, hashes := make([]string, recoveryCodes), make([][]byte, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:recoveryLength])
		codes[i], hashes[i] = text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:], hashOf(text)
	}
	args := pgx.NamedArgs{"user": user, "hashes": hashes}
	if _, err := tx.Exec(ctx, sqlDeleteRecoveryCodes, args); err != nil {
		return nil, fmt.Errorf("remove recovery codes: %w", err)
	}
	if _, err := tx.Exec(ctx, sqlInsertRecoveryCodes, args); err != nil {
		return nil, fmt.Errorf("store recovery codes: %w", err)
	}
	return codes, nil
}

// useRecoveryCode removes a recovery code, or returns Unauthenticated if there is none.
func useRecoveryCode(ctx context.Context, tx pgx.Tx, user int64, code string) error {
	tag, err := tx.Exec(ctx, sqlUseRecoveryCode, pgx.NamedArgs{"user": user, "hash": hashOf(code)})
	if err != nil {
		return fmt.Errorf("use recovery code: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errWrongRecovery
	}
	return nil
}

// hashOf returns the stored form of a recovery code. A code has 80 random bits, so it needs no salt and
// no slow hash.
func hashOf(code string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(tidy(code))))
	return sum[:]
}
