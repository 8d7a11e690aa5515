package rules

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

// members holds the source packages of the sets and teams in the scopes of rules, by rule.
type members map[int64]map[string]bool

const (
	// sqlWantMembers makes the tracker's archive facts about followed, watched and granted sets and
	// teams available, and lets them be updated. New facts are read within seconds.
	sqlWantMembers = `
		insert into archive_facts (kind, key, asked, next_read)
		select distinct kind, key, @now::timestamptz, @now::timestamptz from (
			select case kind when 'set' then 'set' else 'person' end,
				case kind when 'set' then @series || '/' || name else name end
			from followed where kind in ('set', 'person')
			union select case scope when 'set' then 'set' else 'person' end,
				case scope when 'set' then @series || '/' || scope_name else scope_name end
			from (select scope, scope_name from group_grants union select scope, scope_name from account_grants) as g
			where scope in ('set', 'team')
			union select unnest(@kinds::text[]), unnest(@keys::text[])
		) as w (kind, key) where key ~ '^[a-z0-9][a-z0-9+./-]*$' and length(key) <= 100
		order by kind, key
		on conflict (kind, key) do update set asked = excluded.asked
			where archive_facts.asked < excluded.asked - interval '1 day'`
	sqlMembers = `
		select kind, key, coalesce(array(select jsonb_array_elements_text(value -> 'names')), '{}')
		from archive_facts where (kind, key) in (select * from unnest(@kinds::text[], @keys::text[]))`
)

// series is the code name of the release whose package sets count, as on the page of followed
// packages.
func (s *Store) series() string {
	return crash.BuiltInReleases().Latest("Ubuntu", s.Now()).Codename()
}

// wants returns the archive facts that a scope needs.
func (s *Store) wants(scope rules.Scope) (kinds, keys []string) {
	for _, name := range scope.Names {
		switch scope.Kind {
		case rules.OfSet:
			kinds, keys = append(kinds, string(crash.ArchiveSet)), append(keys, s.series()+"/"+name)
		case rules.OfTeam:
			kinds, keys = append(kinds, string(crash.ArchivePerson)), append(keys, name)
		case rules.Everything, rules.OfPackage:
		}
	}
	return kinds, keys
}

// readMembers reads the packages of sets and teams. Those that the tracker has not been asked for
// yet have none.
func (r *round) readMembers(ctx context.Context) (members, error) {
	var kinds, keys []string
	for _, rule := range r.rules {
		k, names := r.store.wants(rule.Scope)
		kinds, keys = append(kinds, k...), append(keys, names...)
	}
	if _, err := r.store.Pool.Exec(ctx, sqlWantMembers, pgx.NamedArgs{
		"kinds": kinds, "keys": keys, "series": r.store.series(), "now": r.now,
	}); err != nil {
		return nil, fmt.Errorf("want packages of sets and teams: %w", db.Classify(err))
	}
	all := members{}
	if len(keys) == 0 {
		return all, nil
	}
	packages, err := r.store.packagesOf(ctx, kinds, keys)
	if err != nil {
		return nil, err
	}
	for _, rule := range r.rules {
		all[rule.ID] = r.store.membersOf(rule.Scope, packages)
	}
	return all, nil
}

// packagesOf reads the source packages of sets and teams, by kind and key.
func (s *Store) packagesOf(ctx context.Context, kinds, keys []string) (map[[2]string][]string, error) {
	rows, err := s.Pool.Query(ctx, sqlMembers, pgx.NamedArgs{"kinds": kinds, "keys": keys})
	if err != nil {
		return nil, fmt.Errorf("packages of sets and teams: %w", db.Classify(err))
	}
	packages := map[[2]string][]string{}
	var kind, key string
	var names []string
	if _, err := pgx.ForEachRow(rows, []any{&kind, &key, &names}, func() error {
		packages[[2]string{kind, key}], names = names, nil
		return nil
	}); err != nil {
		return nil, fmt.Errorf("packages of sets and teams: %w", db.Classify(err))
	}
	return packages, nil
}

// membersOf returns the source packages of the sets or teams of a scope.
func (s *Store) membersOf(scope rules.Scope, packages map[[2]string][]string) map[string]bool {
	some := map[string]bool{}
	kinds, keys := s.wants(scope)
	for i := range kinds {
		for _, name := range packages[[2]string{kinds[i], keys[i]}] {
			some[name] = true
		}
	}
	return some
}
