package rules

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	// followers selects those who follow an event's package or problem.
	followers = `
		select user_id, 1 as rank, kind, name from followed where @followers::boolean and (
			kind = 'package' and name <> '' and name in (@package, @source)
			or kind = 'problem' and name in (select encode(id, 'hex') from buckets where head = @bucket)
			or kind in ('set', 'person') and exists (
				select from archive_facts as a
				where a.kind = followed.kind and a.value -> 'names' ? @source::text
					and a.key = case followed.kind when 'set' then @series || '/' || followed.name else followed.name end
			))`
	// sqlRecipients omits people whom another rule has already told about the same change, and those who
	// may not read about it any more.
	sqlRecipients = `
		with whom as (` + followers + `
			union all
			select f.user_id, 1, 'search', f.name from unnest(@searchers::bigint[], @searches::text[]) as f (user_id, name)
			where @followers::boolean
			union all select id, 2, 'named', '' from unnest(@users::bigint[]) as id
			union all select id, 3, 'admin', '' from (` + db.Administrators + `) as a where @administrators::boolean
		), told as (
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where e.bucket_id = @bucket and right(e.edge, length(@change)) = @change
			union all
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where @bucket::bytea is null and e.bucket_id is null and e.at > @recent::timestamptz
				and right(e.edge, length(@change)) = @change
		)
		select distinct on (w.user_id) w.user_id, w.kind, w.name
		from whom as w
		where w.user_id in (` + db.Readers + `) and w.user_id not in (select user_id from told)
		order by w.user_id, w.rank, w.kind, w.name`
	sqlReceivers = `
		select p.id from endpoints as p
		where p.id = any(@endpoints) and p.disabled is null and not exists (
			select from events as e join deliveries as d on d.event_id = e.id
			where e.bucket_id = @bucket and d.endpoint_id = p.id and right(e.edge, length(@change)) = @change
		)
		order by p.id`
)

// notify publishes the event of an edge, which concerns these problems, to those whom the rule names,
// if there is anyone.
func (r *round) notify(ctx context.Context, tx pgx.Tx, e rules.Edge, problems ...crash.BucketID) error {
	var searchers []searchFollower
	for _, id := range problems {
		searchers = append(searchers, r.searched[id]...)
	}
	to, err := r.store.recipients(ctx, tx, e, searchers)
	if err != nil {
		return err
	}
	if len(to.People) == 0 && len(to.Endpoints) == 0 {
		return nil
	}
	e.Event.Edge = e.ID()
	_, err = r.store.Publish(ctx, tx, e.Event, to)
	return err
}

// querier is a transaction or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// recipients returns those whom a rule notifies of an edge. searchers follow searches that list its
// problem.
func (s *Store) recipients(ctx context.Context, q querier, e rules.Edge, searchers []searchFollower) (
	to crash.Recipients, err error,
) {
	a := e.Rule.Actions
	var bucket []byte
	if e.Event.Bucket != nil {
		bucket = e.Event.Bucket[:]
	}
	args := s.RightsArgs(pgx.NamedArgs{
		"followers": a.Followers, "administrators": a.Administrators, "users": a.Users, "endpoints": a.Endpoints,
		"package": e.Event.Package, "source": e.Event.Source, "bucket": bucket, "series": s.series(),
		"change": e.Change(), "recent": s.Now().Add(-stormLookBack),
	})
	users, names := make([]int64, len(searchers)), make([]string, len(searchers))
	for i, f := range searchers {
		users[i], names[i] = f.user, f.name
	}
	args["searchers"], args["searches"] = users, names
	rows, err := q.Query(ctx, sqlRecipients, args)
	if err != nil {
		return to, fmt.Errorf("recipients of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	to.People, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Recipient, err error) {
		var kind, name string
		err = row.Scan(&p.User, &kind, &name)
		p.Reason = reason(kind, name, e.Rule.Name)
		return p, err
	})
	if err != nil {
		return to, fmt.Errorf("recipients of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	if len(a.Endpoints) == 0 {
		return to, nil
	}
	rows, err = q.Query(ctx, sqlReceivers, args)
	if err != nil {
		return to, fmt.Errorf("endpoints of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	if to.Endpoints, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		return to, fmt.Errorf("endpoints of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	return to, nil
}

// reason says why a person gets an event.
func reason(kind, name, rule string) string {
	switch kind {
	case "named":
		return "the rule “" + rule + "” names you"
	case "admin":
		return "you are an administrator"
	case "problem":
		return "you follow this problem"
	case "search":
		return "you follow the search “" + name + "”"
	case "set":
		return "you follow the package set " + name
	case "person":
		return "you follow the packages of " + name
	}
	return "you follow " + name
}
