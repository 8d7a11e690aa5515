package people

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

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
	err := s.store.Pool.QueryRow(reader.Everything(ctx), sqlFindSession,
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
		if _, err := tx.Exec(ctx, sqlDeleteExpiredSessions, pgx.NamedArgs{"now": now}); err != nil {
			return fmt.Errorf("delete expired sessions: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlDeleteOldFailures, pgx.NamedArgs{"before": now.Add(-forgetFailuresAfter)}); err != nil {
			return fmt.Errorf("delete old sign-in failures: %w", err)
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

const (
	sqlEndSession = `
		delete from sessions as s using users as u
		where s.user_id = @user and s.token = @id and u.id = s.user_id returning u.name, s.address`
	sqlEndOtherSessions = `
		delete from sessions as s using users as u
		where s.user_id = @user and s.token <> @id and u.id = s.user_id returning u.name, s.address`
)

// EndSession ends one session of an account. It does nothing if there is none with this id.
func (a *Store) EndSession(ctx context.Context, user int64, id string) error {
	return a.endSessions(ctx, sqlEndSession, user, id)
}

// EndOtherSessions ends all sessions of an account but the one with this id.
func (a *Store) EndOtherSessions(ctx context.Context, user int64, id string) error {
	return a.endSessions(ctx, sqlEndOtherSessions, user, id)
}

func (a *Store) endSessions(ctx context.Context, sql string, user int64, id string) error {
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		var name, address string
		var addresses []string
		err := db.Each(ctx, tx, sql, pgx.NamedArgs{"user": user, "id": id}, []any{&name, &address}, func() {
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
