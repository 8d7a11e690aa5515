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

// The lowest and the highest version and release of a bucket. The order of versions and releases is that of this program's own
// comparison, not of the keys that are stored.
const (
	endsOfBuckets = `
		select b.id, b.head = any(select id from buckets), coalesce((b.first_version).version, ''), coalesce((b.last_version).version, ''),
			coalesce((b.first_release).release, ''), coalesce((b.last_release).release, ''),
			coalesce(v.versions, '{}'), coalesce(v.releases, '{}')
		from buckets as b
			left join (
				select bucket_id, array_agg(distinct version) as versions, array_agg(distinct release) as releases
				from bucket_versions group by bucket_id
			) as v on v.bucket_id = b.id
		where @everything or b.id in (select id from check_buckets)`
	keysOfVersions  = `select distinct version, version_key from bucket_versions where @everything or bucket_id in (select id from check_buckets)`
	homelessReports = `
		select r.id from check_reports as r where bucket_id is not null and not exists (select from buckets as b where b.id = r.bucket_id) limit @most`
)

// checkEnds compares the lowest and highest versions and releases of buckets with their rows by version, whose reports are
// compared elsewhere; compares first and last seen with the reports; sees that every head is there; and that the sortable keys are those of their versions.
func (c *checking) checkEnds(ctx context.Context) error {
	everything := pgx.NamedArgs{"everything": c.scope.Buckets == 0, "most": max(c.scope.Most, 1)}
	rows, err := c.Query(ctx, endsOfBuckets, everything)
	if err != nil {
		return fmt.Errorf("first and last: %w", err)
	}
	var (
		id                     crash.BucketID
		headThere              bool
		lowVersion, topVersion string
		lowRelease, topRelease string
		versions, releases     []string
	)
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &headThere, &lowVersion, &topVersion, &lowRelease,
		&topRelease, &versions, &releases}, func() error {
		c.result.Counts += 4
		if !headThere {
			c.differ("the problem that stands for another", id.String(), "", "a problem")
		}
		if r := rangeOf(versions); dpkg.Compare(r.Lowest, lowVersion) != 0 || dpkg.Compare(r.Highest, topVersion) != 0 {
			c.differ("first and last version of a problem", id.String(), lowVersion+" – "+topVersion, r.Lowest+" – "+r.Highest)
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
	return c.checkHomes(ctx, everything)
}

func (c *checking) checkKeys(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, keysOfVersions, args)
	if err != nil {
		return err
	}
	return c.compareKeys(rows)
}

// compareKeys compares the sortable keys of versions with those that this program makes.
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

// checkHomes finds reports whose bucket is not there.
func (c *checking) checkHomes(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, homelessReports, args)
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

func (c *checking) differ(count, of, kept, recounted string) {
	c.result.Found++
	same := 0
	for _, d := range c.result.Differences {
		if d.Count == count {
			same++
		}
	}
	if same < max(c.scope.Most, 1) {
		c.result.Differences = append(c.result.Differences, crash.Difference{Count: count, Of: of, Kept: kept,
			Recounted: recounted})
	}
}

// rangeOf returns the lowest and the highest of some versions.
func rangeOf(versions []string) (r dpkg.Range) {
	for _, v := range versions {
		r.Add(v)
	}
	return r
}
