package check

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/db"
)

// The check of the lowest and highest versions and releases compares versions and releases in Go.
// It does not rely on the sort keys in the database.
const (
	endsOfBuckets = `
		select b.id, b.head = any(select id from buckets),
			coalesce((b.first_version).version, ''), coalesce((b.last_version).version, ''),
			coalesce((b.first_release).release, ''), coalesce((b.last_release).release, ''),
			coalesce(v.versions, '{}'), coalesce(v.releases, '{}')
		from buckets as b
			left join (
				select bucket_id, array_agg(distinct version) as versions, array_agg(distinct release) as releases
				from bucket_versions group by bucket_id
			) as v on v.bucket_id = b.id
		where @everything or b.id in (select id from check_buckets)`
	keysOfVersions = `
		select distinct version, version_key from bucket_versions
		where @everything or bucket_id in (select id from check_buckets)`
	reportsWithoutBucket = `
		select r.id from check_reports as r
		where bucket_id is not null and not exists (select from buckets as b where b.id = r.bucket_id) limit @most`
)

// checkEnds checks the lowest and highest versions and releases of buckets against their counts by
// version, which another comparison checks. It also checks the first and last occurrences against
// the reports, the heads, the sort keys, and the buckets of reports.
func (c *checking) checkEnds(ctx context.Context) error {
	everything := pgx.NamedArgs{"everything": c.scope.Buckets == 0, "most": max(c.scope.Most, 1)}
	rows, err := c.Query(ctx, endsOfBuckets, everything)
	if err != nil {
		return fmt.Errorf("first and last: %w", err)
	}
	var (
		id                     crash.BucketID
		headExists             bool
		lowVersion, topVersion string
		lowRelease, topRelease string
		versions, releases     []string
	)
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &headExists, &lowVersion, &topVersion, &lowRelease,
		&topRelease, &versions, &releases}, func() error {
		c.result.Counts += 4
		if !headExists {
			c.differ("the problem that stands for another", id.String(), "", "a problem")
		}
		if r := rangeOf(versions); dpkg.Compare(r.Lowest, lowVersion) != 0 || dpkg.Compare(r.Highest, topVersion) != 0 {
			c.differ("first and last version of a problem", id.String(), lowVersion+" – "+topVersion,
				r.Lowest+" – "+r.Highest)
		}
		byRelease := func(a, b string) int { return db.CompareReleases(crash.Release(a), crash.Release(b)) }
		low, top := "", ""
		if releases = slices.DeleteFunc(releases, func(r string) bool { return r == "" }); len(releases) > 0 {
			low, top = slices.MinFunc(releases, byRelease), slices.MaxFunc(releases, byRelease)
		}
		if byRelease(low, lowRelease) != 0 || byRelease(top, topRelease) != 0 {
			c.differ("first and last release of a problem", id.String(), lowRelease+" – "+topRelease, low+" – "+top)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("first and last: %w", err)
	}
	if err := c.checkSeen(ctx, everything); err != nil {
		return fmt.Errorf("first and last seen: %w", err)
	}
	if err := c.checkKeys(ctx, everything); err != nil {
		return fmt.Errorf("keys of versions: %w", err)
	}
	return c.checkBuckets(ctx, everything)
}

func (c *checking) checkKeys(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, keysOfVersions, args)
	if err != nil {
		return err
	}
	return c.compareKeys(rows)
}

// compareKeys compares stored sort keys of versions with those that package dpkg computes.
func (c *checking) compareKeys(rows pgx.Rows) error {
	var version string
	var key []byte
	_, err := pgx.ForEachRow(rows, []any{&version, &key}, func() error {
		var want []byte
		if dpkg.Valid(version) {
			want = dpkg.Key(version)
		}
		if c.result.Counts++; !bytes.Equal(key, want) {
			c.differ("the place of a version in the order", version, fmt.Sprintf("%x", key), fmt.Sprintf("%x", want))
		}
		return nil
	})
	return err
}

// checkBuckets finds reports whose bucket does not exist.
func (c *checking) checkBuckets(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, reportsWithoutBucket, args)
	if err != nil {
		return err
	}
	var id crash.OopsID
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&id)}, func() error {
		c.differ("the problem of a report", id.String(), "", "a problem")
		return nil
	})
	return err
}

// differ adds a difference to the result. It lists at most scope.Most of each kind, but counts all.
func (c *checking) differ(count, of, stored, recounted string) {
	c.result.Found++
	same := 0
	for _, d := range c.result.Differences {
		if d.Count == count {
			same++
		}
	}
	if same < max(c.scope.Most, 1) {
		c.result.Differences = append(c.result.Differences, crash.Difference{
			Count: count, Of: of, Stored: stored, Recounted: recounted,
		})
	}
}

// rangeOf returns the lowest and the highest of some versions.
func rangeOf(versions []string) (r dpkg.Range) {
	for _, v := range versions {
		r.Add(v)
	}
	return r
}
