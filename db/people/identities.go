package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"mishap/crash"
	"mishap/db"
)

// Identified is the result of a successful sign-in.
type Identified struct {
	UserID     int64
	IdentityID int64
	Name       string // of the account
	New        bool   // the account was created
}

const (
	sqlLockIdentity = `select pg_advisory_xact_lock(hashtextextended(@key, 0))`
	sqlFindIdentity = `
		select i.id, i.user_id, u.name, u.disabled from identities as i join users as u on u.id = i.user_id
		where i.source = @source and i.issuer = @issuer and i.subject = @subject`
	sqlInsertIdentity = `
		insert into identities (user_id, source, issuer, subject, name, created, last_sign_in)
		values (@user, @source, @issuer, @subject, @name, @now, @now) returning id`
	sqlTouchIdentity = `update identities set name = @name, last_sign_in = @now where id = @id`
	sqlIdentified    = `update users set last_login = @now where id = @user`
)

// SignInIdentity records that a source has identified a person. It creates an account without a role for a new
// person, and replaces the groups of a known one. It returns Forbidden if the account is disabled, and
// Unprocessable for an identity that cannot be stored.
func (a *Store) SignInIdentity(ctx context.Context, in crash.Identity) (Identified, error) {
	if err := check(in); err != nil {
		return Identified{}, err
	}
	in.Name = readable(in.Name)
	var out Identified
	now := a.store.Now()
	args := identityArgs(in, now)
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockIdentity, args); err != nil {
			return fmt.Errorf("lock identity: %w", err)
		}
		var disabled bool
		err := tx.QueryRow(ctx, sqlFindIdentity, args).Scan(&out.IdentityID, &out.UserID, &out.Name, &disabled)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			out.New = true
			if out.UserID, out.Name, err = insertUser(ctx, tx, in.Name, now); err != nil {
				return err
			}
			args["user"] = out.UserID
			if err := tx.QueryRow(ctx, sqlInsertIdentity, args).Scan(&out.IdentityID); err != nil {
				return fmt.Errorf("store identity: %w", err)
			}
		case err != nil:
			return fmt.Errorf("find identity: %w", err)
		case disabled:
			return crash.Errorf(crash.Forbidden, "account_disabled",
				"You are %s here, and this account is disabled. Ask an administrator to enable it.", out.Name)
		}
		args["id"], args["user"] = out.IdentityID, out.UserID
		if err := db.Exec(ctx, tx, args, sqlTouchIdentity, sqlIdentified); err != nil {
			return fmt.Errorf("record sign-in: %w", err)
		}
		if err := a.replaceGroups(ctx, tx, out.IdentityID, in); err != nil {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: out.Name, Action: "user.sign-in", Subject: out.Name,
			Detail: map[string]any{"source": in.Source, "new": out.New, "groups": len(in.Groups)}})
	})
	return out, err
}

// identityArgs returns the arguments of the statements about an identity.
func identityArgs(in crash.Identity, now time.Time) pgx.NamedArgs {
	return pgx.NamedArgs{"source": in.Source, "issuer": in.Issuer, "subject": in.Subject, "name": readable(in.Name),
		"now": now, "key": "identity " + string(in.Source) + " " + in.Issuer + " " + in.Subject}
}

// Refused records a sign-in that was refused after a source had answered. It stores no names, because
// nobody has confirmed them.
func (a *Store) Refused(ctx context.Context, source crash.Source, code string) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "user.sign-in-refused", Subject: string(source),
			Refused: code})
	})
}

const (
	sqlNameOfRemoved = `
		select exists (select from audit_events where action = 'user.remove' and lower(subject) = lower(@name))`
	sqlInsertPerson = `
		insert into users (name, role, password_hash, created) values (@name, '', '', @now)
		on conflict (lower(name)) do nothing returning id`
)

// maxNames is how many names insertUser tries.
const maxNames = 1000

