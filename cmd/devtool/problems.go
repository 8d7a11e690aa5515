package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/version"
)

// problemLoad fills a database with problems and their counts, without reports. It marks the reports as
// dropped by retention, so mishap check compares the counts with each other. There are no rows of
// bucket_systems: the numbers of machines are invented.
type problemLoad struct {
	ids  []loadedProblem // sorted by id, so that indexes grow at their end
	c    float64         // reports of a problem of weight 1
	now  time.Time
	pool *pgxpool.Pool
}

type loadedProblem struct {
	id crash.BucketID
	k  int // rank: the most common problem is the first
}

const (
	loadDays    = 400
	loadChunk   = 2000   // problems that one transaction stores
	loadCells   = 10     // average number of rows of bucket_days of a problem
	loadSamples = 20_000 // reports of a problem from which the others are extrapolated
)

var loadReleases = []struct {
	name crash.Release
	part float64 // cumulative share
}{{"Ubuntu 24.04", 0.52}, {"Ubuntu 26.04", 0.80}, {"Ubuntu 22.04", 0.97}, {"Debian 13", 1}}

const sqlLoadTotals = `
	insert into report_days (package, day, release, version, architecture, problem_type, proposed, reports)
	select b.package, d.day, d.release, d.version, d.architecture, b.problem_type, false, sum(d.reports)
	from bucket_days as d join buckets as b on b.id = d.bucket_id group by 1, 2, 3, 4, 5, 6;

	insert into release_days (day, release, architecture, problem_type, proposed, reports)
	select day, release, architecture, problem_type, proposed, sum(reports) from report_days group by 1, 2, 3, 4, 5;

	insert into releases (release) select distinct release from release_days on conflict do nothing;

	insert into package_versions (package, release, version, version_key, arrived, first_day)
	select d.package, d.release, d.version, k.version_key, min(d.day), min(d.day)
	from report_days as d join (select distinct on (version) version, version_key from bucket_versions) as k
		on k.version = d.version
	group by 1, 2, 3, 4;

	insert into dropped_months (month, reports, dropped)
	select date_trunc('month', now() at time zone 'UTC'), sum(reports), now() from release_days;

	update counting set round = round + 1, versions_changed = round + 1, hours_since = current_date + 2`

// loadProblems stores n problems in an empty database.
func loadProblems(ctx context.Context, url string, n int, errOut, out io.Writer) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	var used bool
	if err := pool.QueryRow(ctx, `select exists (select from buckets)`).Scan(&used); err != nil {
		return err
	}
	if used {
		return errors.New("the database has problems already; use an empty one, or --fill to add reports")
	}
	began := time.Now()
	l := &problemLoad{c: problemScale(n), now: time.Now().UTC(), pool: pool, ids: make([]loadedProblem, n)}
	if err := l.run(ctx, errOut); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, sqlLoadTotals); err != nil {
		return fmt.Errorf("totals: %w", err)
	}
	if _, err := pool.Exec(ctx, `vacuum analyze`); err != nil {
		return err
	}
	var problems, days int64
	if err := pool.QueryRow(ctx, `select (select count(*) from buckets), (select count(*) from bucket_days)`).Scan(
		&problems, &days); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d problems with %d daily counts stored in %s\n", problems, days,
		time.Since(began).Round(time.Second))
	return err
}

// problemWeight is the share of a problem of a rank: Zipf's distribution as in [crashtest.Volume].
func problemWeight(k int) float64 { return math.Pow(float64(k+12), -1.15) }

// problemScale returns the number of reports of a problem of weight 1 at which n problems have loadCells
// daily counts each, on average.
func problemScale(n int) float64 {
	low, high := 1.0, 1e12
	for high/low > 1.01 {
		c, cells := math.Sqrt(low*high), 0.0
		for k := range n {
			reports := max(1, c*problemWeight(k))
			cells += min(reports, 2500*(1-math.Exp(-reports/2500))) // a problem has at most about 2,500
		}
		if cells < loadCells*float64(n) {
			low = c
		} else {
			high = c
		}
	}
	return low
}

// source returns the random numbers of a problem.
func (l *problemLoad) source(k int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(k), 7)) //nolint:gosec // invented data
}

