package access

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

// SignedIn is the result of a successful sign-in.
type SignedIn struct {
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
	sqlSignedIn      = `update users set last_login = @now where id = @user`
)

// SignIn records that a source has identified a person. It creates an account without a role for a new
// person, and replaces the groups of a known one. It returns Forbidden if the account is disabled, and
// Unprocessable for an identity that cannot be stored.
func (a *Store) SignIn(ctx context.Context, in crash.Identity) (SignedIn, error) {
	if err := check(in); err != nil {
		return SignedIn{}, err
	}
	in.Name = readable(in.Name)
	var out SignedIn
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
		if _, err := tx.Exec(ctx, sqlSignedIn, args); err != nil {
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
	sqlInsertUser = `
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
		name = accountName(wanted, i)
		var taken bool
		if err := tx.QueryRow(ctx, sqlNameOfRemoved, pgx.NamedArgs{"name": name}).Scan(&taken); err != nil {
			return 0, "", fmt.Errorf("find removed account: %w", err)
		}
		if taken || crash.ReservedName(name) {
			continue
		}
		err := tx.QueryRow(ctx, sqlInsertUser, pgx.NamedArgs{"name": name, "now": now}).Scan(&id)
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

// accountName returns the i-th name that an account of a person with this nickname may have: 1 to 64
// letters, digits and "._@+-".
func accountName(nickname string, i int) string {
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
