package bugs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlBugTemplates = `
		select package, problem_type, body, person, changed from bug_templates order by package, problem_type`
	sqlSaveTemplate = `
		insert into bug_templates (package, problem_type, body, person, changed)
		values (@package, @type, @body, @person, now())
		on conflict (package, problem_type) do update set body = @body, person = @person, changed = now()`
	sqlDropTemplate = `delete from bug_templates where package = @package and problem_type = @type returning body`
)

// BugTemplates returns the templates that people have changed.
func (s *Store) BugTemplates(ctx context.Context) ([]crash.BugTemplate, error) {
	rows, err := s.Pool.Query(ctx, sqlBugTemplates)
	if err != nil {
		return nil, fmt.Errorf("templates of bugs: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.BugTemplate])
	if err != nil {
		return nil, fmt.Errorf("templates of bugs: %w", db.Classify(err))
	}
	return all, nil
}

const sqlOldTemplate = `
	select body from bug_templates where package = @package and problem_type = @type for update`

// SaveBugTemplate stores a template, and replaces an existing one. It does not check the template.
func (s *Store) SaveBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"package": t.Package, "type": t.ProblemType, "body": t.Body, "person": t.By}
		event := templateEvent("template.save", t)
		var old string
		err := tx.QueryRow(ctx, sqlOldTemplate, args).Scan(&old)
		if err == nil {
			event.Before = map[string]any{"body": old}
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("save template: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlSaveTemplate, args); err != nil {
			return fmt.Errorf("save template: %w", err)
		}
		event.After = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

// DropBugTemplate deletes a template, so that a more general one applies again. An audit event
// keeps its text. It returns NotFound if there is no such template.
func (s *Store) DropBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlDropTemplate, pgx.NamedArgs{"package": t.Package, "type": t.ProblemType}).Scan(&t.Body)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.NotFound, "unknown_template", "This template no longer exists.")
		}
		if err != nil {
			return fmt.Errorf("drop template: %w", err)
		}
		event := templateEvent("template.drop", t)
		event.Before = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

func templateEvent(action string, t crash.BugTemplate) db.AuditEvent {
	return db.AuditEvent{Person: t.By, Action: action, Subject: t.Package + "/" + t.ProblemType}
}
