package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/symbols"
)

// Vitals reads vitals.
type Vitals struct {
	*db.Store
	connection func(context.Context) (crash.Connection, error)
	mail       bool
}

// NewVitals returns a Store. The function returns the state of the connection to the tracker, which is
// partly in the configuration; nil: this instance files no bugs. mail is whether this instance sends
// mails.
func NewVitals(s *db.Store, connection func(context.Context) (crash.Connection, error), mail bool) *Vitals {
	return &Vitals{s, connection, mail}
}

const (
	// sqlOpenWork reads the amount and the age, in seconds, of work that waits for a tracker, a debugger
	// or a mail relay. Ages are from the database's clock alone.
	sqlOpenWork = `
		select f.parked, f.age, j.queued, j.age, m.waiting, m.retried, m.age, clock_timestamp()
		from (
				select count(*) filter (where state in ('queued', 'uncertain') and problem = 'tracker_credentials') as parked,
					coalesce(extract(epoch from now() - min(created)), 0)::float8 as age
				from filings where state in ('queued', 'filing', 'uncertain')
			) as f, (
				select count(*) as queued,
					coalesce(extract(epoch from now() - min(greatest(created, not_before))), 0)::float8 as age
				from symbol_jobs where state = 'queued' and (not_before is null or not_before <= now())
			) as j, (
				select count(*) as waiting, count(*) filter (where attempts > 0) as retried,
					coalesce(extract(epoch from now() - min(created) filter (where attempts > 0)), 0)::float8 as age
				from mails where state in ('waiting', 'sending') and not exists (select from notification_stop)
			) as m`
	// sqlStandbys reads how far standbys are behind. Their positions are null without the rights of
	// pg_monitor. Programs that copy a database are no standbys: they replay nothing.
	sqlStandbys = `
		select application_name || coalesce(' at ' || host(client_addr), '') as name, bool_and(state is not null) as known,
			coalesce(max(extract(epoch from replay_lag)), 0)::float8,
			coalesce(max(case when pg_is_in_recovery() then 0
				else pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) end), 0)::bigint
		from pg_stat_replication where state is null or replay_lsn is not null
		group by 1 order by 1`
)

// Read reads the vitals. It returns Unavailable if the database does not answer.
func (s *Vitals) Read(ctx context.Context) (v Facts, err error) {
	began := s.Now()
	v.Mail = s.mail
	var at time.Time
	var filing, symbolising, mail float64
	err = s.Pool.QueryRow(ctx, sqlOpenWork).Scan(&v.Parked, &filing, &v.SymbolsQueued, &symbolising, &v.MailsWaiting,
		&v.MailsRetried, &mail, &at)
	if err != nil {
		return v, fmt.Errorf("vitals: %w", db.Classify(err))
	}
	switch ended := s.Now(); {
	case at.Before(began):
		v.Clock = at.Sub(began)
	case at.After(ended):
		v.Clock = at.Sub(ended)
	}
	v.OldestFiling, v.SymbolsWaiting, v.MailWaiting = seconds(filing), seconds(symbolising), seconds(mail)
	if v.Restored, err = bugs.New(s.Store).Restored(ctx); err != nil {
		return v, err
	}
	if s.connection != nil {
		c, err := s.connection(ctx)
		if err != nil {
			return v, err
		}
		v.Connection = &c
	}
	if v.Workers, err = symbols.New(s.Store).Workers(ctx); err != nil {
		return v, err
	}
	if v.Backups, err = ReadBackups(ctx, s.Handle); err != nil {
		return v, err
	}
	v.At = at
	rows, err := s.Pool.Query(ctx, sqlStandbys)
	if err != nil {
		return v, fmt.Errorf("standbys: %w", db.Classify(err))
	}
	v.Standbys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Standby, err error) {
		var lag float64
		err = row.Scan(&b.Name, &b.Known, &lag, &b.Bytes)
		b.Lag = seconds(lag)
		return b, err
	})
	if err != nil {
		return v, fmt.Errorf("standbys: %w", db.Classify(err))
	}
	return v, nil
}

func seconds(n float64) time.Duration { return time.Duration(max(n, 0) * float64(time.Second)) }

// Checks reads the vitals and judges them.
func (s *Vitals) Checks(ctx context.Context) []crash.HealthCheck {
	v, err := s.Read(ctx)
	if err != nil {
		return UnknownHealth(err)
	}
	return Judge(v)
}

// Metrics exports vitals and the results of all health checks.
type Metrics struct {
	store *Vitals
	own   func(context.Context) []crash.HealthCheck
}

// NewMetrics returns the metrics of a site. own returns the health checks of this instance.
func NewMetrics(s *Vitals, own func(context.Context) []crash.HealthCheck) *Metrics {
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
		checks = append(checks, UnknownHealth(err)...)
	} else {
		send(upDesc, 1)
		checks = append(checks, Judge(v)...)
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

func sendVitals(send func(*prometheus.Desc, float64, ...string), v Facts) {
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
