package vitals

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/health"
)

// Metrics exports vitals and the results of all health checks.
type Metrics struct {
	store *Store
	own   func(context.Context) []crash.HealthCheck
}

// NewMetrics returns the metrics of a site. own returns the health checks of this instance.
func NewMetrics(s *Store, own func(context.Context) []crash.HealthCheck) *Metrics {
	return &Metrics{s, own}
}

// scrapeTimeout is how long a scrape waits for the database.
const scrapeTimeout = 2 * time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	checkDesc = desc("mishap_health", "Result of each health check: -1 off, 0 ok, 1 warning, 2 failure.", "check")
	upDesc    = desc("mishap_database_up", "1 if the database answered this scrape; else 0.")
	clockDesc = desc("mishap_database_clock_skew_seconds",
		"Clock of the database minus the clock of this instance's machine.")
	queuedDesc     = desc("mishap_symbol_queue_jobs", "Core dumps that an instance could symbolise now.")
	queuedAgeDesc  = desc("mishap_symbol_queue_oldest_seconds", "How long the oldest of these core dumps has waited.")
	workersDesc    = desc("mishap_symbol_workers", "Instances that symbolise, by state.", "state")
	mailsDesc      = desc("mishap_mail_queue_mails", "Mails that wait.")
	retriedDesc    = desc("mishap_mail_retried_mails", "Mails that wait because the relay has not accepted them.")
	retriedAgeDesc = desc("mishap_mail_retried_oldest_seconds", "Age of the oldest mail that the relay has not accepted.")
	restoredDesc   = desc("mishap_filings_held_after_restore",
		"1 while no bug is filed because the database was restored.")
	standbysDesc = desc("mishap_replication_standbys", "Standby servers that are connected to the database.")
	lagDesc      = desc("mishap_replication_lag_seconds", "Time by which a standby is behind.", "standby")
	lagBytesDesc = desc("mishap_replication_lag_bytes", "Write-ahead log that a standby has not replayed.", "standby")
)

// Describe implements prometheus.Collector.
func (*Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{checkDesc, upDesc, clockDesc, queuedDesc, queuedAgeDesc, workersDesc, mailsDesc,
		retriedDesc, retriedAgeDesc, restoredDesc, standbysDesc, lagDesc, lagBytesDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. While the database does not answer, it sends only
// mishap_database_up and mishap_health.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	v, err := m.store.Read(ctx)
	checks := m.own(ctx)
	if err != nil {
		send(upDesc, 0)
		checks = append(checks, health.Unknown(err)...)
	} else {
		send(upDesc, 1)
		checks = append(checks, health.Judge(v)...)
		sendVitals(send, v)
	}
	worst := map[string]float64{}
	value := map[crash.HealthStatus]float64{crash.HealthOff: -1, crash.HealthOK: 0, crash.HealthWarning: 1,
		crash.HealthFailure: 2}
	for _, c := range checks {
		v := value[c.Status()]
		if before, ok := worst[c.ID]; !ok || v > before {
			worst[c.ID] = v
		}
	}
	for id, v := range worst {
		send(checkDesc, v, id)
	}
}

func sendVitals(send func(*prometheus.Desc, float64, ...string), v health.Vitals) {
	send(clockDesc, v.Clock.Seconds())
	send(queuedDesc, float64(v.SymbolsQueued))
	send(queuedAgeDesc, v.SymbolsWaiting.Seconds())
	workers := map[string]float64{"working": 0, "broken": 0, "off": 0}
	for _, w := range v.Workers {
		switch {
		case len(w.Architectures) > 0:
			workers["working"]++
		case w.Problem != "":
			workers["broken"]++
		default:
			workers["off"]++
		}
	}
	for state, n := range workers {
		send(workersDesc, n, state)
	}
	send(mailsDesc, float64(v.MailsWaiting))
	send(retriedDesc, float64(v.MailsRetried))
	send(retriedAgeDesc, v.MailWaiting.Seconds())
	held := 0.0
	if !v.Restored.At.IsZero() {
		held = 1
	}
	send(restoredDesc, held)
	send(standbysDesc, float64(len(v.Standbys)))
	for _, s := range v.Standbys {
		if s.Known {
			send(lagDesc, s.Lag.Seconds(), s.Name)
			send(lagBytesDesc, float64(s.Bytes), s.Name)
		}
	}
}
