package doors

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	keepPings = 400 // days of counts
	maxPings  = 200 // different pairs of release and architecture of a day
)

type pingKey struct {
	day time.Time
	crash.Ping
}

// CountPing counts a machine in memory.
func (s *Store) CountPing(p crash.Ping) {
	k := pingKey{crash.Midnight(s.Now()), p}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addPing(k, 1)
}

// addPing adds to a count. Machines choose the names, so it holds few; the rest is counted without them.
func (s *Store) addPing(k pingKey, machines int64) {
	if _, known := s.pings[k]; !known && len(s.pings) >= maxPings {
		k.Ping = crash.Ping{}
	}
	s.pings[k] += machines
}

// pingLock is the advisory lock for adding pings, so that instances together keep the limit of a day. The number is
// arbitrary.
const pingLock = int64(0x6d69735070696e67) // "misPping"

const (
	sqlLockPings = `select pg_advisory_xact_lock(@lock)`
	sqlAddPings  = `
		insert into ping_days as p (day, release, architecture, machines)
		select day, case when kept then release else '' end, case when kept then architecture else '' end,
			sum(machines)::bigint
		from (
			select c.day, c.release, c.architecture, c.machines, p.day is not null or @most >=
				(select count(*) from ping_days as o where o.day = c.day and o.release <> '') + row_number() over
					(partition by c.day, p.day is null
						order by c.release = '', c.machines desc, c.release, c.architecture) as kept
			from unnest(@days::date[], @releases::text[], @architectures::text[], @machines::bigint[])
				as c (day, release, architecture, machines)
			left join ping_days as p on (p.day, p.release, p.architecture) = (c.day, c.release, c.architecture)
		) as c
		group by 1, 2, 3 order by 1, 2, 3
		on conflict (day, release, architecture) do update set machines = p.machines + excluded.machines`
	sqlDeleteOldPings = `delete from ping_days where day < @first`
)

func writePings(ctx context.Context, tx pgx.Tx, pings map[pingKey]int64, today time.Time) error {
	first := pgx.NamedArgs{"first": today.AddDate(0, 0, -keepPings)}
	if len(pings) == 0 {
		return db.Exec(ctx, tx, first, sqlDeleteOldPings)
	}
	var days []time.Time
	var releases, architectures []string
	var machines []int64
	for k, n := range pings {
		days, machines = append(days, k.day), append(machines, n)
		releases, architectures = append(releases, string(k.Release)), append(architectures, k.Architecture)
	}
	if err := db.Exec(ctx, tx, pgx.NamedArgs{"lock": pingLock}, sqlLockPings); err != nil {
		return err
	}
	err := db.Exec(ctx, tx, pgx.NamedArgs{"days": days, "releases": releases, "architectures": architectures,
		"machines": machines, "most": maxPings}, sqlAddPings)
	if err != nil {
		return err
	}
	return db.Exec(ctx, tx, first, sqlDeleteOldPings)
}

const sqlPings = `
	select release, sum(machines)::bigint from ping_days where day = @day group by release order by 2 desc, 1`

// Pings returns how many machines said on a UTC day that they are there, the most frequent release first.
func (s *Store) Pings(ctx context.Context, day time.Time) ([]crash.PingCount, error) {
	counts, err := db.List(ctx, s.Pool, sqlPings, pgx.NamedArgs{"day": day}, db.Into(func(c *crash.PingCount) []any {
		return []any{&c.Release, &c.Machines}
	}))
	return counts, db.Wrap(err, "pings of a day")
}
