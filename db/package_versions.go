package db

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
)

const (
	sqlVersionsStamp = `
		select count(*), coalesce(sum(extract(epoch from arrived)), 0)::bigint,
			coalesce(sum(first_day - date '2000-01-01'), 0)
		from package_versions`
	sqlAllVersionsInUse = `
		select package, release, version, arrived, first_day from package_versions order by package, release, version`
)

// versionsInUse holds the versions in use of all packages. It is immutable.
type versionsInUse struct {
	at  stamp
	sum versionsSum
	of  map[string][]stats.VersionKnown // by binary package; sorted by release and version
}

// versionsSum is a checksum of package_versions. It changes when a version comes into use, or
// proves to be in use for longer.
type versionsSum struct{ rows, arrivals, days int64 }

// changedSince returns the packages whose versions in use differ from those in old.
func (v *versionsInUse) changedSince(old *versionsInUse) map[string]bool {
	changed := map[string]bool{}
	if v == old {
		return changed
	}
	for name := range maps.Keys(v.of) {
		if !slices.EqualFunc(v.of[name], old.of[name], stats.VersionKnown.Equal) {
			changed[name] = true
		}
	}
	for name := range maps.Keys(old.of) {
		if v.of[name] == nil {
			changed[name] = true
		}
	}
	return changed
}

// versionsInUse returns the versions in use of all packages, as far as the reader of ctx may know
// them. It reads them again only if they have changed.
func (s *Store) versionsInUse(ctx context.Context) (*versionsInUse, error) {
	if hidden, err := hiddenFrom(ctx, s); err != nil {
		return nil, err
	} else if len(hidden) == 0 {
		return s.allVersionsInUse(ctx)
	}
	type key struct{}
	return CachedCounts(ctx, s, key{}, func(ctx context.Context) (*versionsInUse, error) {
		return readVersionsInUse(ctx, s)
	})
}

func (s *Store) allVersionsInUse(ctx context.Context) (*versionsInUse, error) {
	next := &versionsInUse{}
	var err error
	if next.at, err = s.stamp(ctx); err != nil {
		return nil, fmt.Errorf("versions in use: %w", err)
	}
	last := s.allInUse.Load()
	if last != nil && last.at == next.at {
		return last, nil
	}
	if err := s.Pool.QueryRow(ctx, sqlVersionsStamp).Scan(&next.sum.rows, &next.sum.arrivals, &next.sum.days); err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	if last != nil && last.at.server == next.at.server && last.sum == next.sum {
		next.of = last.of
		s.allInUse.Store(next)
		return next, nil
	}
	read, err := readVersionsInUse(ctx, s)
	if err != nil {
		return nil, err
	}
	next.of = read.of
	s.allInUse.Store(next)
	return next, nil
}

func readVersionsInUse(ctx context.Context, s *Store) (*versionsInUse, error) {
	next := &versionsInUse{of: map[string][]stats.VersionKnown{}}
	rows, err := s.Pool.Query(ctx, sqlAllVersionsInUse)
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	texts := map[string]string{} // rows share their texts, to save memory
	intern := func(text string) string {
		if t, ok := texts[text]; ok {
			return t
		}
		texts[text] = text
		return text
	}
	var pkg, release string
	var k stats.VersionKnown
	_, err = pgx.ForEachRow(rows, []any{&pkg, &release, &k.Version, &k.Arrived, &k.Since}, func() error {
		k.Release = crash.Release(intern(release))
		k.Version = intern(k.Version)
		next.of[intern(pkg)] = append(next.of[intern(pkg)], k)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	return next, nil
}

// VersionsInUse returns the versions in use of a binary package, by release. The caller must not
// modify the result.
func (s *Store) VersionsInUse(ctx context.Context, pkg string) ([]stats.VersionKnown, error) {
	v, err := s.versionsInUse(ctx)
	if err != nil {
		return nil, err
	}
	return v.of[pkg], nil
}