// insertUser creates an account without a role and password. Its name is the wanted one, or that with a
// number if it is reserved, or if there is or was an account of this name: decisions are stored with the
// name of their account, so that a name is never given to another person.
func insertUser(ctx context.Context, tx pgx.Tx, wanted string, now time.Time) (id int64, name string, err error) {
	for i := 1; i <= maxNames; i++ {
		name = nameFor(wanted, i)
		var taken bool
		if err := tx.QueryRow(ctx, sqlNameOfRemoved, pgx.NamedArgs{"name": name}).Scan(&taken); err != nil {
			return 0, "", fmt.Errorf("find removed account: %w", err)
		}
		if taken || crash.ReservedName(name) {
			continue
		}
		err := tx.QueryRow(ctx, sqlInsertPerson, pgx.NamedArgs{"name": name, "now": now}).Scan(&id)
		if err == nil {
			return id, name, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return 0, "", fmt.Errorf("add user %q: %w", name, err)
		}
	}
	return 0, "", crash.Errorf(crash.Conflict, "no_free_name",
		"No account could be created for you, because too many people are called %q. Ask an administrator.", wanted)
}

// nameFor returns the i-th name that an account of a person with this nickname may have: 1 to 64
// letters, digits and "._@+-".
func nameFor(nickname string, i int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune("._@+-", r):
			return r
		case unicode.IsSpace(r):
			return '-'
		}
		return -1
	}, nickname)
	letters := []rune(strings.Trim(name, "._@+-"))
	name = strings.TrimRight(string(letters[:min(len(letters), 50)]), "._@+-")
	if name == "" {
		name = "person"
	}
	if i > 1 {
		name += "-" + strconv.Itoa(i)
	}
	return name
}

// check returns an error if an identity cannot be stored.
func check(in crash.Identity) error {
	switch {
	case !isPlain(in.Subject, crash.MaxSubject):
		return crash.Errorf(crash.Unprocessable, "bad_subject",
			"Your identifier at the sign-in site is empty, too long, or not plain text. Ask an administrator "+
				"of that site to correct it.")
	case len(in.Groups) > crash.MaxGroups:
		return crash.Errorf(crash.Unprocessable, "too_many_groups",
			"You are in more than %d groups, the most that mishap accepts. Ask an administrator of the sign-in site to "+
				"send fewer.", crash.MaxGroups)
	case slices.ContainsFunc(in.Groups, func(g string) bool { return !isPlain(g, crash.MaxGroup) }):
		return crash.Errorf(crash.Unprocessable, "bad_group",
			"One of your groups has a name that is empty, longer than %d bytes, or not plain text. Ask an administrator "+
				"of the sign-in site to correct it.", crash.MaxGroup)
	}
	return nil
}

// isPlain reports whether s is a text of at most limit bytes on one line, and not empty.
func isPlain(s string, limit int) bool {
	return s != "" && len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// readable makes a nickname fit for pages.
func readable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return strings.TrimSpace(crash.Truncate(name, 100))
}

const sqlLockUser = `
	select name, team, disabled, password_hash <> '' from users where id = @user for update`

// LinkIdentity adds an identity to an account, whose owner has just proved to have both. It returns
// Conflict if the identity belongs to an account already; accounts are never merged. It returns
// Unprocessable for an identity that cannot be stored.
func (a *Store) LinkIdentity(ctx context.Context, user int64, in crash.Identity) error {
	if err := check(in); err != nil {
		return err
	}
	args := identityArgs(in, a.store.Now())
	args["user"] = user
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockIdentity, args); err != nil {
			return fmt.Errorf("lock identity: %w", err)
		}
		name, _, err := lockUser(ctx, tx, user)
		if err != nil {
			return err
		}
		var id, owner int64
		var other string
		var disabled bool
		err = tx.QueryRow(ctx, sqlFindIdentity, args).Scan(&id, &owner, &other, &disabled)
		switch {
		case err == nil && owner == user:
			return crash.Errorf(crash.Conflict, "linked_already", "You can sign in this way already.")
		case err == nil:
			return crash.Errorf(crash.Conflict, "identity_taken", "That person belongs to another account here, %s. "+
				"Nothing was changed: accounts are not merged. Disconnect it there first, or ask an administrator to remove "+
				"that account.", other)
		case !errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("find identity: %w", err)
		}
		if err := tx.QueryRow(ctx, sqlInsertIdentity, args).Scan(&id); err != nil {
			return fmt.Errorf("store identity: %w", err)
		}
		if err := a.replaceGroups(ctx, tx, id, in); err != nil {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "identity.link", Subject: name,
			After:  map[string]any{"source": in.Source, "identity": in.Subject},
			Detail: map[string]any{"groups": len(in.Groups)}})
	})
}

