package stats_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/sizetest"
	"mishap/crash/stats"
)

var someReleases = []crash.Release{jammy, noble, questing, resolute, trixie, sid, mint, kylin, ""}

// someSituation returns a random problem: the versions in which it was seen, the versions in use,
// and the bug.
func someSituation(r *rand.Rand) situation {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	version := func() string {
		if r.IntN(12) == 0 {
			return one("", "not a version")
		}
		return fmt.Sprintf("%d.%d-%d", 1+r.IntN(2), r.IntN(3), 1+r.IntN(2))
	}
	s := situation{}
	for _, release := range someReleases {
		if r.IntN(3) > 0 {
			continue
		}
		for range 1 + r.IntN(3) {
			days := []int{0, 1, 6, 7, 9, 12, 40, 300}[r.IntN(8)]
			week := int64(0)
			if days < 7 {
				week = 1 + r.Int64N(20)
			}
			s.seen = append(s.seen, seenIn(release, version(), days, week)...)
		}
	}
	for _, release := range someReleases {
		for range r.IntN(4) {
			s.inUse = append(s.inUse, used(release, version(), []int{0, 2, 3, 9, 11, 90}[r.IntN(6)])...)
			s.inUse[len(s.inUse)-1].Reports = []int64{0, 1, 12, 1000}[r.IntN(4)]
		}
	}
	s.change = func(b *crash.Bucket) {
		b.Provisional = r.IntN(10) == 0
		b.FirstSeen = daysAgo(r.IntN(30))
	}
	if r.IntN(3) == 0 {
		return s
	}
	s.bug = someBug(r, one, version)
	s.unread = r.IntN(20) == 0
	if r.IntN(8) == 0 {
		s.master = someBug(r, one, version)
	}
	return s
}

func someBug(r *rand.Rand, one func(...string) string, version func() string) *crash.BugReading {
	bug := &crash.BugReading{Private: r.IntN(15) == 0, Hidden: r.IntN(15) == 0}
	for _, target := range []string{mainTask, jammyTask, nobleTask, upstream, otherTask, "/debian/+source/tidewatch"} {
		if r.IntN(2) == 0 {
			bug.Tasks = append(bug.Tasks, task(target, one("New", "Triaged", "Fix Committed", "Fix Released", "Fix Released",
				"Won't Fix", "Invalid")))
		}
	}
	for range r.IntN(3) {
		bug.Fixes = append(bug.Fixes, fixIn(version(), one("", "jammy", "noble", "resolute", "unstable")))
	}
	return bug
}

// contradictions returns what of a status contradicts itself or the situation.
func contradictions(b crash.Bucket, s situation) (found []string) {
	st := b.Status
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	var week int64
	words := map[crash.StateWord]bool{}
	for _, r := range st.Counting() {
		week += r.Week
		words[r.Word] = true
	}
	switch st.Word {
	case crash.StateFixed:
		if words[crash.StateOpen] || words[crash.StateRegression] {
			wrong("fixed, with releases that are not")
		}
	case crash.StateGone, crash.StateDisappeared:
		if week > 0 || words[crash.StateOpen] || words[crash.StateRegression] {
			wrong("%s, with %d reports this week", st.Word, week)
		}
	case crash.StateOpen, crash.StateUnfiled:
		if len(words) > 0 && !words[crash.StateOpen] {
			wrong("%s, with no open release", st.Word)
		}
	default: // says nothing of releases
	}
	if _, version, ok := st.Regressed(); ok != (st.Word == crash.StateRegression) || ok && version == "" {
		wrong("whether it is a regression: %v, in version %q", ok, version)
	}
	if (b.Bug.Number == 0) == slices.Contains([]crash.StateWord{crash.StateOpen, crash.StateFixed, crash.StateClosed,
		crash.StateRegression, crash.StateDisappeared, crash.StatePrivate, crash.StateUnread}, st.Word) {
		wrong("the word %q with the bug %d", st.Word, b.Bug.Number)
	}
	for _, r := range st.Releases {
		found = append(found, ofRelease(r, s)...)
	}
	for _, text := range []string{st.Text(), st.Headline() + ". " + st.Detail()} {
		if text == "" || strings.HasPrefix(text, ". ") || strings.Contains(text, "..") || strings.Contains(text, "  ") {
			wrong("the text %q", text)
		}
	}
	if b.Bug.Number != 0 || b.Provisional || b.Reports == 0 {
		return found
	}
	advice := stats.Advise(stats.AdviceFacts{Bucket: b, Named: true})
	if gone := st.Word == crash.StateGone; gone && advice.Kind != stats.AdviceOldVersions ||
		gone != strings.Contains(advice.Text, "probably fixed") {
		wrong("%s, with the advice %q", st.Word, advice.Text)
	}
	return found
}

