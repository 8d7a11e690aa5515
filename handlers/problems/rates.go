package problems

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/redact"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/web"
	"mishap/views"
)

// ratesDays is the number of days in the reliability chart: twelve weeks.
const ratesDays = 84

// rates returns the chart of reports per active machine and day. The release, package and
// version of the choice apply to it; the other filters do not.
func (s *Lists) rates(r *http.Request, choice views.ListChoice) (views.Rates, error) {
	pkg, version := web.SeenLabel(r, choice.Package), web.SeenLabel(r, choice.Version)
	if pkg == "" {
		version = ""
	}
	key := strings.Join([]string{string(choice.Release), pkg, version}, "\x00")
	return web.CachedFacts(s.Kit, r, key, func(r *http.Request) (views.Rates, error) {
		return s.readRates(r.Context(), choice.Release, pkg, version)
	})
}

func (s *Lists) readRates(ctx context.Context, release crash.Release, pkg, version string) (views.Rates, error) {
	until := s.Now().UTC()
	since := until.AddDate(0, 0, 1-ratesDays)
	filter := problems.RateFilter{Since: since, Until: until, Release: release, Package: pkg, Version: version}
	rates, err := s.Problems.Rates(ctx, filter)
	if err != nil {
		return views.Rates{}, err
	}
	all, err := s.totalTrend(ctx, rates, until)
	if err != nil {
		return views.Rates{}, err
	}
	rates = slices.Clone(rates) // the store caches the original
	for i := range rates {      // the chart is part of public pages
		rates[i].Release = redact.Label(rates[i].Release)
	}
	return drawRates(ctx, s, rates, all, since, until)
}

// totalTrend returns the trend of the last week of all releases in rates together.
func (s *Lists) totalTrend(ctx context.Context, rates []stats.DayRate, until time.Time) (stats.Trend, error) {
	week := crash.PeriodWeek.Days()
	since, until := crash.LastDays(until, 2*week)
	releases := map[crash.Release]problems.Days{}
	for _, r := range rates {
		releases[r.Release] = problems.Days{Since: since, Until: until}
	}
	machines, err := s.Problems.DistinctMachines(ctx, releases, since, until)
	if err != nil {
		return stats.Trend{}, err
	}
	return stats.TotalTrend(rates, machines, until, week), nil
}

// drawRates draws the chart of rates in a span of days.
func drawRates(ctx context.Context, s *Lists, rates []stats.DayRate, all stats.Trend, since,
	until time.Time) (views.Rates, error) {
	marks := s.Releases.ReleasedBetween(since, until)
	page := views.NewRateChart(rates, all, marks, s.Releases, since, until).Rates(s.Now())
	var err error
	page.Chart, err = views.Draw(ctx, page.Chart)
	return page, err
}