// lockUser locks an account that a person uses, and returns its name and whether it has a password.
func lockUser(ctx context.Context, tx pgx.Tx, user int64) (name string, hasPassword bool, err error) {
	var team string
	var disabled bool
	err = tx.QueryRow(ctx, sqlLockUser, pgx.NamedArgs{"user": user}).Scan(&name, &team, &disabled, &hasPassword)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", false, fmt.Errorf("lock account: %w", err)
	}
	if err != nil || disabled || team != "" {
		return "", false, crash.Errorf(crash.Conflict, "no_person", "Nobody can sign in to this account: it was "+
			"deleted or disabled, or belongs to a service.")
	}
	return name, hasPassword, nil
}

const (
	sqlIdentitiesOfUser = `select id, source, issuer, subject from identities where user_id = @user`
	sqlUnlink           = `delete from identities where id = @id`
)

// Ways are the ways of signing in that work at present.
type Ways struct {
	Password bool
	Issuers  []crash.Identity // Source and Issuer
}

// UnlinkIdentity removes an identity from an account, with its groups and sessions. It returns NotFound if
// the account has no such identity, and Conflict if it is the last way of signing in that works.
func (a *Store) UnlinkIdentity(ctx context.Context, user, id int64, ways Ways) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		name, left, err := lockUser(ctx, tx, user)
		if err != nil {
			return err
		}
		left = left && ways.Password
		all, err := db.List(ctx, tx, sqlIdentitiesOfUser, pgx.NamedArgs{"user": user},
			db.Into(func(i *crash.StoredIdentity) []any { return []any{&i.ID, &i.Source, &i.Issuer, &i.Subject} }))
		if err != nil {
			return fmt.Errorf("identities of account: %w", err)
		}
		var removed crash.StoredIdentity
		for _, i := range all {
			if i.ID == id {
				removed = i
				continue
			}
			left = left || slices.ContainsFunc(ways.Issuers, func(way crash.Identity) bool {
				return way.Source == i.Source && way.Issuer == i.Issuer
			})
		}
		if removed.ID == 0 {
			return crash.Errorf(crash.NotFound, "unknown_identity", "Your account is not connected to this.")
		}
		if !left {
			return crash.Errorf(crash.Conflict, "last_way_in", "This is the last way to sign in to your account. Connect "+
				"another one first.")
		}
		if _, err := tx.Exec(ctx, sqlUnlink, pgx.NamedArgs{"id": id}); err != nil {
			return fmt.Errorf("remove identity: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "identity.unlink", Subject: name,
			Before: map[string]any{"source": removed.Source, "identity": removed.Subject}})
	})
}

// keepNonces is how long a nonce is stored. It is longer than any answer is accepted.
const keepNonces = 24 * time.Hour

const (
	sqlUseNonce = `
		insert into openid_nonces (endpoint, nonce, at) values (@endpoint, @nonce, @now) on conflict do nothing`
	sqlDeleteNonces = `delete from openid_nonces where at < @before`
)

// UseNonce records that an answer of a provider is used. It returns false if any instance has used it
// before.
func (a *Store) UseNonce(ctx context.Context, endpoint, nonce string) (bool, error) {
	now := a.store.Now()
	var used bool
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"before": now.Add(-keepNonces), "endpoint": endpoint, "nonce": nonce, "now": now}
		if err := db.Exec(ctx, tx, args, sqlDeleteNonces); err != nil {
			return fmt.Errorf("delete old nonces: %w", err)
		}
		tag, err := tx.Exec(ctx, sqlUseNonce, args)
		used = tag.RowsAffected() == 1
		return db.Wrap(err, "use nonce")
	})
	return used, err
}

