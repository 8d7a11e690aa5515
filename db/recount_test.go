package db_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// counts are the contents of all tables that are counted from reports, one line of text for each row.
type counts struct {
	Buckets, Systems, Versions, Days, Totals, Reports, Packages map[string]string
}

// checkCounts counts the stored reports again, in another way than the store does, and compares all that it keeps.
func checkCounts(t *testing.T, url string) {
	t.Helper()
	if diff := gocmp.Diff(recount(t, url), storedCounts(t, url)); diff != "" {
		t.Errorf("counts differ from the stored reports (-recounted +kept):\n%s", diff)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// lines reads a query of two texts into a map.
func lines(t *testing.T, url, sql string) map[string]string {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	found := map[string]string{}
	var key, value string
	if _, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		found[key] = value
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

func storedCounts(t *testing.T, url string) counts {
	return counts{
		Buckets: lines(t, url, `select encode(id, 'hex'), concat_ws('|', reports, systems,
			coalesce(extract(epoch from first_seen)::bigint::text, '-'), coalesce(extract(epoch from last_seen)::bigint::text, '-'),
			coalesce((first_version).version, '-'), coalesce((first_version).release, '-'),
			coalesce((last_version).version, '-'), coalesce((last_version).release, '-'),
			coalesce((first_release).release, '-'), coalesce((last_release).release, '-')) from buckets`),
		Systems:  lines(t, url, `select encode(bucket_id, 'hex') || encode(system, 'hex'), '' from bucket_systems`),
		Versions: lines(t, url, `select concat_ws('|', encode(bucket_id, 'hex'), release, version), reports::text from bucket_versions`),
		Days:     lines(t, url, `select concat_ws('|', encode(bucket_id, 'hex'), day, release, version, architecture), reports::text from bucket_days`),
		Totals:   lines(t, url, `select concat_ws('|', day, release, encode(bucket_id, 'hex')), reports::text from bucket_day_totals`),
		Reports: lines(t, url, `select concat_ws('|', day, release, package, version, architecture, problem_type, proposed::text),
			reports::text from report_days`),
		Packages: lines(t, url, `select concat_ws('|', package, release, version), to_char(arrived, 'YYYY-MM-DD HH24:MI:SS.US') from package_versions`),
	}
}

type place struct {
	versionKey                   []byte
	releaseKey, version, release string
}

func comparePlaces(a, b place) int {
	return cmp.Or(bytes.Compare(a.versionKey, b.versionKey), cmp.Compare(a.releaseKey, b.releaseKey),
		cmp.Compare(a.version, b.version), cmp.Compare(a.release, b.release))
}

type bucketCount struct {
	reports     int
	systems     map[string]bool
	first, last time.Time
	versions    []place
	releases    []place
}

func recount(t *testing.T, url string) counts {
	t.Helper()
	c := counts{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	buckets := map[string]*bucketCount{}
	sums := map[*map[string]string]map[string]int{&c.Versions: {}, &c.Days: {}, &c.Totals: {}, &c.Reports: {}}
	rows, err := connect(t, url).Query(t.Context(), `select counted, system, coalesce(encode(bucket_id, 'hex'), ''),
		day::text, received, occurred, release, package, version, architecture, problem_type, proposed from reports`)
	if err != nil {
		t.Fatal(err)
	}
	var (
		counted, proposed                                                     bool
		system, bucket, day, release, pkg, version, architecture, problemType string
		received                                                              time.Time
		occurred                                                              *time.Time
	)
	if _, err := pgx.ForEachRow(rows, []any{&counted, &system, &bucket, &day, &received, &occurred, &release, &pkg, &version,
		&architecture, &problemType, &proposed}, func() error {
		if bucket != "" && buckets[bucket] == nil {
			buckets[bucket] = &bucketCount{systems: map[string]bool{}}
		}
		if !counted {
			return nil
		}
		sums[&c.Reports][fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v", day, release, pkg, version, architecture, problemType, proposed)]++
		if at := received.UTC().Format("2006-01-02 15:04:05.000000"); pkg != "" && dpkg.Valid(version) {
			key := pkg + "|" + release + "|" + version
			if known, ok := c.Packages[key]; !ok || at < known {
				c.Packages[key] = at
			}
		}
		if bucket == "" {
			return nil
		}
		sums[&c.Versions][bucket+"|"+release+"|"+version]++
		sums[&c.Days][bucket+"|"+day+"|"+release+"|"+version+"|"+architecture]++
		sums[&c.Totals][day+"|"+release+"|"+bucket]++
		seen := received
		if occurred != nil && occurred.UTC().Format("2006-01-02") == day {
			seen = *occurred
		}
		buckets[bucket].add(seen, system, release, version)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for table, sum := range sums {
		for key, n := range sum {
			(*table)[key] = fmt.Sprint(n)
		}
	}
	for id, b := range buckets {
		c.Buckets[id] = b.String()
		for system := range b.systems {
			c.Systems[id+system] = ""
		}
	}
	return c
}

func (b *bucketCount) add(seen time.Time, system, release, version string) {
	b.reports++
	if system != "" {
		sum := sha256.Sum256([]byte(system))
		b.systems[fmt.Sprintf("%x", sum[:16])] = true
	}
	if b.first.IsZero() || seen.Before(b.first) {
		b.first = seen
	}
	if seen.After(b.last) {
		b.last = seen
	}
	at := place{releaseKey: crash.Release(release).Key(), version: version, release: release}
	if release != "" {
		b.releases = append(b.releases, place{releaseKey: at.releaseKey, release: release})
	}
	if dpkg.Valid(version) {
		at.versionKey = dpkg.Key(version)
		b.versions = append(b.versions, at)
	}
}

func (b *bucketCount) String() string {
	first, last := "-", "-"
	if !b.first.IsZero() {
		first, last = fmt.Sprint(roundSeconds(b.first)), fmt.Sprint(roundSeconds(b.last))
	}
	firstVersion, lastVersion := ends(b.versions)
	firstRelease, lastRelease := ends(b.releases)
	return fmt.Sprintf("%d|%d|%s|%s|%s|%s|%s|%s|%s|%s", b.reports, len(b.systems), first, last, firstVersion.version, firstVersion.release,
		lastVersion.version, lastVersion.release, firstRelease.release, lastRelease.release)
}

// roundSeconds rounds as PostgreSQL does when it makes a whole number of the time.
func roundSeconds(t time.Time) int64 { return t.Round(time.Second).Unix() }

func ends(places []place) (first, last place) {
	if len(places) == 0 {
		none := place{version: "-", release: "-"}
		return none, none
	}
	first, last = places[0], places[0]
	for _, p := range places {
		if comparePlaces(p, first) < 0 {
			first = p
		}
		if comparePlaces(p, last) > 0 {
			last = p
		}
	}
	return first, last
}
