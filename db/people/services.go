package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const sqlServices = `
	select u.name, u.team_source, u.team, u.disabled, u.created,
		(select count(distinct p.id) from (` + db.CurrentGroups + `) as m
			join users as p on p.id = m.user_id and not p.disabled
			where m.source = u.team_source and m.group_name = u.team),
		count(t.id) filter (where t.revoked is null and t.expires > @now),
		min(t.expires) filter (where t.revoked is null and t.expires > @now), max(t.last_used)
	from users as u left join api_tokens as t on t.user_id = u.id
	where u.team <> '' and (@user::bigint = 0 or exists (
		select from (` + db.CurrentGroups + `) as m
		where m.user_id = @user and m.source = u.team_source and m.group_name = u.team))
	group by u.id order by lower(u.name)`

// ServiceAccounts returns the service accounts of the teams of a person, or all if user is 0, by name.
func (s *Store) ServiceAccounts(ctx context.Context, user int64) ([]crash.ServiceAccount, error) {
	args := s.store.RightsArgs(pgx.NamedArgs{"user": user, "now": s.store.Now()})
	rows, err := s.store.Pool.Query(ctx, sqlServices, args)
	if err != nil {
		return nil, fmt.Errorf("service accounts: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v crash.ServiceAccount, err error) {
		err = row.Scan(&v.Name, &v.Team.Source, &v.Team.Name, &v.Disabled, &v.Created, &v.Members, &v.Tokens,
			db.OrZero(&v.Expires), db.OrZero(&v.LastUsed))
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("service accounts: %w", db.Classify(err))
	}
	return all, nil
}

const sqlMembers = `
	select distinct u.name from (` + db.CurrentGroups + `) as m
		join users as u on u.id = m.user_id and not u.disabled
	where m.source = @source and m.group_name = @team order by u.name`

// TeamMembers returns the names of the people in a team as of their last sign-in, without disabled
// accounts.
func (s *Store) TeamMembers(ctx context.Context, team crash.Team) ([]string, error) {
	rows, err := s.store.Pool.Query(ctx, sqlMembers, s.store.RightsArgs(pgx.NamedArgs{"source": team.Source,
		"team": team.Name}))
	if err != nil {
		return nil, fmt.Errorf("members of a team: %w", db.Classify(err))
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("members of a team: %w", db.Classify(err))
	}
	return names, nil
}

const sqlSetTeam = `
	with old as (
		select id, team_source, team from users where lower(name) = lower(@name) and team <> '' for update
	)
	update users as u set team_source = @source, team = @team from old where u.id = old.id
	returning u.name, old.team_source, old.team`

// SetTeam gives a service account to another team. by is the person who does so, or empty for the
// command line. It returns Invalid for an invalid team, and NotFound if there is no service account
// of this name.
func (s *Store) SetTeam(ctx context.Context, by, name string, team crash.Team) error {
	if err := team.Check(); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		var old crash.Team
		args := pgx.NamedArgs{"name": name, "source": team.Source, "team": team.Name}
		err := tx.QueryRow(ctx, sqlSetTeam, args).Scan(&name, &old.Source, &old.Name)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.NotFound, "unknown_service", "There is no service account named %q.", name)
		}
		if err != nil {
			return fmt.Errorf("team of %q: %w", name, err)
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "user.team", Subject: name,
			Before: map[string]any{"team": old.String()}, After: map[string]any{"team": team.String()}})
	})
}