const sqlEndProviderSessions = `
	with ended as (
		delete from sessions as s using identities as i
		where i.id = s.identity_id and i.source = @source and i.issuer = @issuer
			and (@subject = '' or i.subject = @subject)
			and (@session = '' or s.provider_session = @session or s.provider_session = '' and @subject <> '')
		returning i.id, i.user_id
	), forgotten as (
		update identities as i set refresh_token = ''
		where i.source = @source and i.issuer = @issuer and i.refresh_token <> '' and not i.refresh_offline
			and (i.subject = @subject or i.id in (select id from ended))
	)
	select u.name, count(*) from ended join users as u on u.id = ended.user_id group by u.name order by u.name`

// EndProviderSessions ends the sessions of a person who has signed out at the provider, records that, and
// returns how many they were. It erases the refresh token unless it came with
// offline_access. Subject and Session of who select them, and either may be empty.
func (a *Store) EndProviderSessions(ctx context.Context, who crash.Identity) (n int, err error) {
	if who.Subject == "" && who.Session == "" {
		return 0, nil
	}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		ended := map[string]int{}
		var name string
		var sessions int
		err := db.Each(ctx, tx, sqlEndProviderSessions, pgx.NamedArgs{"source": who.Source, "issuer": who.Issuer,
			"subject": who.Subject, "session": who.Session}, []any{&name, &sessions}, func() { ended[name] = sessions })
		if err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		n = 0
		for name, sessions := range ended {
			n += sessions
			if err := a.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "session.end-by-provider", Subject: name,
				Detail: map[string]any{"source": who.Source, "sessions": sessions}}); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

var (
	errOn = crash.Errorf(crash.Conflict, "second_factor_on",
		"The authenticator app is on already. Switch it off to set up another one.")
	errOff        = crash.Errorf(crash.Conflict, "second_factor_off", "No authenticator app is set up.")
	errNoPassword = crash.Errorf(crash.Conflict, "no_password", "This account has no password, so it needs no code.")
	errUnreadable = crash.Errorf(crash.Unprocessable, "second_factor_unreadable",
		"Codes of the app cannot be checked, because the database password has changed. Enter a recovery code, or ask "+
			"an administrator to reset the app.")
	errSignInAgain = crash.Errorf(crash.Unauthenticated, crash.CodeSignInAgain,
		"Your account has changed. Sign in again.")
)

const sqlSecondFactor = `
	select u.password_hash <> '', f.user_id is not null, coalesce(f.secret, ''), f.confirmed,
		(select count(*) from recovery_codes as r where r.user_id = u.id)
	from users as u left join second_factors as f on f.user_id = u.id where u.id = @user`

// SecondFactor returns the second factor of an account. It contains the secret until the app is confirmed.
func (s *Store) SecondFactor(ctx context.Context, user int64) (crash.SecondFactor, error) {
	var f crash.SecondFactor
	var begun bool
	var sealed string
	err := s.store.Pool.QueryRow(ctx, sqlSecondFactor, pgx.NamedArgs{"user": user}).
		Scan(&f.HasPassword, &begun, &sealed, db.OrZero(&f.Since), &f.RecoveryCodes)
	if err != nil {
		return f, fmt.Errorf("second factor: %w", db.Classify(err))
	}
	if begun && !f.On() {
		if f.Secret, err = s.store.OpenSecret(sealed, sealContext(user)); err != nil {
			f.Secret = "" // Begin replaces it
		}
	}
	return f, nil
}

const sqlBegin = `
	insert into second_factors (user_id, secret, created) values (@user, @secret, @now)
	on conflict (user_id) do update set secret = excluded.secret, created = excluded.created
		where second_factors.confirmed is null`

