package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// maxWarnings is the greatest number of tokens that one round of WarnOfExpiry warns about.
const maxWarnings = 500

// Tokens that live shorter than the warning time cause none.
const sqlExpiringTokens = `
	select t.id, t.name, t.hint, t.expires, u.id, u.name
	from api_tokens as t join users as u on u.id = t.user_id and not u.disabled
	where t.revoked is null and t.warned is null and t.expires > @now and t.expires <= @until
		and t.expires - t.created > @until - @now::timestamptz
	order by t.id limit @most for update of t skip locked`

const sqlWarned = `update api_tokens set warned = @now where id = @id`

// WarnOfExpiry tells the owners of tokens that expire within crash.TokenWarning, once for each token. A
// periodic job calls it.
func (a *Store) WarnOfExpiry(ctx context.Context) error {
	type expiring struct {
		crash.APIToken
		owner crash.User
	}
	now := a.store.Now()
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlExpiringTokens, pgx.NamedArgs{"now": now, "until": now.Add(crash.TokenWarning),
			"most": maxWarnings})
		if err != nil {
			return fmt.Errorf("expiring tokens: %w", err)
		}
		tokens, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t expiring, err error) {
			err = row.Scan(&t.ID, &t.Name, &t.Hint, &t.Expires, &t.owner.ID, &t.owner.Name)
			return t, err
		})
		if err != nil {
			return fmt.Errorf("expiring tokens: %w", err)
		}
		for _, t := range tokens {
			_, err := a.store.Publish(ctx, tx, crash.Event{
				Edge:  fmt.Sprintf("token expires:%d", t.ID),
				Kind:  crash.EventToken,
				Title: fmt.Sprintf("The API token “%s” expires soon", t.Name),
				Text: fmt.Sprintf("The API token “%s” (%s) of %s stops working at %s UTC. Create a new one on the page of the "+
					"account, and replace it where it is used.", t.Name, t.Label(), t.owner.Name,
					t.Expires.UTC().Format(time.DateTime)),
			}, crash.Recipients{People: []crash.Recipient{{User: t.owner.ID, Reason: "the token is yours"}}})
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
