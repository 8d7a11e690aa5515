package bugs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlSaveUpdateRule = `
		insert into update_rules (pattern, position, again, quiet, quiet_weeks, section, person, changed)
		values (@pattern, (select coalesce(max(position), 0) + 1 from update_rules), @again, @quiet, @weeks, @section,
			@person, now())
		on conflict (pattern) do update set again = @again, quiet = @quiet, quiet_weeks = @weeks, section = @section,
			person = @person, changed = now()
		where (update_rules.again, update_rules.quiet, update_rules.quiet_weeks, update_rules.section)
			is distinct from (@again, @quiet, @weeks, @section)`
	updateRuleColumns = `again, quiet, quiet_weeks, section`
	sqlOldUpdateRule  = `select ` + updateRuleColumns + ` from update_rules where pattern = @pattern for update`
	sqlDropUpdateRule = `
		delete from update_rules where pattern = @pattern and pattern <> '*' returning ` + updateRuleColumns
	sqlLockUpdateRules  = `select pattern from update_rules where pattern <> '*' order by position, pattern for update`
	sqlOrderUpdateRules = `
		update update_rules set position = o.position
		from unnest(@patterns::text[]) with ordinality as o (pattern, position) where update_rules.pattern = o.pattern`
)

var errUnknownRule = crash.Errorf(crash.NotFound, "unknown_rule", "This row no longer exists.")

// SaveUpdateRule stores a rule for all instances. It replaces the rule with the same pattern, or adds
// a new one after all others but the one for every package. r.Person is who does it.
func (s *Store) SaveUpdateRule(ctx context.Context, r crash.UpdateRule) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedUpdateRule(tx.QueryRow(ctx, sqlOldUpdateRule, pgx.NamedArgs{"pattern": r.Pattern}))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlSaveUpdateRule, pgx.NamedArgs{"pattern": r.Pattern, "again": r.Again, "quiet": r.Quiet,
			"weeks": r.QuietWeeks, "section": r.Section, "person": r.Person})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: r.Person, Action: "tracker.updates", Subject: r.Pattern,
			Before: before,
			After:  map[string]any{"again": r.Again, "quiet": r.Quiet, "weeks": r.QuietWeeks, "section": r.Section}})
	})
	if err != nil {
		return fmt.Errorf("rule of updates: %w", err)
	}
	return nil
}

// auditedUpdateRule returns what the audit log says about a rule; nil if there is none.
func auditedUpdateRule(row pgx.Row) (map[string]any, error) {
	var again, quiet, section bool
	var weeks int
	err := row.Scan(&again, &quiet, &weeks, &section)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"again": again, "quiet": quiet, "weeks": weeks, "section": section}, nil
}

// DropUpdateRule deletes the rule with a pattern. It returns NotFound if there is none, or if it is
// the rule for every package.
func (s *Store) DropUpdateRule(ctx context.Context, pattern, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedUpdateRule(tx.QueryRow(ctx, sqlDropUpdateRule, pgx.NamedArgs{"pattern": pattern}))
		if err != nil {
			return err
		}
		if before == nil {
			return errUnknownRule
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "tracker.updates-drop", Subject: pattern,
			Before: before})
	})
	if err != nil {
		return fmt.Errorf("drop rule of updates: %w", err)
	}
	return nil
}

// RaiseUpdateRule moves the rule with a pattern one place up, so that it applies before its
// neighbour. It returns NotFound if there is none.
func (s *Store) RaiseUpdateRule(ctx context.Context, pattern, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlLockUpdateRules)
		if err != nil {
			return err
		}
		patterns, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		i := slices.Index(patterns, pattern)
		if i < 0 {
			return errUnknownRule
		}
		if i == 0 {
			return nil
		}
		patterns[i-1], patterns[i] = patterns[i], patterns[i-1]
		if _, err := tx.Exec(ctx, sqlOrderUpdateRules, pgx.NamedArgs{"patterns": patterns}); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "tracker.updates-order", Subject: pattern,
			Before: map[string]any{"position": i + 1}, After: map[string]any{"position": i}})
	})
	if err != nil {
		return fmt.Errorf("order of updates: %w", err)
	}
	return nil
}
