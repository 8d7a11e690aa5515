package watch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watchMetrics are read from the database when they are asked for, so that every unit tells the same.
type watchMetrics struct {
	store WatchStore
	now   func() time.Time
	bugs  *prometheus.Desc
	age   *prometheus.Desc
}

func newWatchMetrics(store WatchStore, now func() time.Time) *watchMetrics {
	return &watchMetrics{
		store: store, now: now,
		bugs: prometheus.NewDesc("mishap_bugs", "Bugs that are followed in the tracker: all, those due to be read, those that cannot be read.", []string{"which"}, nil),
		age:  prometheus.NewDesc("mishap_bugs_oldest_state_seconds", "Age of the oldest knowledge of a bug; 0: there is none.", nil, nil),
	}
}

// Describe is for the registry.
func (m *watchMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.bugs
	ch <- m.age
}

// Collect is for the registry. Without a database there are no values, which is what a monitor should see.
func (m *watchMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) //nolint:forbidigo // the registry's interface has no context
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