// BeginSecondFactor makes a secret for an authenticator app, after checking the password. Signing in needs no code
// before Confirm. It returns Conflict if an app is on or the account has no password, and the errors of
// accounts.CheckPassword.
func (s *Store) BeginSecondFactor(ctx context.Context, in SignIn) error {
	f, user, err := s.checkPasswordForCode(ctx, in)
	if err != nil {
		return err
	}
	if f.On() {
		return errOn
	}
	sealed, err := s.store.SealSecret(newSecret(), sealContext(user))
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"user": user, "secret": sealed, "now": s.store.Now()}
	tag, err := s.store.Pool.Exec(ctx, sqlBegin, args)
	if err == nil && tag.RowsAffected() == 0 {
		return errOn
	}
	return db.Wrap(err, "store second factor")
}

// checkPasswordForCode checks the password of an account, and returns its second factor and id.
func (s *Store) checkPasswordForCode(ctx context.Context, in SignIn) (f crash.SecondFactor, user int64, err error) {
	u, err := s.ByName(ctx, in.Name)
	if err != nil {
		return f, 0, err
	}
	if f, err = s.SecondFactor(ctx, u.ID); err != nil {
		return f, 0, err
	}
	if !f.HasPassword {
		return f, 0, errNoPassword
	}
	return f, u.ID, s.CheckPassword(ctx, in)
}

const sqlConfirm = `update second_factors set confirmed = @now where user_id = @user and confirmed is null`

// ConfirmSecondFactor switches an app on by its first code, and returns recovery codes. It returns Unauthenticated
// for a wrong code, Conflict if no app waits for it, and TooMany after too many wrong codes.
func (s *Store) ConfirmSecondFactor(ctx context.Context, u crash.User, code string) (recovery []string, err error) {
	err = s.countedCode(ctx, u.ID, func(tx pgx.Tx) error {
		row, err := lock(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		if row.confirmed {
			return errOn
		}
		if err := s.useAppCode(ctx, tx, u.ID, row, code); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlConfirm, pgx.NamedArgs{"user": u.ID, "now": s.store.Now()}); err != nil {
			return fmt.Errorf("confirm second factor: %w", err)
		}
		if recovery, err = replaceRecoveryCodes(ctx, tx, u.ID); err != nil {
			return err
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: u.Name, Action: "user.totp-on", Subject: u.Name,
			Before: map[string]any{"app": false}, After: map[string]any{"app": true, "recovery_codes": "changed"}})
	})
	return recovery, err
}

// NewRecoveryCodes replaces the recovery codes of an account, after checking the password. It returns
// Conflict if no app is on.
func (s *Store) NewRecoveryCodes(ctx context.Context, in SignIn) (recovery []string, err error) {
	f, user, err := s.checkPasswordForCode(ctx, in)
	if err != nil {
		return nil, err
	}
	if !f.On() {
		return nil, errOff
	}
	err = s.store.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lock(ctx, tx, user); err != nil {
			return err
		}
		if recovery, err = replaceRecoveryCodes(ctx, tx, user); err != nil {
			return err
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: in.Name, Action: "user.recovery-codes", Subject: in.Name,
			After: map[string]any{"recovery_codes": "changed"}})
	})
	return recovery, err
}

const sqlDelete = `
	delete from second_factors as f using users as u
	where u.id = f.user_id and lower(u.name) = lower(@name) returning u.name`

// SwitchOffSecondFactor removes the app and its recovery codes, after checking the password. It returns Conflict if
// there is none.
func (s *Store) SwitchOffSecondFactor(ctx context.Context, in SignIn) error {
	if _, _, err := s.checkPasswordForCode(ctx, in); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		return s.removeSecondFactor(ctx, tx, in.Name, in.Name, "user.totp-off")
	})
}

const sqlEndAllSessions = `delete from sessions where user_id = @user`

