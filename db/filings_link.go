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

// settleByLink ends a filing that stands in line when its problem was given a bug by hand, so that none is filed besides. One
// that is being sent goes on, and one that was perhaps filed is still searched for: what it has filed counts as well. If that
// was nothing, nothing more is sent.
func (s *Store) settleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	if _, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}); err != nil {
		return fmt.Errorf("end the filing of %s: %w", bucket, err)
	}
	return nil
}
