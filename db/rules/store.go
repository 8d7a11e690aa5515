// Package rules stores rules, evaluates them after counting, and stores what they have seen, so
// that a restart or another instance does not repeat anything. It stores the problems that rules
// propose for filing, and rehearses rules on stored reports. Package notify/rules has the
// conditions.
package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

// Store stores rules. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }

var (
	errNoRule   = crash.Errorf(crash.NotFound, "no_such_rule", "There is no such rule.")
	errRuleName = crash.Errorf(crash.Conflict, "rule_name_taken", "Another rule has this name. Choose another name.")
)

const (
	ruleColumns = `id, name, scope, names, kind, machines, weeks, actions, enabled, author, created, editor, changed,
		since, prepared, failure, failed, deleted is not null`
	sqlRules      = `select ` + ruleColumns + ` from rules where deleted is null order by lower(name), id`
	sqlRule       = `select ` + ruleColumns + ` from rules where id = @id`
	sqlLockRule   = `select ` + ruleColumns + ` from rules where id = @id for update`
	sqlInsertRule = `
		insert into rules (name, scope, names, kind, machines, weeks, actions, enabled, author, created, editor, changed,
			since)
		values (@name, @scope, @names, @kind, @machines, @weeks, @actions, @enabled, @person, @now, @person, @now, @now)
		returning id`
	// sqlChangeRule also removes the last failure, since the change may be meant to fix it.
	sqlChangeRule = `
		update rules set name = @name, scope = @scope, names = @names, kind = @kind, machines = @machines, weeks = @weeks,
			actions = @actions, enabled = @enabled, editor = @person, changed = @now, failure = '', failed = null,
			since = case when @anew then @now else since end, prepared = prepared and not @anew
		where id = @id`
	sqlDeleteRule = `update rules set deleted = case when @deleted then @now::timestamptz end, editor = @person,
			changed = @now, since = @now, prepared = false
		where id = @id and (deleted is null) = @deleted`
	// sqlRuleActivity counts an edge once, although each bucket of a problem has a row.
	sqlRuleActivity = `
		select rule_id, max(at), count(distinct (head, version, at)) filter (where at >= @since) from (
			select e.rule_id, coalesce(b.head, e.bucket_id) as head, e.version, e.at
			from rule_edges as e left join buckets as b on b.id = e.bucket_id
			where e.outcome = 'done' and e.rule_id in (select id from rules where deleted is null)
		) as edges group by rule_id`
)

func scanRule(row pgx.CollectableRow) (r rules.Rule, err error) {
	var actions []byte
	err = row.Scan(&r.ID, &r.Name, &r.Scope.Kind, &r.Scope.Names, &r.When, &r.Machines, &r.Weeks, &actions, &r.Enabled,
		&r.Author, &r.Created, &r.Editor, &r.Changed, &r.Since, &r.Prepared, &r.Failure, db.OrZero(&r.Failed), &r.Deleted)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(actions, &r.Actions)
}

// Rules returns all rules, by name, without deleted ones.
func (s *Store) Rules(ctx context.Context) ([]rules.Rule, error) {
	rows, err := s.Pool.Query(ctx, sqlRules)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, scanRule)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", db.Classify(err))
	}
	return all, nil
}

// Rule returns a rule, even if it is deleted. It returns NotFound if there is none with this id.
func (s *Store) Rule(ctx context.Context, id int64) (rules.Rule, error) {
	rows, err := s.Pool.Query(ctx, sqlRule, pgx.NamedArgs{"id": id})
	return oneRule(rows, err)
}

func oneRule(rows pgx.Rows, err error) (rules.Rule, error) {
	var r rules.Rule
	if err == nil {
		r, err = pgx.CollectExactlyOneRow(rows, scanRule)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return r, errNoRule
	}
	if err != nil {
		return r, fmt.Errorf("rule: %w", db.Classify(err))
	}
	return r, nil
}

// SaveRule stores a rule that Check accepts: a new one if its id is 0. A rule whose condition has
// changed, or that was off, starts anew: it ignores what happened before. It returns Conflict if
// another rule has the name, and Invalid if a rule that is on names somebody who does not exist or may not
// read reports.
func (s *Store) SaveRule(ctx context.Context, r rules.Rule, person string) (int64, error) {
	actions, err := json.Marshal(r.Actions)
	if err != nil {
		return 0, fmt.Errorf("save rule: %w", err)
	}
	names := r.Scope.Names
	if names == nil {
		names = []string{}
	}
	args := pgx.NamedArgs{"id": r.ID, "name": r.Name, "scope": r.Scope.Kind, "names": names, "kind": r.When,
		"machines": r.Machines, "weeks": r.Weeks, "actions": actions, "enabled": r.Enabled, "person": person, "now": s.Now()}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.checkPeople(ctx, tx, r); r.Enabled && err != nil {
			return err
		}
		action, before := "rule.change", map[string]any(nil)
		if r.ID == 0 {
			action = "rule.create"
			if err := tx.QueryRow(ctx, sqlInsertRule, args).Scan(&r.ID); err != nil {
				return err
			}
		} else {
			rows, err := tx.Query(ctx, sqlLockRule, args)
			old, err := oneRule(rows, err)
			if err == nil && old.Deleted {
				err = errNoRule
			}
			if err != nil {
				return err
			}
			before = auditedRule(old)
			args["anew"] = !old.SameCondition(r) || r.Enabled && !old.Enabled
			if _, err := tx.Exec(ctx, sqlChangeRule, args); err != nil {
				return err
			}
		}
		return s.auditRule(ctx, tx, person, action, before, r)
	})
	return r.ID, ruleError("save rule", err)
}

