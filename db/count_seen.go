package db

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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

// occurrence is the time and the version of one crash. It sorts as the type of the same name in the database.
type occurrence struct {
	seen    time.Time // to the microsecond, as PostgreSQL stores it
	key     []byte    // empty: dpkg rejects the version
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

// releaseSeenSum is a row of bucket_releases: the reports of one bucket from one release. Lowest and highest have no time.
type releaseSeenSum struct {
	first, last     occurrence
	lowest, highest *occurrence // by version; nil: dpkg rejects all of them
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

func compareBucketReleases(a, b bucketRelease) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release))
}

// seenArgs returns the columns of rows of bucket_releases, without their keys.
func seenArgs(rows []*releaseSeenSum) pgx.NamedArgs {
	versionOf := func(o *occurrence) occurrence {
		if o == nil {
			return occurrence{}
		}
		return *o
	}
	args := pgx.NamedArgs{
		"first_seen": column(rows, func(s *releaseSeenSum) time.Time { return s.first.seen }),
		"last_seen":  column(rows, func(s *releaseSeenSum) time.Time { return s.last.seen }),
	}
	for name, of := range map[string]func(*releaseSeenSum) occurrence{
		"first": func(s *releaseSeenSum) occurrence { return s.first }, "lowest": func(s *releaseSeenSum) occurrence { return versionOf(s.lowest) },
		"last": func(s *releaseSeenSum) occurrence { return s.last }, "highest": func(s *releaseSeenSum) occurrence { return versionOf(s.highest) },
	} {
		args[name+"_key"] = column(rows, func(s *releaseSeenSum) []byte { return of(s).key })
		args[name+"_version"] = column(rows, func(s *releaseSeenSum) string { return of(s).version })
	}
	return args
}
