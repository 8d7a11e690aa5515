package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	rows, err := a.store.Pool.Query(ctx, sqlSessions, pgx.NamedArgs{"user": user, "now": a.store.Now()})
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", db.Classify(err))
	}
	sessions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s crash.Session, err error) {
		err = row.Scan(&s.ID, &s.Created, &s.Used, &s.Address, &s.Browser, &s.Source)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", db.Classify(err))
	}
	return sessions, nil
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
		rows, err := tx.Query(ctx, sql, pgx.NamedArgs{"user": user, "id": id})
		if err != nil {
			return err
		}
		var name, address string
		var addresses []string
		_, err = pgx.ForEachRow(rows, []any{&name, &address}, func() error {
			addresses = append(addresses, address)
			return nil
		})
		if err != nil || len(addresses) == 0 {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "session.end", Subject: name,
			Detail: map[string]any{"addresses": addresses}})
	})
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}
