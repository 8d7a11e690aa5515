package watch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics reads its values from the database, so that all instances report the same.
type metrics struct {
	store BugStore
	now   func() time.Time
	bugs  *prometheus.Desc
	age   *prometheus.Desc
}

func newMetrics(store BugStore, now func() time.Time) *metrics {
	return &metrics{
		store: store, now: now,
		bugs: prometheus.NewDesc("mishap_bugs",
			"Bugs read from the tracker: all, those due, and those that cannot be read.", []string{"which"}, nil),
		age: prometheus.NewDesc("mishap_bugs_oldest_state_seconds",
			"Age of the oldest reading of a bug; 0 if there is none.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.bugs
	ch <- m.age
}

// Collect implements prometheus.Collector. It sends no values while the database is unavailable.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	totals, err := m.store.BugTotals(ctx)
	if err != nil {
		return
	}
	for which, n := range map[string]int64{"followed": totals.Followed, "due": totals.Due, "failing": totals.Failing} {
		ch <- prometheus.MustNewConstMetric(m.bugs, prometheus.GaugeValue, float64(n), which)
	}
	age := 0.0
	if !totals.Oldest.IsZero() {
		age = max(0, m.now().Sub(totals.Oldest).Seconds())
	}
	ch <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, age)
}
