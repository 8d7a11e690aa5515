package db

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// sqlCountSeen adds the first and the last occurrence of buckets in releases. least() and greatest() ignore a null.
const sqlCountSeen = `
	insert into bucket_releases as r (bucket_id, release, first_seen, last_seen, lowest_version, highest_version)
	select bucket_id, release, row(first_seen, first_key, first_version)::occurrence, row(last_seen, last_key, last_version)::occurrence,
		case when lowest_key is not null then row(lowest_key, lowest_version)::package_version end,
		case when highest_key is not null then row(highest_key, highest_version)::package_version end
	from unnest(@bucket::bytea[], @release::text[],
		@first_seen::timestamptz[], @first_key::bytea[], @first_version::text[],
		@last_seen::timestamptz[], @last_key::bytea[], @last_version::text[],
		@lowest_key::bytea[], @lowest_version::text[], @highest_key::bytea[], @highest_version::text[]
	) as t (bucket_id, release, first_seen, first_key, first_version, last_seen, last_key, last_version,
		lowest_key, lowest_version, highest_key, highest_version)
	on conflict (bucket_id, release) do update set
		first_seen = least(r.first_seen, excluded.first_seen), last_seen = greatest(r.last_seen, excluded.last_seen),
		lowest_version = least(r.lowest_version, excluded.lowest_version),
		highest_version = greatest(r.highest_version, excluded.highest_version)`

// newOccurrence returns what a report says. The time is rounded down to the microsecond, as
// PostgreSQL stores it.
func newOccurrence(seen time.Time, version string) crash.Occurrence {
	return crash.Occurrence{At: seen.Truncate(time.Microsecond), Version: version}
}

func (c *roundSum) addSeen(key bucketRelease, o crash.Occurrence) {
	span := c.seen[key]
	if span == nil {
		span = &crash.SeenSpan{}
		c.seen[key] = span
	}
	span.Add(o)
}

func compareBucketReleases(a, b bucketRelease) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release))
}

// seenArgs returns the columns of rows of bucket_releases, without the primary key.
func seenArgs(rows []*crash.SeenSpan, keys sortKeys) pgx.NamedArgs {
	args := pgx.NamedArgs{}
	for name, of := range map[string]func(*crash.SeenSpan) crash.Occurrence{
		"first": func(s *crash.SeenSpan) crash.Occurrence { return s.First },
		"last":  func(s *crash.SeenSpan) crash.Occurrence { return s.Last },
	} {
		args[name+"_seen"] = column(rows, func(s *crash.SeenSpan) time.Time { return of(s).At })
		args[name+"_key"] = column(rows, func(s *crash.SeenSpan) []byte {
			return append([]byte{}, keys.ofVersion(of(s).Version)...) // never null
		})
		args[name+"_version"] = column(rows, func(s *crash.SeenSpan) string { return of(s).Version })
	}
	for name, of := range map[string]func(*crash.SeenSpan) string{
		"lowest":  func(s *crash.SeenSpan) string { return s.Versions.Lowest },
		"highest": func(s *crash.SeenSpan) string { return s.Versions.Highest },
	} {
		args[name+"_key"] = column(rows, func(s *crash.SeenSpan) []byte { return keys.ofVersion(of(s)) })
		args[name+"_version"] = column(rows, of)
	}
	return args
}
