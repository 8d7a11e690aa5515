package filings

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
	"mishap/db/restored"
)

const sqlRestored = `select restored, backup_taken from filing_writer where restored is not null`

// Restored returns when the database was restored from a backup, unless it was compared with the
// tracker since. Until FinishRestore, no bugs, comments, mails or deliveries are sent. Restored
// returns the zero value if nothing is pending.
func (s *Store) Restored(ctx context.Context) (crash.Restored, error) {
	rows, err := s.Pool.Query(ctx, sqlRestored)
	if err != nil {
		return crash.Restored{}, fmt.Errorf("restored database: %w", db.Classify(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.Restored])
	if err != nil {
		return crash.Restored{}, fmt.Errorf("restored database: %w", db.Classify(err))
	}
	if len(found) == 0 {
		return crash.Restored{}, nil
	}
	return found[0], nil
}

const (
	sqlAddLostBug = `insert into lost_bugs (bucket_id, bug_number) values (@bucket, @bug)
		on conflict (bucket_id) do update set bug_number = least(lost_bugs.bug_number, excluded.bug_number)`
	sqlFinishRestore = `update filing_writer set restored = null, backup_taken = null where restored = @at`
	sqlWakeRestored  = `
		update filings set not_before = now(), updated = now(), problem = '', reason = ''
		where state in ('queued', 'uncertain') and problem = 'restored' and unit is null
		returning id`
)

// FinishRestore permits sending again after the bugs in the tracker were linked to their problems.
// lost are bugs whose problems the database lacks: if such a problem returns and a person files it,
// it is linked to its bug instead. Unless resend is set, FinishRestore cancels the mails and
// deliveries that were waiting in the backup. It changes nothing if the database was restored again
// since.
func (s *Store) FinishRestore(
	ctx context.Context, r crash.Restored, lost map[crash.BucketID]int64, resend bool,
) error {
	ctx = reader.Everything(ctx)
	args := pgx.NamedArgs{"at": r.At}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		for bucket, bug := range lost {
			if _, err := tx.Exec(ctx, sqlAddLostBug, pgx.NamedArgs{"bucket": bucket[:], "bug": bug}); err != nil {
				return err
			}
		}
		done, err := tx.Exec(ctx, sqlFinishRestore, args)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		if !resend {
			if err := restored.Cancel(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := s.wake(ctx, tx, sqlWakeRestored); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "filing.restored",
			Detail: map[string]any{"backup": r.BackupTaken, "lost": len(lost), "resend": resend},
		})
	})
	if err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	return nil
}
