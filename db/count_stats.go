package db

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counterStats are what operators see of counting.
type counterStats struct {
	reports prometheus.Histogram // per round
	seconds prometheus.Histogram // per round
	failed  prometheus.Counter
	waiting prometheus.GaugeFunc
	failing prometheus.GaugeFunc
}

func newCounterStats(c *counter) counterStats {
	return counterStats{
		reports: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mishap_count_round_reports", Help: "Reports counted by one round.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mishap_count_round_seconds", Help: "Time that a round of counting took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mishap_count_rounds_failed_total", Help: "Rounds of counting that failed and were tried again.",
		}),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mishap_uncounted_reports", Help: "Reports that this process has stored and that are not counted yet.",
		}, func() float64 { return float64(c.waiting()) }),
		failing: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mishap_count_failing", Help: "1 while stored reports cannot be counted: the last round failed; else 0.",
		}, func() float64 {
			if c.health().Problem != "" {
				return 1
			}
			return 0
		}),
	}
}

func (s *counterStats) round(reports int, took time.Duration) {
	s.reports.Observe(float64(reports))
	s.seconds.Observe(took.Seconds())
}

func (s *counterStats) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.reports, s.seconds, s.failed, s.waiting, s.failing}
}
