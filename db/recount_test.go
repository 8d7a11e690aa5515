package db_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/db"
	"mishap/db/dbtest"
)

// countedTables holds the contents of all count tables, as a line of text for each row.
type countedTables struct {
	Buckets, Seen, Systems, Travellers, Versions, Days, Reports, Releases, Active, Packages map[string]string
}

// checkCounts counts the stored reports again in Go, and compares the result with all stored
// counts.
func checkCounts(t *testing.T, url string) {
	t.Helper()
	checkCountsOf(t, url, dbtest.Open(t, url))
}

// checkCountsOf does the same through an open store.
func checkCountsOf(t *testing.T, url string, s *db.Store) {
	t.Helper()
	dbtest.Counted(t, s)
	for _, d := range checkStore(t, s, crash.CheckScope{Most: 3}).Differences {
		t.Errorf("check: %s of %s: kept %q, recounted %q", d.Count, d.Of, d.Stored, d.Recounted)
	}
	if diff := gocmp.Diff(recount(t, url), storedCounts(t, url)); diff != "" {
		t.Errorf("counts differ from the stored reports (-recounted +kept):\n%s", diff)
	}
}

func storedCounts(t *testing.T, url string) countedTables {
	return countedTables{
		Buckets: dbtest.Lines(t, url, `select encode(id, 'hex'), concat_ws('|', reports, systems,
			coalesce((first_version).version, '-'), coalesce((first_version).release, '-'),
			coalesce((last_version).version, '-'), coalesce((last_version).release, '-'),
			coalesce((first_release).release, '-'), coalesce((last_release).release, '-')) from buckets
			where reports <> 0 or systems <> 0 or exists (select from reports where bucket_id = buckets.id)`),
		Seen: dbtest.Lines(t, url, `select concat_ws('|', encode(bucket_id, 'hex'), release), concat_ws('|',
			extract(epoch from (first_seen).seen)::bigint, (first_seen).version,
			extract(epoch from (last_seen).seen)::bigint, (last_seen).version,
			coalesce((lowest_version).version, '-'), coalesce((highest_version).version, '-')) from bucket_releases`),
		Systems: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), system, release, version), reports::text from bucket_systems`),
		Travellers: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), version, system), extra::text from bucket_travellers`),
		Versions: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), release, version), reports || '|' || systems from bucket_versions`),
		Days: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), day, release, version, architecture, package_architecture),
				reports || '|' || proposed
			from bucket_days`),
		Reports: dbtest.Lines(t, url,
			`select concat_ws('|', day, release, package, version, architecture, problem_type, proposed::text),
			reports::text from report_days`),
		Releases: dbtest.Lines(t, url,
			`select concat_ws('|', day, release, architecture, problem_type, proposed::text), reports::text from release_days`),
		Active: dbtest.Lines(t, url, `select concat_ws('|', release, day), active::text from (
			select release, day, sum(change) over (partition by release order by day) as active, change from release_active
			) as a where change <> 0`),
		Packages: dbtest.Lines(t, url,
			`select concat_ws('|', package, release, version),
				to_char(arrived, 'YYYY-MM-DD HH24:MI:SS.US') || '|' || first_day
			from package_versions`),
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
	reports  int
	systems  map[string]bool
	versions []place
	releases []place
}

// seenCount holds when, and in which versions, a bucket occurred in a release.
type seenCount struct {
	reports  []seenPlace
	versions []place
}

type seenPlace struct {
	at time.Time
	place
}

func compareSeen(a, b seenPlace) int {
	return cmp.Or(a.at.Compare(b.at), comparePlaces(a.place, b.place))
}

// recounted sums up reports, one after another.
type recounted struct {
	buckets  map[string]*bucketCount
	seen     map[string]*seenCount // by bucket and release
	reports  map[string]int
	releases map[string]int
	versions map[string]int
	days     map[string][2]int                        // all reports, and those from the proposed pocket
	machines map[string]int                           // by cell and machine
	active   map[string]map[string]map[time.Time]bool // by release and machine: days with a report
	packages map[string][2]string                     // arrival of the first report, day of the oldest
}

// storedReport holds the properties of a report that counts depend on.
type storedReport struct {
	counted, proposed                                                         bool
	system, bucket, day, release, pkg, version, architecture, problemType, of string
	received                                                                  time.Time
	occurred                                                                  *time.Time
}