func (l *problemLoad) run(ctx context.Context, errOut io.Writer) error {
	chunks := (len(l.ids) + loadChunk - 1) / loadChunk
	bar := progress(errOut, 2*chunks, "filling the database")
	defer bar.Finish() //nolint:errcheck // only shows the progress
	each := func(do func(context.Context, []loadedProblem, int) error) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for n := range chunks {
			group.Go(func() error {
				first := n * loadChunk
				err := do(ctx, l.ids[first:min(first+loadChunk, len(l.ids))], first)
				_ = bar.Add(1)
				return err
			})
		}
		return group.Wait()
	}
	if err := each(func(_ context.Context, some []loadedProblem, first int) error {
		for i := range some {
			_, g := l.problem(first + i)
			some[i] = loadedProblem{crash.BucketIDOf(g.Signature), first + i}
		}
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(l.ids, func(a, b loadedProblem) int {
		return cmp.Or(bytes.Compare(a.id[:], b.id[:]), cmp.Compare(a.k, b.k))
	})
	l.ids = slices.CompactFunc(l.ids, func(a, b loadedProblem) bool { return a.id == b.id })
	chunks = (len(l.ids) + loadChunk - 1) / loadChunk
	return each(func(ctx context.Context, some []loadedProblem, _ int) error { return l.store(ctx, some) })
}

func (l *problemLoad) problem(k int) (crash.Fields, crash.Grouping) {
	f := crashtest.VolumeProblem(k, 0, l.source(k))
	// Programs and functions have no long numbers, which redaction would look at.
	name, _, _ := strings.Cut(f["Package"], " ")
	number := fmt.Sprintf("step_%d", k)
	words := strings.NewReplacer(name, loadDigits.Replace(name), number, loadDigits.Replace(number))
	for field := range f {
		f[field] = words.Replace(f[field])
	}
	f["SourcePackage"] = loadDigits.Replace(f["SourcePackage"])
	return f, grouping.SignatureOf(f)
}

var loadDigits = strings.NewReplacer("0", "b", "1", "d", "2", "g", "3", "h", "4", "j", "5", "k", "6", "m", "7", "p",
	"8", "q", "9", "t")

// loadRows are the rows of a chunk in PostgreSQL's text format.
type loadRows struct{ buckets, releases, versions, days bytes.Buffer }

func (l *problemLoad) store(ctx context.Context, some []loadedProblem) error {
	var rows loadRows
	keys := map[string][]byte{}
	for _, p := range some {
		l.rows(p, &rows, keys)
	}
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		for _, table := range []struct {
			sql  string
			rows *bytes.Buffer
		}{
			{`copy buckets (id, head, signature, rule, provisional, problem_type, title, executable, package,
				source_package, reports, systems, first_version, last_version, first_release, last_release, changed)
				from stdin`, &rows.buckets},
			{`copy bucket_releases from stdin`, &rows.releases},
			{`copy bucket_versions from stdin`, &rows.versions},
			{`copy bucket_days (bucket_id, day, release, version, architecture, package_architecture, reports, proposed,
				changed) from stdin`, &rows.days},
		} {
			if _, err := tx.Conn().PgConn().CopyFrom(ctx, table.rows, table.sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadCell is the key of a row of bucket_days.
type loadCell struct {
	day          int // before today
	release      int // in loadReleases
	version      int
	architecture string
}

// rows adds the rows of a problem.
func (l *problemLoad) rows(p loadedProblem, to *loadRows, keys map[string][]byte) {
	r := l.source(p.k)
	f, g := l.problem(p.k)
	name, _, _ := strings.Cut(f["Package"], " ")
	number := fnv.New32a()
	_, _ = number.Write([]byte(name)) // never fails
	shift := int(number.Sum32() % 400)
	reports := max(1, int(l.c*problemWeight(p.k)))
	samples := min(reports, loadSamples)
	from, until := 0, loadDays
	if p.k%2 == 1 && p.k > 20 { // half of the problems exist for a part of the time
		from = p.k * 7919 % loadDays
		until = min(loadDays, from+loadDays/4)
	}
	today := l.now.Truncate(24 * time.Hour)
	numbered := func(n int) string { return fmt.Sprintf("1.%d.0-1ubuntu1", n) }
	key := func(text string) []byte {
		if keys[text] == nil {
			keys[text] = version.Dpkg.Key(text)
		}
		return keys[text]
	}
	cells, spans, versions := map[loadCell]int{}, map[crash.Release]*crash.SeenSpan{}, map[[2]string]int{}
	var total int
	for i := range samples {
		ago := from + r.IntN(until-from)
		at := l.now.Add(-time.Duration(ago)*day - time.Duration(r.Int64N(int64(l.now.Sub(today)))))
		if ago > 0 {
			at = today.Add(-time.Duration(ago)*day + time.Duration(r.Int64N(int64(day))))
		}
		at = at.Truncate(time.Microsecond)
		place := r.Float64()
		release := slices.IndexFunc(loadReleases, func(one struct {
			name crash.Release
			part float64
		}) bool {
			return place < one.part
		})
		c := loadCell{ago, release, (int(at.Unix()/86400) + shift) / 45, "amd64"}
		if r.IntN(4) == 0 {
			c.version--
		}
		if r.IntN(10) == 0 {
			c.architecture = "arm64"
		}
		n := reports/samples + btoi(i < reports%samples)
		cells[c] += n
		total += n
		where, text := loadReleases[release].name, numbered(c.version)
		versions[[2]string{string(where), text}] += n
		if spans[where] == nil {
			spans[where] = &crash.SeenSpan{}
		}
		spans[where].Add(crash.Occurrence{At: at, Version: text})
	}
	id := fmt.Sprintf(`\\x%x`, p.id[:])
	var all version.Range
	var releases []crash.Release
	for release, s := range spans {
		releases = append(releases, release)
		all.Add(version.Dpkg, s.Versions.Lowest)
		all.Add(version.Dpkg, s.Versions.Highest)
		occurrence := func(o crash.Occurrence) string {
			return composite(o.At.Format(time.RFC3339Nano), string(fmt.Appendf(nil, `\x%x`, key(o.Version))), o.Version)
		}
		pair := func(v string) string { return composite(fmt.Sprintf(`\x%x`, key(v)), v) }
		row(&to.releases, id, string(release), occurrence(s.First), occurrence(s.Last), pair(s.Versions.Lowest),
			pair(s.Versions.Highest))
	}
	slices.SortFunc(releases, crash.Release.Compare)
	seen := func(v string) string {
		of := slices.MinFunc(releases, func(a, b crash.Release) int {
			has := func(r crash.Release) int { return -btoi(versions[[2]string{string(r), v}] > 0) }
			return cmp.Or(has(a)-has(b), a.Compare(b))
		})
		return composite(fmt.Sprintf(`\x%x`, key(v)), of.Key(), v, string(of))
	}
	first, last := releases[0], releases[len(releases)-1]
	row(&to.buckets, id, id, g.Signature, string(g.Rule), fmt.Sprint(g.Provisional), f["ProblemType"],
		grouping.TitleOf(f, g), f["ExecutablePath"], name, f["SourcePackage"], fmt.Sprint(total),
		fmt.Sprint((total*4+4)/5), seen(all.Lowest), seen(all.Highest), composite(first.Key(), string(first)),
		composite(last.Key(), string(last)), "1")
	for v, n := range versions {
		row(&to.versions, id, v[0], v[1], fmt.Sprintf(`\\x%x`, key(v[1])), fmt.Sprint(n), fmt.Sprint((n*4+4)/5))
	}
	for c, n := range cells {
		row(&to.days, id, today.AddDate(0, 0, -c.day).Format(time.DateOnly), string(loadReleases[c.release].name),
			numbered(c.version), c.architecture, c.architecture, fmt.Sprint(n), "0", "1")
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

var copyEscapes = strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`, `\`, `\\`)

// row adds a row in the text format of COPY. Values that begin with \\x are escaped already.
func row(to *bytes.Buffer, values ...string) {
	for i, v := range values {
		if i > 0 {
			to.WriteByte('\t')
		}
		if !strings.HasPrefix(v, `\\x`) {
			v = copyEscapes.Replace(v)
		}
		to.WriteString(v)
	}
	to.WriteByte('\n')
}

// composite returns a value of a composite type.
func composite(values ...string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(v) + `"`
	}
	return "(" + strings.Join(quoted, ",") + ")"
}
