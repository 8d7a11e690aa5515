package db

import (
	"bytes"
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// sqlCountSeen adds what a round has seen of buckets in releases. least() and greatest() pass over a null.
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

// occurrence is what one report says: when its crash happened, and in which version. It sorts as the type of the same name
// in the database.
type occurrence struct {
	seen    time.Time // to the microsecond, as PostgreSQL stores it
	key     []byte    // empty: dpkg cannot compare the version
	version string
}

func (a occurrence) compare(b occurrence) int {
	return cmp.Or(a.seen.Compare(b.seen), bytes.Compare(a.key, b.key), strings.Compare(a.version, b.version))
}

func newOccurrence(seen time.Time, version string, keys sortKeys) occurrence {
	key := keys.ofVersion(version)
	if key == nil {
		key = []byte{}
	}
	return occurrence{seen.Truncate(time.Microsecond), key, version}
}

// releaseSeenSum is what reports of one bucket from one release say together. It is a row of bucket_releases. An occurrence
// stands for a version in lowest and highest; its time means nothing there.
type releaseSeenSum struct {
	first, last     occurrence
	lowest, highest *occurrence // by version; nil: no version that dpkg can compare
}

func (s *releaseSeenSum) add(at occurrence) {
	if s.first.seen.IsZero() || at.compare(s.first) < 0 {
		s.first = at
	}
	if s.last.seen.IsZero() || at.compare(s.last) > 0 {
		s.last = at
	}
	if len(at.key) > 0 {
		s.addVersion(occurrence{key: at.key, version: at.version})
	}
}

func (s *releaseSeenSum) addVersion(version occurrence) {
	if s.lowest == nil || version.compare(*s.lowest) < 0 {
		s.lowest = &version
	}
	if s.highest == nil || version.compare(*s.highest) > 0 {
		s.highest = &version
	}
}

func (c *roundSum) addSeen(key bucketRelease, at occurrence) {
	sum := c.seen[key]
	if sum == nil {
		sum = &releaseSeenSum{}
		c.seen[key] = sum
	}
	sum.add(at)
}

func compareBucketReleases(a, b bucketRelease) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release))
}

// countSeen returns the statements that write when and in which versions buckets were seen, by release.
func (c *roundSum) countSeen() iter.Seq[statement] {
	return sortedInPieces(sqlCountSeen, c.seen, compareBucketReleases, func(keys []bucketRelease) pgx.NamedArgs {
		rows := column(keys, func(k bucketRelease) *releaseSeenSum { return c.seen[k] })
		args := seenArgs(rows)
		args["bucket"] = column(keys, func(k bucketRelease) []byte { return k.bucket[:] })
		args["release"] = column(keys, func(k bucketRelease) string { return k.release })
		return args
	})
}

// seenArgs returns the columns of rows of bucket_releases, without their keys.
func seenArgs(rows []*releaseSeenSum) pgx.NamedArgs {
	args := pgx.NamedArgs{}
	for name, of := range map[string]func(*releaseSeenSum) occurrence{
		"first": func(s *releaseSeenSum) occurrence { return s.first }, "last": func(s *releaseSeenSum) occurrence { return s.last },
	} {
		args[name+"_seen"] = column(rows, func(s *releaseSeenSum) time.Time { return of(s).seen })
		args[name+"_key"] = column(rows, func(s *releaseSeenSum) []byte { return of(s).key })
		args[name+"_version"] = column(rows, func(s *releaseSeenSum) string { return of(s).version })
	}
	for name, of := range map[string]func(*releaseSeenSum) *occurrence{
		"lowest": func(s *releaseSeenSum) *occurrence { return s.lowest }, "highest": func(s *releaseSeenSum) *occurrence { return s.highest },
	} {
		args[name+"_key"] = column(rows, func(s *releaseSeenSum) []byte { return orNone(of(s)).key })
		args[name+"_version"] = column(rows, func(s *releaseSeenSum) string { return orNone(of(s)).version })
	}
	return args
}

func orNone(o *occurrence) occurrence {
	if o == nil {
		return occurrence{}
	}
	return *o
}
