package tracker

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
)

// metrics counts calls to the tracker and their time.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_tracker_calls_total", Help: "Calls to the external tracker by operation and outcome.",
		}, []string{"operation", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_tracker_call_seconds", Help: "Time until the external tracker answered or the call was given up.",
			Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 75},
		}, []string{"operation"}),
	}
	if r != nil {
		m.calls = RegisterShared(r, m.calls)
		m.seconds = RegisterShared(r, m.seconds)
	}
	return m
}

// RegisterShared registers c and returns it, or the same collector if r already has it. This lets
// several clients in one process share their metrics.
func RegisterShared[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := there.ExistingCollector.(C); ok {
			return same
		}
	}
	return c
}

func (m *metrics) called(operation string, o Outcome) {
	m.calls.WithLabelValues(operation, string(o)).Inc()
}

func (m *metrics) took(operation string, d time.Duration) {
	m.seconds.WithLabelValues(operation).Observe(d.Seconds())
}

// filingTotals counts filings for the monitor.
type filingTotals interface {
	// FilingTotals counts filings for the monitor.
	FilingTotals(ctx context.Context) (crash.FilingTotals, error)
}

// filingMetrics reads its values from the database, so that all instances report the same.
type filingMetrics struct {
	store  filingTotals
	now    func() time.Time
	states *prometheus.Desc
	oldest *prometheus.Desc
	parked *prometheus.Desc
	own    *prometheus.Desc
}

func newFilingMetrics(store filingTotals, now func() time.Time) *filingMetrics {
	return &filingMetrics{
		store: store, now: now,
		states: prometheus.NewDesc("mishap_filings",
			"Filings by state.", []string{"state"}, nil),
		oldest: prometheus.NewDesc("mishap_filings_oldest_open_seconds",
			"Age of the oldest open filing; 0 if there is none.", nil, nil),
		parked: prometheus.NewDesc("mishap_filings_parked",
			"Filings that wait for credentials that the tracker accepts.", nil, nil),
		own: prometheus.NewDesc("mishap_tracker_own_accounts",
			"People who have connected their own accounts of the tracker, by whether it accepts them.", []string{"state"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *filingMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.states
	ch <- m.oldest
	ch <- m.parked
	ch <- m.own
}

// Collect implements prometheus.Collector. It sends no values while the database is unavailable.
func (m *filingMetrics) Collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	totals, err := m.store.FilingTotals(ctx)
	if err != nil {
		return
	}
	for _, state := range []crash.FilingState{
		crash.FilingQueued, crash.FilingSending, crash.FilingUncertain,
		crash.FilingFiled, crash.FilingRefused, crash.FilingAbandoned,
	} {
		ch <- prometheus.MustNewConstMetric(m.states, prometheus.GaugeValue, float64(totals.States[state]), string(state))
	}
	age := 0.0
	if !totals.Oldest.IsZero() {
		age = max(0, m.now().Sub(totals.Oldest).Seconds())
	}
	ch <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, age)
	ch <- prometheus.MustNewConstMetric(m.parked, prometheus.GaugeValue, float64(totals.Parked))
	ch <- prometheus.MustNewConstMetric(m.own, prometheus.GaugeValue, float64(totals.OwnAccounts-totals.OwnBroken),
		"accepted")
	ch <- prometheus.MustNewConstMetric(m.own, prometheus.GaugeValue, float64(totals.OwnBroken), "rejected")
}
