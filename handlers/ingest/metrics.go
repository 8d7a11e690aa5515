package ingest

import "github.com/prometheus/client_golang/prometheus"

// metrics holds the metrics of the listener. Reasons are the codes of our errors, a small fixed
// set.
type metrics struct {
	reports, cores *prometheus.CounterVec   // by outcome (stored, repeated, refused, failed) and reason
	seconds        *prometheus.HistogramVec // by kind
}

func newMetrics(to prometheus.Registerer, more []prometheus.Collector) (*metrics, error) {
	m := &metrics{
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_reports_total", Help: "Reports received, by what came of them and why.",
		}, []string{"outcome", "reason"}),
		cores: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_cores_total", Help: "Cores received, by what came of them and why.",
		}, []string{"outcome", "reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_ingest_seconds", Help: "Time from the head of a request to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"kind"}),
	}
	m.cores.WithLabelValues("stored", "") // starts at 0, so that rates see the first one
	m.reports.WithLabelValues("stored", "bucketed")
	if to == nil {
		return m, nil
	}
	for _, c := range append([]prometheus.Collector{m.reports, m.cores, m.seconds}, more...) {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
