package db

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// saverStats are the metrics of storing reports.
type saverStats struct {
	reports prometheus.Histogram // per transaction
	seconds prometheus.Histogram // per transaction, including retries
	waiting prometheus.GaugeFunc
	noSpace prometheus.GaugeFunc
}

func newSaverStats(v *saver) saverStats {
	return saverStats{
		reports: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mishap_save_batch_reports", Help: "Reports stored by one transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, maxBatchReports},
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mishap_save_batch_seconds", Help: "Time until a batch of reports was on disk, or had failed.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mishap_save_queue_reports", Help: "Reports that wait to be stored.",
		}, func() float64 { return float64(v.waiting()) }),
		noSpace: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mishap_database_no_space", Help: "1 while the database says that its disk is full; else 0.",
		}, func() float64 {
			if v.noSpace.Load() {
				return 1
			}
			return 0
		}),
	}
}

func (s *saverStats) batch(reports int, took time.Duration) {
	s.reports.Observe(float64(reports))
	s.seconds.Observe(took.Seconds())
}

// Collectors returns the metrics of the store for registration.
func (s *Store) Collectors() []prometheus.Collector {
	st := s.saver.stats
	return append(s.counter.stats.collectors(), st.reports, st.seconds, st.waiting, st.noSpace)
}

// counterStats are the metrics of counting.
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
