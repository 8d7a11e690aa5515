package problems

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/redact"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/views"
)

// rateDays is the number of days that a problem's rate covers.
const rateDays = 28

// impact returns the number of reports and machines of a problem, and its rate per active
// machine.
func (s *Pages) impact(r *http.Request, b crash.Bucket, versions []crash.VersionCount) (views.Impact, error) {
	m := views.Impact{Reports: b.Reports, Systems: b.Systems, First: b.FirstSeen, Last: b.LastSeen, Days: rateDays}
	today := s.Now().UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-rateDays)
	if first := crash.Midnight(b.FirstSeen); first.After(since) && !first.After(today) {
		since = first
		m.Days = int(today.Sub(since)/(24*time.Hour)) + 1
	}
	releases := map[crash.Release]problems.Days{}
	for _, c := range versions {
		if c.Reports > 0 {
			releases[c.Release] = problems.Days{Since: since, Until: today}
		}
	}
	for _, release := range slices.SortedFunc(maps.Keys(releases), func(a, b crash.Release) int { return b.Compare(a) }) {
		m.Releases = append(m.Releases, redact.Label(release))
	}
	problems, err := s.Store.Index(r.Context())
	if err != nil {
		return m, err
	}
	var reports int64
	week := crash.PeriodWeek.Days()
	before, _ := s.LastDays(2 * week)
	for _, days := range problems.ReleaseDays(b.ID, index.DayOf(before), index.DayOf(today)) {
		for i, n := range days {
			if i < week {
				m.WeekBefore += n
			} else {
				m.Week += n
			}
		}
	}
	for release, days := range problems.ReleaseDays(b.ID, index.DayOf(since), index.DayOf(today)) {
		if _, ok := releases[release]; ok {
			for _, n := range days {
				reports += n
			}
		}
	}
	machines, err := s.Problems.DistinctMachines(r.Context(), releases, since, today)
	if err != nil {
		return m, err
	}
	var machineDays int64
	for _, n := range machines {
		machineDays += n
	}
	m.Active = machines[len(machines)-1]
	// Affected machines are known for all time, active machines only for the past 90 days.
	m.AtMost = b.FirstSeen.Before(today.AddDate(0, 0, -90))
	m.Rate = stats.NewMachineRate(reports, float64(machineDays))
	return m, nil
}

// versions compares the versions in which a problem was seen with those in use, and adds its
// status.
func (s *Pages) versions(r *http.Request, b crash.Bucket) (views.VersionFacts, error) {
	ctx := r.Context()
	facts := views.VersionFacts{Now: s.Now(), Releases: s.Releases, Last: map[string]time.Time{}}
	counts, err := s.Store.BucketVersions(ctx, b.ID)
	if err != nil {
		return facts, err
	}
	if b.Package != "" {
		if facts.Known, err = s.Problems.VersionsInUse(ctx, b.Package); err != nil {
			return facts, err
		}
	}
	facts.Story = stats.NewVersionStory(counts, facts.Known)
	problems, err := s.Store.Index(ctx)
	if err != nil {
		return facts, err
	}
	for _, span := range problems.Spans(b.ID) {
		if last := span.Last.Time(); last.After(facts.Last[span.Version]) {
			facts.Last[span.Version] = last
		}
	}
	facts.Status, facts.Bug = b.Status, b.Bug.Counts()
	for _, r := range b.Status.Releases {
		if r.Fix != "" && len(counts) > 0 {
			facts.Story.Add(crash.VersionCount{Version: r.Fix, Release: r.Release})
		}
	}
	if b.SourcePackage != "" {
		facts.Link = func(version string, release crash.Release) string {
			return s.Config.VersionLinks.Version(release, b.SourcePackage, version)
		}
	}
	return facts, nil
}
