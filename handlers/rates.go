package handlers

import (
	"context"

	"mishap/db"
	"mishap/views"
)

// ratesDays is how far back the chart of reliability looks: twelve weeks.
const ratesDays = 84

// rates is the chart of reports per active machine and day. It follows the chosen release, package and version; the other
// controls do not move it.
func (s *Server) rates(ctx context.Context, choice views.ListChoice) (views.RateChart, error) {
	until := s.now().UTC()
	since := until.AddDate(0, 0, 1-ratesDays)
	filter := db.RateFilter{Since: since, Until: until, Release: choice.Release, Package: choice.Package}
	if choice.Package != "" {
		filter.Version = choice.Version
	}
	rates, err := s.store.Rates(ctx, filter)
	if err != nil {
		return views.RateChart{}, err
	}
	return views.NewRateChart(rates, s.releases.ReleasedBetween(since, until), since, until), nil
}