// ResetSecondFactor removes the app and recovery codes of an account whose owner has lost them, ends the
// sessions of the account, and tells its owner. by is the person who does so, or empty for the
// command line. It returns Conflict if there is none, and NotFound for an unknown name.
func (s *Store) ResetSecondFactor(ctx context.Context, by, name string) error {
	u, err := s.ByName(ctx, name)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.removeSecondFactor(ctx, tx, by, u.Name, "user.totp-reset"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlEndAllSessions, pgx.NamedArgs{"user": u.ID}); err != nil {
			return fmt.Errorf("end sessions of %q: %w", u.Name, err)
		}
		_, err := s.store.Publish(ctx, tx, crash.Event{
			Edge:  fmt.Sprintf("app removed:%d:%d", u.ID, s.store.Now().UnixNano()),
			Kind:  crash.EventAccount,
			Title: "Your authenticator app was removed",
			Text: fmt.Sprintf("%s removed the authenticator app and the recovery codes of the account %s, and signed it out "+
				"everywhere. If nobody asked for that, change the password, and tell an administrator.",
				cmp.Or(by, "An administrator"), u.Name),
		}, crash.Recipients{People: []crash.Recipient{{User: u.ID, Reason: "it is your account"}}})
		return err
	})
}

func (s *Store) removeSecondFactor(ctx context.Context, tx pgx.Tx, by, name, action string) error {
	err := tx.QueryRow(ctx, sqlDelete, pgx.NamedArgs{"name": name}).Scan(&name)
	if err != nil {
		return db.WrapOr(err, errOff, "remove second factor")
	}
	return s.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: action, Subject: name,
		Before: map[string]any{"app": true}, After: map[string]any{"app": false}})
}

const sqlAll = `select user_id, confirmed from second_factors where confirmed is not null`

// SecondFactors returns since when accounts have an authenticator app, by id of the account.
func (s *Store) SecondFactors(ctx context.Context) (map[int64]time.Time, error) {
	all := map[int64]time.Time{}
	var user int64
	var since time.Time
	err := db.Each(ctx, s.store.Pool, sqlAll, nil, []any{&user, &since}, func() { all[user] = since })
	return all, db.Wrap(err, "second factors")
}

func sealContext(user int64) string { return fmt.Sprintf("second factor\x00%d", user) }

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
	return f, db.WrapOr(err, errOff, "lock second factor")
}

const sqlFinishSignIn = `update users set last_login = @now where id = @user returning name`

// SignInWithCode completes signing in to an account by a code of the app or a recovery code, each of which works
// once on all instances together. proof is from accounts.SignIn: SignIn returns Unauthenticated with the
// code sign_in_again if the password has changed since, and Unauthenticated with another code if the code
// is wrong. It returns TooMany after too many wrong codes.
func (s *Store) SignInWithCode(ctx context.Context, user int64, proof, code string) error {
	return s.countedCode(ctx, user, func(tx pgx.Tx) error {
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

// countedCode runs a check of a code, and counts it as a failure unless it succeeds.
func (s *Store) countedCode(ctx context.Context, user int64, check func(pgx.Tx) error) error {
	tries := []attempt{{"code:" + strconv.FormatInt(user, 10), limitCode}}
	if err := s.countAttempt(ctx, tries, tooManyCodes); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		return uncountAttempts(ctx, tx, tries)
	})
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
	_, err = tx.Exec(ctx, sqlUseStep, pgx.NamedArgs{"user": user, "step": step})
	return db.Wrap(err, "use code")
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
	return codes, db.Wrap(db.Exec(ctx, tx, args, sqlDeleteRecoveryCodes, sqlInsertRecoveryCodes), "store recovery codes")
}

// useRecoveryCode removes a recovery code, or returns Unauthenticated if there is none.
func useRecoveryCode(ctx context.Context, tx pgx.Tx, user int64, code string) error {
	tag, err := tx.Exec(ctx, sqlUseRecoveryCode, pgx.NamedArgs{"user": user, "hash": hashOf(code)})
	if err == nil && tag.RowsAffected() == 0 {
		return errWrongRecovery
	}
	return db.Wrap(err, "use recovery code")
}

// hashOf returns the stored form of a recovery code. A code has 80 random bits, so it needs no salt and
// no slow hash.
func hashOf(code string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(tidy(code))))
	return sum[:]
}
