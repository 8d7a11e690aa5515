package rules

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	// sqlArrivedPackages finds the packages of problems that have arrived since the last evaluation,
	// and the first arrival of each.
	sqlArrivedPackages = `
		select coalesce(nullif(b.source_package, ''), b.package) as pkg, min(a.at)
		from bucket_arrivals as a join buckets as b on b.id = a.bucket_id
		where a.round > @after and a.at >= @since and b.source_package || b.package <> ''
		group by pkg`
	// sqlPackageArrivals omits problems of which another bucket has arrived before: they are not new,
	// even if function names or a merge have brought new buckets.
	sqlPackageArrivals = `
		select coalesce(nullif(b.source_package, ''), b.package) as pkg, min(b.package), min(b.source_package), b.head,
			min(a.at)
		from bucket_arrivals as a join buckets as b on b.id = a.bucket_id
		where a.at >= @since and coalesce(nullif(b.source_package, ''), b.package) = any(@packages)
			and not exists (
				select from buckets as m join bucket_arrivals as o on o.bucket_id = m.id
				where m.head = b.head and o.at < @since)
		group by pkg, b.head
		order by pkg, min(a.at), b.head`
	sqlOpenStorms = `
		select rule_id, version, at, held from rule_edges
		where bucket_id = '' and starts_with(version, 'storm:') and held >= @since`
)

// stormEdge is a storm, and the problems that arrived in it. They are not reported one by one.
type stormEdge struct {
	rules.Edge
	storm    rules.Storm
	problems []crash.BucketID
	goesOn   string // key of the stored storm that it continues; empty: it is new
}

// stormLookBack is how old arrivals may be that begin or continue a storm.
const stormLookBack = 24 * time.Hour

// arrival is the arrival of the first report of a problem.
type arrival struct {
	pkg, binary, source string
	problem             crash.BucketID
	at                  time.Time
}

// findStorms finds packages with many new problems, for each rule about new problems that watches
// them. The number of machines does not matter.
func (r *round) findStorms(ctx context.Context) error {
	arrivals, err := r.readArrivals(ctx)
	if err != nil || len(arrivals) == 0 {
		return err
	}
	open, err := r.openStorms(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(arrivals); {
		n := i
		for n < len(arrivals) && arrivals[n].pkg == arrivals[i].pkg {
			n++
		}
		r.findStormsOf(arrivals[i:n], open)
		i = n
	}
	return nil
}

// readArrivals reads the recent arrivals of the packages that a new problem has, by package and
// time.
func (r *round) readArrivals(ctx context.Context) ([]arrival, error) {
	since := r.now.Add(-stormLookBack)
	rows, err := r.store.Pool.Query(ctx, sqlArrivedPackages, pgx.NamedArgs{"after": r.from.round, "since": since})
	if err != nil {
		return nil, fmt.Errorf("packages with new problems: %w", db.Classify(err))
	}
	var packages []string
	first := r.now
	var name string
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&name, &at}, func() error {
		packages = append(packages, name)
		if at.Before(first) {
			first = at
		}
		return nil
	}); err != nil || len(packages) == 0 {
		return nil, db.Classify(err)
	}
	rows, err = r.store.Pool.Query(ctx, sqlPackageArrivals, pgx.NamedArgs{
		"packages": packages, "since": first.Add(-rules.StormTime),
	})
	if err != nil {
		return nil, fmt.Errorf("new problems of packages: %w", db.Classify(err))
	}
	arrivals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a arrival, err error) {
		err = row.Scan(&a.pkg, &a.binary, &a.source, db.ScanTo(a.problem[:]), &a.at)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("new problems of packages: %w", db.Classify(err))
	}
	return arrivals, nil
}

// openStorm is a stored storm that arrivals may continue.
type openStorm struct {
	key      string
	at, held time.Time
}

func (r *round) openStorms(ctx context.Context) (map[int64][]openStorm, error) {
	rows, err := r.store.Pool.Query(ctx, sqlOpenStorms,
		pgx.NamedArgs{"since": r.now.Add(-stormLookBack - rules.StormTime)})
	if err != nil {
		return nil, fmt.Errorf("storms: %w", db.Classify(err))
	}
	open := map[int64][]openStorm{}
	var rule int64
	var s openStorm
	if _, err := pgx.ForEachRow(rows, []any{&rule, &s.key, &s.at, &s.held}, func() error {
		open[rule] = append(open[rule], s)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("storms: %w", db.Classify(err))
	}
	return open, nil
}

// findStormsOf finds the storms among the arrivals of one package.
func (r *round) findStormsOf(arrivals []arrival, open map[int64][]openStorm) {
	pkg := arrivals[0].pkg
	prefix := rules.Key(crash.EventStorm, pkg) + ":"
	for _, rule := range r.of(crash.EventNew, arrivals[0].binary, arrivals[0].source) {
		var mine []arrival
		var times []time.Time
		for _, a := range arrivals {
			if a.at.After(rule.Since) {
				mine, times = append(mine, a), append(times, a.at)
			}
		}
		for _, s := range open[rule.ID] {
			if len(s.key) > len(prefix) && s.key[:len(prefix)] == prefix {
				mine = r.continueStorm(rule, s, mine)
			}
		}
		if len(mine) < len(times) { // those that continue a storm are part of no other
			times = times[:0]
			for _, a := range mine {
				times = append(times, a.at)
			}
		}
		for _, s := range rules.Storms(times) {
			e := crash.Event{Kind: crash.EventStorm, At: r.now, Title: "Many new problems of " + pkg, Package: pkg,
				Source: arrivals[0].source, Text: rules.StormText(pkg, s.Problems), Rule: rule.ID}
			storm := stormEdge{storm: s, Edge: rules.Edge{Rule: rule, Event: e,
				Key: prefix + s.From.UTC().Format(time.RFC3339)}}
			for _, a := range mine {
				if !a.at.Before(s.From) && !a.at.After(s.Until) {
					storm.problems = append(storm.problems, a.problem)
				}
			}
			r.storms = append(r.storms, storm)
		}
	}
}

// continueStorm adds arrivals to a stored storm, as long as they follow within StormTime. It
// returns the arrivals that are not part of it.
func (r *round) continueStorm(rule *rules.Rule, s openStorm, arrivals []arrival) []arrival {
	storm := stormEdge{Edge: rules.Edge{Rule: rule, Key: s.key}, goesOn: s.key, storm: rules.Storm{Until: s.held}}
	began := s.held // the key has the arrival of the first problem
	if at, err := time.Parse(time.RFC3339, s.key[len(s.key)-len("2006-01-02T15:04:05Z"):]); err == nil {
		began = at
	}
	others := slices.DeleteFunc(slices.Clone(arrivals), func(a arrival) bool {
		part := !a.at.Before(began) && a.at.Sub(storm.storm.Until) <= rules.StormTime
		if part {
			storm.problems = append(storm.problems, a.problem)
			if a.at.After(storm.storm.Until) {
				storm.storm.Until = a.at
			}
		}
		return part
	})
	if len(storm.problems) > 0 {
		r.storms = append(r.storms, storm)
	}
	return others
}
