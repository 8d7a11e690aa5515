package access

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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

const sqlEndSessions = `
	with ended as (
		delete from sessions as s using identities as i
		where i.id = s.identity_id and i.source = @source and i.issuer = @issuer
			and (@subject = '' or i.subject = @subject)
			and (@session = '' or s.provider_session = @session or s.provider_session = '' and @subject <> '')
		returning i.user_id
	)
	select u.name, count(*) from ended join users as u on u.id = ended.user_id group by u.name order by u.name`

// EndSessions ends the sessions of a person who has signed out at the provider, records that, and
// returns how many they were. Subject and Session of who select them, and either may be empty.
func (a *Store) EndSessions(ctx context.Context, who crash.Identity) (n int, err error) {
	if who.Subject == "" && who.Session == "" {
		return 0, nil
	}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlEndSessions, pgx.NamedArgs{"source": who.Source, "issuer": who.Issuer,
			"subject": who.Subject, "session": who.Session})
		if err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		ended := map[string]int{}
		var name string
		var sessions int
		_, err = pgx.ForEachRow(rows, []any{&name, &sessions}, func() error { ended[name] = sessions; return nil })
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
