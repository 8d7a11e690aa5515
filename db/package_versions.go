package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

const (
	sqlVersionsChanged  = `select versions_changed > @round from counting`
	sqlAllVersionsInUse = `
		select package, release, version, arrived, first_day from package_versions order by package, release, version`
)

// versionsInUse holds the versions in use of all packages. Once read, it is immutable.
type versionsInUse struct {
	texts index.Numbers[string]     // releases and versions
	of    map[string][]versionInUse // by binary package; sorted by release and version
}

func newVersionsInUse() *versionsInUse {
	return &versionsInUse{texts: index.NewNumbers[string](), of: map[string][]versionInUse{}}
}

// versionInUse is a [stats.VersionKnown] without pointers. There are hundreds of thousands of them,
// and each garbage collection would follow the pointers.
type versionInUse struct {
	release, version uint32 // numbers of texts
	arrived, since   int64  // in microseconds since 1970
}

// known returns the versions in use of a binary package, sorted by release and version.
func (v *versionsInUse) known(pkg string) []stats.VersionKnown {
	known := make([]stats.VersionKnown, 0, len(v.of[pkg]))
	for _, k := range v.of[pkg] {
		known = append(known, v.full(k))
	}
	return known
}

// add adds a version in use, after those of its package that sort before it.
func (v *versionsInUse) add(pkg string, k stats.VersionKnown) {
	v.of[pkg] = append(v.of[pkg], versionInUse{release: v.texts.Number(string(k.Release)),
		version: v.texts.Number(k.Version), arrived: k.Arrived.UnixMicro(), since: k.Since.UnixMicro()})
}

// full is the inverse of add.
func (v *versionsInUse) full(k versionInUse) stats.VersionKnown {
	return stats.VersionKnown{Release: crash.Release(v.texts.Value(k.release)), Version: v.texts.Value(k.version),
		Arrived: time.UnixMicro(k.arrived).UTC(), Since: time.UnixMicro(k.since).UTC()}
}

// changedSince returns the packages whose versions in use differ from those in old.
func (v *versionsInUse) changedSince(old *versionsInUse) map[string]bool {
	changed := map[string]bool{}
	if v == old {
		return changed
	}
	equal := func(a, b versionInUse) bool { return v.full(a).Equal(old.full(b)) }
	for name := range v.of {
		if !slices.EqualFunc(v.of[name], old.of[name], equal) {
			changed[name] = true
		}
	}
	for name := range old.of {
		if v.of[name] == nil {
			changed[name] = true
		}
	}
	return changed
}

// versionsInUse returns the versions in use of all packages, as far as the reader of ctx may know
// them.
func (s *Store) versionsInUse(ctx context.Context) (*versionsInUse, error) {
	if hidden, err := hiddenFrom(ctx, s); err != nil {
		return nil, err
	} else if len(hidden) == 0 {
		at, err := s.stamp(ctx)
		if err != nil {
			return nil, fmt.Errorf("versions in use: %w", err)
		}
		l, err := s.currentIndex(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("versions in use: %w", err)
		}
		return l.inUse, nil
	}
	type key struct{}
	return CachedCounts(ctx, s, key{}, func(ctx context.Context) (*versionsInUse, error) {
		return readVersionsInUse(ctx, s)
	})
}

func readVersionsInUse(ctx context.Context, s *Store) (*versionsInUse, error) {
	next := newVersionsInUse()
	rows, err := s.Pool.Query(ctx, sqlAllVersionsInUse)
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	var pkg string
	var k stats.VersionKnown
	_, err = pgx.ForEachRow(rows, []any{&pkg, (*string)(&k.Release), &k.Version, &k.Arrived, &k.Since}, func() error {
		next.add(pkg, k)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	for name, versions := range next.of {
		next.of[name] = slices.Clone(versions) // without spare capacity
	}
	return next, nil
}

// VersionsInUse returns the versions in use of a binary package, sorted by release and version.
func (s *Store) VersionsInUse(ctx context.Context, pkg string) ([]stats.VersionKnown, error) {
	v, err := s.versionsInUse(ctx)
	if err != nil {
		return nil, err
	}
	return v.known(pkg), nil
}