// checkPeople returns Invalid if a rule names somebody who does not exist or may not read reports.
func (s *Store) checkPeople(ctx context.Context, tx pgx.Tx, r rules.Rule) error {
	rows, err := tx.Query(ctx, sqlStrangers, s.RightsArgs(pgx.NamedArgs{"users": r.Actions.Users,
		"assign": r.Actions.Assign}))
	if err != nil {
		return err
	}
	strangers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(strangers) == 0 {
		return err
	}
	return crash.Errorf(crash.Invalid, "unknown_people", "%s", rules.UnknownPeople(strangers))
}

// DeleteRule deletes a rule, or restores a deleted one, which starts anew. It returns NotFound if
// there is no such rule, and Conflict if a rule to restore has the name of another.
func (s *Store) DeleteRule(ctx context.Context, id int64, deleted bool, person string) (r rules.Rule, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id, "deleted": deleted, "person": person, "now": s.Now()}
		tag, err := tx.Exec(ctx, sqlDeleteRule, args)
		if err == nil && tag.RowsAffected() == 0 {
			err = errNoRule
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlRule, args)
		if r, err = oneRule(rows, err); err != nil {
			return err
		}
		event := db.AuditEvent{Person: person, Action: "rule.restore", Subject: r.Name, After: auditedRule(r),
			Detail: map[string]any{"rule": r.ID}}
		if deleted {
			event.Action, event.Before, event.After = "rule.delete", event.After, nil
		}
		return s.Audit(ctx, tx, event)
	})
	return r, ruleError("delete rule", err)
}

func (s *Store) auditRule(ctx context.Context, tx pgx.Tx, person, action string, before map[string]any,
	r rules.Rule) error {
	return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: r.Name, Before: before,
		After: auditedRule(r), Detail: map[string]any{"rule": r.ID}})
}

// auditedRule returns what the audit log says about a rule.
func auditedRule(r rules.Rule) map[string]any {
	return map[string]any{"name": r.Name, "on": r.Enabled, "does": r.Sentence()}
}

// ruleError wraps an error of the database. A duplicate name is a Conflict.
func ruleError(what string, err error) error {
	if err == nil {
		return nil
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.ConstraintName == "rules_name" {
		return errRuleName
	}
	return fmt.Errorf("%s: %w", what, db.Classify(err))
}

// Activity returns what rules have done, by id. It counts the edges of the days that rehearsals cover.
func (s *Store) Activity(ctx context.Context) (map[int64]rules.Activity, error) {
	since, _ := crash.LastDays(s.Now(), rules.RehearsalDays)
	rows, err := s.Pool.Query(ctx, sqlRuleActivity, pgx.NamedArgs{"since": since})
	if err != nil {
		return nil, fmt.Errorf("activity of rules: %w", db.Classify(err))
	}
	all := map[int64]rules.Activity{}
	var id int64
	var a rules.Activity
	_, err = pgx.ForEachRow(rows, []any{&id, &a.Last, &a.Recent}, func() error {
		all[id] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("activity of rules: %w", db.Classify(err))
	}
	return all, nil
}

// Endpoint is another program that rules can notify.
type Endpoint struct {
	ID   int64
	Name string
}

const (
	sqlEndpoints  = `select id, name from endpoints where disabled is null order by lower(name), id`
	sqlAccountIDs = `select id, name from users where lower(name) = any(@names) and id in (` + db.Readers + `)`
	// sqlStrangers selects the people whom a rule names and who may not read reports.
	sqlStrangers = `
		select coalesce(u.name, 'number ' || w.id) from unnest(@users::bigint[]) as w (id) left join users as u on u.id = w.id
		where w.id not in (` + db.Readers + `)
		union
		select @assign::text where @assign <> '' and @assign not like '~%' and not exists (
			select from users where lower(name) = lower(@assign) and id in (` + db.Readers + `))
		order by 1`
)

// Endpoints returns the programs that rules can notify, by name.
func (s *Store) Endpoints(ctx context.Context) ([]Endpoint, error) {
	rows, err := s.Pool.Query(ctx, sqlEndpoints)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Endpoint])
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", db.Classify(err))
	}
	return all, nil
}

// AccountIDs returns the ids of accounts that may read reports by name, whatever the case, and the names
// without such an account.
func (s *Store) AccountIDs(ctx context.Context, names []string) (ids []int64, unknown []string, err error) {
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	rows, err := s.Pool.Query(ctx, sqlAccountIDs, s.RightsArgs(pgx.NamedArgs{"names": lower}))
	if err != nil {
		return nil, nil, fmt.Errorf("accounts: %w", db.Classify(err))
	}
	known := map[string]int64{}
	var id int64
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		known[strings.ToLower(name)] = id
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("accounts: %w", db.Classify(err))
	}
	for i, name := range names {
		if id, ok := known[lower[i]]; !ok {
			unknown = append(unknown, name)
		} else if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, unknown, nil
}
