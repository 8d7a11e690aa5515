package problems

import (
	"net/http"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db/counts"
	"mishap/views"
)

// rateDays is the number of days that a problem's rate covers, and trendDays the number of days of
// each period that its trend compares.
const (
	rateDays  = 28
	trendDays = 7
)

// impact returns the number of reports and machines of a problem, and its rate per active
// machine.
func (s *Pages) impact(r *http.Request, b crash.Bucket, versions []crash.VersionCount) (views.Impact, error) {
	releases := map[crash.Release]bool{}
	for _, c := range versions {
		releases[c.Release] = true
	}
	m := views.Impact{Reports: b.Reports, Systems: b.Systems, First: b.FirstSeen, Last: b.LastSeen, Days: rateDays}
	today := s.Now().UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-rateDays)
	if b.FirstSeen.After(since) {
		since = b.FirstSeen.UTC().Truncate(24 * time.Hour)
		m.Days = int(today.Sub(since)/(24*time.Hour)) + 1
	}
	problems, err := s.Store.Index(r.Context())
	if err != nil {
		return m, err
	}
	var reports int64
	for _, days := range problems.ReleaseDays(b.ID, index.DayOf(today.AddDate(0, 0, -2*trendDays)), index.DayOf(today)-1) {
		for i, n := range days {
			if i < trendDays {
				m.WeekBefore += n
			} else {
				m.Week += n
			}
		}
	}
	for release, days := range problems.ReleaseDays(b.ID, index.DayOf(since), index.DayOf(today)) {
		if releases[release] {
			for _, n := range days {
				reports += n
			}
		}
	}
	rates, err := s.Counts.Rates(r.Context(), counts.RateFilter{Since: today.AddDate(0, 0, 1-ratesDays), Until: today})
	if err != nil {
		return m, err
	}
	var machineDays int64
	active := map[crash.Release]int64{} // on the last known day
	for _, rate := range rates {
		if !releases[rate.Release] {
			continue
		}
		active[rate.Release] = rate.Machines // the earliest day comes first
		if !rate.Day.Before(since) {
			machineDays += rate.Machines
		}
	}
	for _, n := range active {
		m.Active += n
	}
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
		if facts.Known, err = s.Counts.VersionsInUse(ctx, b.Package); err != nil {
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
