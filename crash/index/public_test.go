package index_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
)

// TestPublicFacts checks that visitors see no address in versions and releases: neither in the facts
// of a problem nor in those of one release.
func TestPublicFacts(t *testing.T) {
	t.Parallel()
	const private = "1.0@joe@example.org"
	day := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	b := index.New()
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(1), Head: id(1)}, seen("Ubuntu 24.04", private, day, day),
			seen("Ubuntu 22.04", "1.0", day, day.Add(time.Hour)))
		u.SetBucket(index.Bucket{ID: id(2), Head: id(2)}, seen("Ubuntu 24.04", "1.0", day, day))
	})
	for n, changes := range map[byte]bool{1: true, 2: false} {
		p, _ := b.Problem(id(n))
		public := p.Public()
		if (public != p) != changes {
			t.Errorf("problem %d: got another problem for visitors: %t, want %t", n, public != p, changes)
		}
		for _, release := range []crash.Release{"", "Ubuntu 24.04"} {
			own, seen := p.In(release), public.In(release)
			if changed := seen.First().Version != own.First().Version; changed != changes {
				t.Errorf("problem %d, %q: got first version %q of %q", n, release, seen.First().Version, own.First().Version)
			}
			for _, version := range []string{seen.First().Version, seen.Last().Version, seen.LowestVersion(),
				seen.HighestVersion()} {
				if version == private {
					t.Errorf("problem %d, %q: visitors see %q", n, release, version)
				}
			}
			if !seen.First().At.Equal(own.First().At) || seen.First().Release != own.First().Release {
				t.Errorf("problem %d, %q: got %+v of %+v, want the same time and release", n, release, seen.First(), own.First())
			}
		}
	}
}
