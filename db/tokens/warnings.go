package tokens

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// maxWarnings is the greatest number of tokens that one round of WarnOfExpiry warns about.
const maxWarnings = 500

// Tokens that live shorter than the warning time cause none.
const sqlExpiringTokens = `
	select t.id, t.name, t.hint, t.expires, u.id, u.name, u.team_source, u.team
	from api_tokens as t join users as u on u.id = t.user_id and not u.disabled
	where t.revoked is null and t.warned is null and t.expires > @now and t.expires <= @until
		and t.expires - t.created > @until - @now::timestamptz
	order by t.id limit @most for update of t skip locked`

// The members of the team that owns a service account, or administrators if there is none.
const sqlResponsible = `
	with members as (
		select distinct u.id from (` + db.CurrentGroups + `) as m join users as u on u.id = m.user_id and not u.disabled
		where m.source = @source and m.group_name = @team
	)
	select id from members
	union
	select id from (` + db.Administrators + `) as administrators where not exists (select from members)`

const sqlWarned = `update api_tokens set warned = @now where id = @id`

// WarnOfExpiry tells the owners of tokens that expire within crash.TokenWarning, once for each
// token. For a service account it tells the members of its team, or administrators if there is
// none. A periodic job calls it.
func (s *Store) WarnOfExpiry(ctx context.Context) error {
	type expiring struct {
		crash.APIToken
		owner crash.User
	}
	now := s.store.Now()
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlExpiringTokens, pgx.NamedArgs{"now": now, "until": now.Add(crash.TokenWarning),
			"most": maxWarnings})
		if err != nil {
			return fmt.Errorf("expiring tokens: %w", err)
		}
		tokens, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t expiring, err error) {
			err = row.Scan(&t.ID, &t.Name, &t.Hint, &t.Expires, &t.owner.ID, &t.owner.Name, &t.owner.Team.Source,
				&t.owner.Team.Name)
			return t, err
		})
		if err != nil {
			return fmt.Errorf("expiring tokens: %w", err)
		}
		for _, t := range tokens {
			to, where, err := s.recipients(ctx, tx, t.owner)
			if err != nil {
				return err
			}
			_, err = s.store.Publish(ctx, tx, crash.Event{
				Edge:  fmt.Sprintf("token expires:%d", t.ID),
				Kind:  crash.EventToken,
				Title: fmt.Sprintf("The API token “%s” expires soon", t.Name),
				Text: fmt.Sprintf("The API token “%s” (%s) of %s stops working at %s UTC. %s on the page of the "+
					"account, and replace it where it is used.", t.Name, t.Label(), t.owner.Name,
					t.Expires.UTC().Format(time.DateTime), where),
			}, to)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlWarned, pgx.NamedArgs{"now": now, "id": t.ID}); err != nil {
				return fmt.Errorf("record warning: %w", err)
			}
		}
		return nil
	})
}

// recipients returns who is told about a token of an account, and what they can do.
func (s *Store) recipients(ctx context.Context, tx pgx.Tx, owner crash.User) (
	to crash.Recipients, advice string, err error,
) {
	if !owner.Service() {
		return crash.Recipients{People: []crash.Recipient{{User: owner.ID, Reason: "the token is yours"}}},
			"Create a new one", nil
	}
	rows, err := tx.Query(ctx, sqlResponsible, s.store.RightsArgs(pgx.NamedArgs{"source": owner.Team.Source,
		"team": owner.Team.Name}))
	if err != nil {
		return to, "", fmt.Errorf("members of the team: %w", err)
	}
	to.People, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r crash.Recipient, err error) {
		r.Reason = "the token belongs to a service account of " + owner.Team.Name
		return r, row.Scan(&r.User)
	})
	if err != nil {
		return to, "", fmt.Errorf("members of the team: %w", err)
	}
	return to, "Renew it", nil
}