// ofRelease returns what of the status of one release contradicts the situation.
func ofRelease(r crash.ReleaseStatus, s situation) (found []string) {
	wrong := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: ", r.Release)+fmt.Sprintf(format, args...))
	}
	for _, o := range s.seen {
		if o.Release != r.Release || !dpkg.Valid(o.Version) || r.Release == "" {
			continue
		}
		if r.Fix != "" && r.Word == crash.StateFixed && dpkg.Compare(o.Version, r.Fix) >= 0 {
			wrong("fixed in %s, seen in %s", r.Fix, o.Version)
		}
		if r.Newer != "" && dpkg.Compare(o.Version, r.Newer) >= 0 {
			wrong("%s is in use without it, seen in %s", r.Newer, o.Version)
		}
		if o.Week > 0 && r.Word == crash.StateGone {
			wrong("gone, seen this week")
		}
	}
	if r.Word == crash.StateGone && !r.NewerFree() {
		wrong("gone, with too few reports")
	}
	return found
}

// TestStatementsAgree checks that the status of random problems does not contradict itself or what was seen.
func TestStatementsAgree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sizetest.Rounds(800, 4_000)) {
		r := rand.New(rand.NewPCG(seed, 13))
		s := someSituation(r)
		b := s.bucket()
		if found := contradictions(b, s); len(found) > 0 {
			t.Fatalf("seed %d: %s: %q contradicts itself:\n%s\nseen %+v\nin use %+v\nbug %+v", seed, b.Status.Word,
				b.Status.Text(),
				strings.Join(found, "\n"), s.seen, s.inUse, s.bug)
		}
		shuffled := s
		shuffled.change = func(again *crash.Bucket) { again.Provisional, again.FirstSeen = b.Provisional, b.FirstSeen }
		shuffled.seen, shuffled.inUse = slices.Clone(s.seen), slices.Clone(s.inUse)
		r.Shuffle(len(shuffled.seen), func(i, j int) {
			shuffled.seen[i], shuffled.seen[j] = shuffled.seen[j],
				shuffled.seen[i]
		})
		r.Shuffle(len(shuffled.inUse), func(i, j int) {
			shuffled.inUse[i], shuffled.inUse[j] = shuffled.inUse[j],
				shuffled.inUse[i]
		})
		if diff := cmp.Diff(b.Status, shuffled.bucket().Status); diff != "" {
			t.Fatalf("seed %d: with the input in another order (-want +got):\n%s", seed, diff)
		}
		checkOtherDistributions(t, r, s, b)
	}
}

// checkOtherDistributions checks that versions in use in one distribution do not affect the status
// in another.
func checkOtherDistributions(t *testing.T, r *rand.Rand, s situation, b crash.Bucket) {
	t.Helper()
	release := someReleases[r.IntN(len(someReleases)-1)]
	more := s
	more.change = func(again *crash.Bucket) { again.Provisional, again.FirstSeen = b.Provisional, b.FirstSeen }
	more.inUse = join(s.inUse, used(release, "99:9-9", 90))
	got := more.bucket().Status
	for _, of := range b.Status.Releases {
		if of.Release.Distribution() == release.Distribution() {
			continue
		}
		at := slices.IndexFunc(got.Releases, func(r crash.ReleaseStatus) bool { return r.Release == of.Release })
		if at < 0 || got.Releases[at] != of {
			t.Fatalf("a version in use in %s changes the status of %s: got %+v, want %+v", release, of.Release, got.Releases,
				of)
		}
	}
}

func TestReleaseNames(t *testing.T) {
	t.Parallel()
	for release, want := range map[crash.Release][2]string{
		"Ubuntu 24.04": {"ubuntu", "24.04"}, "Ubuntu 24.04 LTS": {"ubuntu", "24.04 LTS"},
		"Ubuntu Kylin 24.04":     {"ubuntu kylin", "Ubuntu Kylin 24.04"},
		"Ubuntu 9.10 derivative": {"ubuntu derivative", "Ubuntu 9.10 derivative"}, "Debian 13": {"debian", "Debian 13"},
		"Debian sid":          {"debian", "sid"},
		"Debian GNU/Linux 13": {"debian", "Debian GNU/Linux 13"}, "Linux Mint 22": {"linux mint", "Linux Mint 22"},
		"": {"", "an unknown release"}, "Arch": {"arch", "Arch"},
	} {
		if got := [2]string{release.Distribution(), release.Short()}; got != want {
			t.Errorf("%q: got %q, want %q", release, got, want)
		}
	}
	if got := crash.BuiltInReleases().Named("ubuntu", "noble"); got != noble {
		t.Errorf("noble: got %q", got)
	}
	if got := crash.BuiltInReleases().Named("debian", "unstable"); got != sid {
		t.Errorf("unstable: got %q", got)
	}
	if got := crash.BuiltInReleases().Named("ubuntu", "sid"); got != "" {
		t.Errorf("sid of Ubuntu: got %q, want none", got)
	}
}