func recount(t *testing.T, url string) countedTables {
	t.Helper()
	c := recounted{
		buckets: map[string]*bucketCount{}, seen: map[string]*seenCount{}, reports: map[string]int{},
		releases: map[string]int{}, versions: map[string]int{},
		days: map[string][2]int{}, machines: map[string]int{}, active: map[string]map[string]map[time.Time]bool{},
		packages: map[string][2]string{},
	}
	conn := dbtest.Connect(t, url)
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `select counted, system, coalesce(encode(bucket_id, 'hex'), ''),
		day::text, received, occurred, release, package, version, architecture, problem_type, proposed,
		package_architecture from reports`)
	if err != nil {
		t.Fatal(err)
	}
	var r storedReport
	if _, err := pgx.ForEachRow(rows, []any{&r.counted, &r.system, &r.bucket, &r.day, &r.received, &r.occurred, &r.release,
		&r.pkg, &r.version,
		&r.architecture, &r.problemType, &r.proposed, &r.of}, func() error {
		c.add(r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return c.counts()
}

func (c *recounted) add(r storedReport) {
	if r.bucket != "" && c.buckets[r.bucket] == nil {
		c.buckets[r.bucket] = &bucketCount{systems: map[string]bool{}}
	}
	if !r.counted {
		return
	}
	c.reports[fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v", r.day, r.release, r.pkg, r.version, r.architecture, r.problemType,
		r.proposed)]++
	c.releases[fmt.Sprintf("%s|%s|%s|%s|%v", r.day, r.release, r.architecture, r.problemType, r.proposed)]++
	if at := r.received.UTC().Format("2006-01-02 15:04:05.000000"); r.pkg != "" && dpkg.Valid(r.version) {
		key := r.pkg + "|" + r.release + "|" + r.version
		if known, ok := c.packages[key]; ok {
			c.packages[key] = [2]string{min(known[0], at), min(known[1], r.day)}
		} else {
			c.packages[key] = [2]string{at, r.day}
		}
	}
	if r.system != "" {
		if c.active[r.release] == nil {
			c.active[r.release] = map[string]map[time.Time]bool{}
		}
		if c.active[r.release][r.system] == nil {
			c.active[r.release][r.system] = map[time.Time]bool{}
		}
		day, _ := time.Parse("2006-01-02", r.day)
		c.active[r.release][r.system][day] = true
	}
	if r.bucket == "" {
		return
	}
	cell := r.bucket + "|" + r.release + "|" + r.version
	c.versions[cell]++
	if r.system != "" {
		c.machines[cell+"|"+r.system]++
	}
	key := r.bucket + "|" + r.day + "|" + r.release + "|" + r.version + "|" + r.architecture + "|" + r.of
	n := c.days[key]
	n[0]++
	if r.proposed {
		n[1]++
	}
	c.days[key] = n
	seen := r.received
	if r.occurred != nil && r.occurred.UTC().Format("2006-01-02") == r.day {
		seen = *r.occurred
	}
	c.buckets[r.bucket].add(r.system, r.release, r.version)
	if c.seen[r.bucket+"|"+r.release] == nil {
		c.seen[r.bucket+"|"+r.release] = &seenCount{}
	}
	c.seen[r.bucket+"|"+r.release].add(seen, r.version)
}

// counts returns the results in the form of the tables.
func (c *recounted) counts() countedTables {
	text := func(sums map[string]int) map[string]string {
		found := map[string]string{}
		for key, n := range sums {
			found[key] = fmt.Sprint(n)
		}
		return found
	}
	all := countedTables{
		Buckets: map[string]string{}, Seen: map[string]string{}, Systems: map[string]string{}, Versions: map[string]string{},
		Days:       map[string]string{},
		Travellers: map[string]string{}, Reports: text(c.reports), Releases: text(c.releases), Active: c.activity(),
		Packages: map[string]string{},
	}
	for key, use := range c.packages {
		all.Packages[key] = use[0] + "|" + use[1]
	}
	for id, b := range c.buckets {
		all.Buckets[id] = b.String()
	}
	for key, s := range c.seen {
		all.Seen[key] = s.String()
	}
	inCell, releases := map[string]int{}, map[string]int{}
	for key, n := range c.machines {
		at := strings.LastIndexByte(key, '|')
		inCell[key[:at]]++
		bucket, cell, _ := strings.Cut(key[:at], "|")
		system := systemKey(key[at+1:])
		all.Systems[fmt.Sprintf("%s|%d|%s", bucket, system, cell)] = fmt.Sprint(n)
		_, version, _ := strings.Cut(cell, "|")
		traveller := fmt.Sprintf("%s|%s|%d", bucket, version, system)
		if releases[traveller]++; releases[traveller] > 1 {
			all.Travellers[traveller] = fmt.Sprint(releases[traveller] - 1)
		}
	}
	for cell, n := range c.versions {
		all.Versions[cell] = fmt.Sprintf("%d|%d", n, inCell[cell])
	}
	for key, n := range c.days {
		all.Days[key] = fmt.Sprintf("%d|%d", n[0], n[1])
	}
	return all
}

func systemKey(system string) int64 {
	sum := sha256.Sum256([]byte(system))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// activity returns the number of active machines for each day on which it changes. A machine is
// active for 90 days, starting with the day of its report.
func (c *recounted) activity() map[string]string {
	found := map[string]string{}
	for release, machines := range c.active {
		active := map[time.Time]int{}
		for _, days := range machines {
			covered := map[time.Time]bool{}
			for day := range days {
				for i := range 90 {
					covered[day.AddDate(0, 0, i)] = true
				}
			}
			for day := range covered {
				active[day]++
			}
		}
		for day := range active {
			for _, at := range []time.Time{day, day.AddDate(0, 0, 1)} {
				if active[at] != active[at.AddDate(0, 0, -1)] {
					found[release+"|"+at.Format("2006-01-02")] = fmt.Sprint(active[at])
				}
			}
		}
	}
	return found
}

func (s *seenCount) add(at time.Time, version string) {
	in := place{version: version}
	if dpkg.Valid(version) {
		in.versionKey = dpkg.Key(version)
		s.versions = append(s.versions, in)
	}
	s.reports = append(s.reports, seenPlace{at, in})
}

func (s *seenCount) String() string {
	first, last := slices.MinFunc(s.reports, compareSeen), slices.MaxFunc(s.reports, compareSeen)
	lowest, highest := ends(s.versions)
	return fmt.Sprintf("%d|%s|%d|%s|%s|%s", roundSeconds(first.at), first.version, roundSeconds(last.at), last.version,
		lowest.version, highest.version)
}

func (b *bucketCount) add(system, release, version string) {
	b.reports++
	if system != "" {
		b.systems[system] = true
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
	firstVersion, lastVersion := ends(b.versions)
	firstRelease, lastRelease := ends(b.releases)
	return fmt.Sprintf("%d|%d|%s|%s|%s|%s|%s|%s", b.reports, len(b.systems), firstVersion.version, firstVersion.release,
		lastVersion.version, lastVersion.release, firstRelease.release, lastRelease.release)
}

// roundSeconds rounds in the same way as PostgreSQL when it converts a time to whole seconds.
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
