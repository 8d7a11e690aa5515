package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

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
				"You are %s here, and this account is disabled. Somebody who is an administrator here can enable it.", out.Name)
		}
		args["id"], args["user"] = out.IdentityID, out.UserID
		if _, err := tx.Exec(ctx, sqlTouchIdentity, args); err != nil {
			return fmt.Errorf("update identity: %w", err)
		}
		if err := a.replaceGroups(ctx, tx, out.IdentityID, in); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlIdentified, args); err != nil {
			return fmt.Errorf("record sign-in: %w", err)
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
	storable := func(s string, limit int) bool {
		return s != "" && len(s) <= limit && strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, unicode.IsControl)
	}
	switch {
	case !storable(in.Subject, crash.MaxSubject):
		return crash.Errorf(crash.Unprocessable, "bad_subject",
			"Your identifier at the place where you signed in is empty, too long, or not plain text.")
	case len(in.Groups) > crash.MaxGroups:
		return crash.Errorf(crash.Unprocessable, "too_many_groups",
			"You are in more than %d groups, which is more than mishap accepts. Ask an administrator of the place "+
				"where you signed in to send only the groups that matter here.", crash.MaxGroups)
	case slices.ContainsFunc(in.Groups, func(g string) bool { return !storable(g, crash.MaxGroup) }):
		return crash.Errorf(crash.Unprocessable, "bad_group",
			"One of your groups has a name that is empty, longer than %d bytes, or not plain text.", crash.MaxGroup)
	}
	return nil
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
			return crash.Errorf(crash.Conflict, "identity_taken", "Whom you signed in as there belongs to another "+
				"account here, "+
				"%s. Nothing was changed: accounts are not merged. Disconnect it from that account first, or ask an "+
				"administrator to remove that account.", other)
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
		return "", false, crash.Errorf(crash.Conflict, "no_person", "Nobody can sign in to this account.")
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
		if _, err := tx.Exec(ctx, sqlDeleteNonces, pgx.NamedArgs{"before": now.Add(-keepNonces)}); err != nil {
			return fmt.Errorf("delete old nonces: %w", err)
		}
		tag, err := tx.Exec(ctx, sqlUseNonce, pgx.NamedArgs{"endpoint": endpoint, "nonce": nonce, "now": now})
		if err != nil {
			return fmt.Errorf("use nonce: %w", err)
		}
		used = tag.RowsAffected() == 1
		return nil
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
