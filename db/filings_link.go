package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const sqlSettleByLink = `
	update filings set state = 'filed', bug_number = @number, unit = null, problem = '', reason = '', updated = now()
	where bucket_id in ` + members + ` and state = 'queued'`

// settleByLink ends a queued filing whose problem was linked to a bug by hand, so that no second bug
// is filed. A filing that is being sent continues. One with an unknown outcome is still searched for:
// a bug that it has filed counts as well, and if there is none, nothing more is sent.
func (s *Handle) settleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	if _, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}); err != nil {
		return fmt.Errorf("end the filing of %s: %w", bucket, err)
	}
	return nil
}
