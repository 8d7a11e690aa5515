package symbols

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	// sqlKnownNames also records that the names are in use, at most once a day.
	sqlKnownNames = `
		with asked as (
			select * from unnest(@builds::text[], @places::bigint[], @callees::bigint[]) as a (build_id, place, callee)
		), used as (
			update build_names as n set used = now() from asked as a
			where n.build_id = a.build_id and n.place = a.place and n.callee = a.callee
				and n.used < now() - interval '1 day'
		)
		select n.build_id, n.place, n.callee, n.names from build_names as n join asked using (build_id, place, callee)`
	sqlLearnNames = `
		insert into build_names (build_id, place, callee, names)
		select * from unnest(@builds::text[], @places::bigint[], @callees::bigint[], @names::jsonb[])
		on conflict do nothing`
	sqlOldNames = `
		delete from build_names where used < now() - interval '90 days' or used <= (
			select used from build_names order by used desc offset @most limit 1)`
)

// maxNames is the number of places in builds whose names stay. A row has some 300 bytes.
const maxNames = 1_000_000

// KnownNames returns what the debugger has said about places in builds.
func (s *Store) KnownNames(ctx context.Context, places []crash.BuildPlace) (map[crash.BuildPlace][]byte, error) {
	found := map[crash.BuildPlace][]byte{}
	var p crash.BuildPlace
	var names []byte
	err := db.Each(ctx, s.Pool, sqlKnownNames, placeArgs(places), []any{&p.Build, &p.Offset, &p.Callee, &names}, func() {
		found[p] = append([]byte(nil), names...)
	})
	return found, db.Wrap(err, "names in builds")
}

// LearnNames stores the functions that the debugger has found at places in builds, so that no place is looked up twice.
func (s *Store) LearnNames(ctx context.Context, names map[crash.BuildPlace][]byte) error {
	if len(names) == 0 {
		return nil
	}
	places := slices.SortedFunc(maps.Keys(names), func(a, b crash.BuildPlace) int { // instances lock in one order
		return cmp.Or(cmp.Compare(a.Build, b.Build), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Callee, b.Callee))
	})
	args := placeArgs(places)
	texts := make([]string, len(places))
	for i, p := range places {
		texts[i] = string(names[p])
	}
	args["names"] = texts
	_, err := s.Pool.Exec(ctx, sqlLearnNames, args)
	return db.Wrap(err, "learn names in builds")
}

// ForgetNames removes the names of places that no report has had for a long time, and the least recently used ones
// above a limit.
func (s *Store) ForgetNames(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, sqlOldNames, pgx.NamedArgs{"most": maxNames})
	return db.Wrap(err, "forget names in builds")
}

func placeArgs(places []crash.BuildPlace) pgx.NamedArgs {
	builds, offsets, callees := make([]string, len(places)), make([]int64, len(places)), make([]int64, len(places))
	for i, p := range places {
		builds[i], offsets[i], callees[i] = p.Build, p.Offset, p.Callee
	}
	return pgx.NamedArgs{"builds": builds, "places": offsets, "callees": callees}
}
