// Package upkeep reads and changes what keeps a site in order. Retention compares stored reports with the
// table of classes, and removes private fields of old reports and old counts. Erasing removes machines with
// everything that is known about them, and writes what keeps them erased when a backup is restored. The
// audit log is read and shortened, counts are checked against stored reports, complete backups and their
// verifications are recorded, and facts are read that health checks and metrics need.
package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/symbols"
)

// The limits from which something is a problem. The alert rules in packaging/monitoring use the same.
const (
	ClockWarning = 10 * time.Second // difference between two clocks
	ClockFailure = 5 * time.Minute
	FilingLimit  = time.Hour        // age of the oldest open filing
	SymbolsLimit = time.Hour        // wait of the oldest core dump that could be symbolised
	MailLimit    = 30 * time.Minute // age of the oldest mail that the relay has not accepted
	LagLimit     = time.Minute      // by which a standby is behind
	LagBytes     = 64 << 20
	BackupLimit  = 72 * time.Hour // age of the last backup, and of its verification
	BackupGrace  = 48 * time.Hour // after the installation, without backups
	SignInLimit  = 20             // failed sign-ins in a day
)

// Facts describe a site, from its database. All instances read the same, except the clock and
// the connection.
type Facts struct {
	Clock time.Duration // of the database, minus that of this machine

	Restored     crash.Restored
	Connection   *crash.Connection // to the tracker; nil: this instance files no bugs
	Parked       int64             // filings that wait for an access token that the tracker accepts
	OldestFiling time.Duration     // age of the oldest open filing

	Workers        []crash.SymbolWorker // instances that symbolise
	SymbolsQueued  int64                // core dumps that an instance could symbolise now
	SymbolsWaiting time.Duration        // how long the oldest of them has waited

	Mail         bool // mails are sent
	MailsWaiting int64
	MailsRetried int64         // of those, the ones that the relay has not accepted when it was asked
	MailWaiting  time.Duration // age of the oldest of these

	Standbys []Standby
	Archives []db.ArchiveState

	Backups crash.Backups

	Unconfirmed      int64 // rights to private data from an upgrade that nobody has confirmed
	Expiring         int64 // tokens of service accounts that expire soon
	RulesFailing     int64 // rules of which an action failed
	EndpointsFailing int64
	Stopped          bool  // a person has stopped all notifications
	SignInsRefused   int64 // in the past day

	At time.Time // when these facts were read, by the clock of the database
}

// Standby is a server that replicates the database.
type Standby struct {
	Name  string        // its application_name and address
	Known bool          // whether the database tells how far behind it is
	Lag   time.Duration // by which its content is behind
	Bytes int64         // of the write-ahead log that it lacks
}

// Judge returns a check of each part of the site: whether it works, and what to do if not. The page of
// admins, the metric mishap_health and "mishap doctor" show these checks.
func Judge(v Facts) []crash.HealthCheck {
	return []crash.HealthCheck{judgeClock(v), judgeFiling(v), judgeTracker(v), judgeSymbols(v), judgeMail(v),
		judgeReplication(v), JudgeArchives(v.Archives),
		JudgeBackup(v.Backups, v.At), JudgeVerification(v.Backups, v.At),
		found("rights", "Rights", v.Unconfirmed > 0, crash.Counted(v.Unconfirmed,
			"right to private data from an upgrade needs", "rights to private data from an upgrade need")+" confirming.",
			"include embargoed problems, or remove the right", "/admin/people#rights"),
		found("tokens", "API tokens", v.Expiring > 0, crash.Counted(v.Expiring, "token of a service account expires",
			"tokens of service accounts expire")+" soon.", "renew on the page of the account", "/admin/tokens?state=soon"),
		found("sign-in", "Signing in", v.SignInsRefused >= SignInLimit,
			crash.Counted(v.SignInsRefused, "sign-in", "sign-ins")+" failed in the past day.",
			"look at their addresses", "/admin/audit?action="+audit.SignInRefused),
		found("rules", "Rules", v.RulesFailing > 0, "An action of "+crash.Counted(v.RulesFailing, "rule", "rules")+" failed.",
			"correct the rule", "/admin/rules#rules"),
		found("endpoints", "Endpoints", v.EndpointsFailing > 0, "Deliveries to "+crash.Counted(v.EndpointsFailing, "endpoint",
			"endpoints")+" fail.", "look at the last answer", "/admin/rules#endpoints"),
		found("notifications", "Notifications", v.Stopped, "All notifications are stopped.",
			"resume them when the emergency is over", "/admin/rules#stop")}
}

// found returns a check that warns with a problem if there is one.
func found(id, name string, is bool, problem, remedy, link string) crash.HealthCheck {
	c := crash.HealthCheck{ID: id, Name: name, Remedy: remedy, Link: link}
	if is {
		c.Problem, c.Warning = problem, true
	}
	return c
}

// UnknownHealth returns the checks of Judge when the vitals cannot be read.
func UnknownHealth(err error) []crash.HealthCheck {
	checks := Judge(Facts{})
	for i := range checks {
		checks[i].Problem, checks[i].Detail = "It is not known whether this works.", err.Error()
		checks[i].Remedy, checks[i].Link = "see the check of the database", ""
	}
	return checks
}

// minutes returns "2h5m" for a duration.
func minutes(d time.Duration) string { return strings.TrimSuffix(d.Round(time.Minute).String(), "0s") }

func judgeClock(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "clock", Name: "Clock", Remedy: "correct the clock that is wrong (timedatectl), and " +
		"keep it right with chrony or systemd-timesyncd"}
	if off := v.Clock.Abs(); off >= ClockWarning {
		c.Problem = fmt.Sprintf("The clocks of this instance and of the database differ by %v.", off.Round(time.Second))
		c.Warning = off < ClockFailure
	}
	return c
}

func judgeFiling(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "filing", Name: "Bug filing", Link: "/admin/filings"}
	switch {
	case !v.Restored.At.IsZero():
		c.Problem = v.Restored.Problem().Message
		c.Detail = "Restored on " + stamp(v.Restored.At) + ". Everything that people ask " +
			"for waits meanwhile. Without --apply, the command lists what waits, and what it will do with it."
		c.Remedy = "run mishap filings reconcile"
	case v.OldestFiling >= FilingLimit && v.Parked == 0:
		c.Problem = fmt.Sprintf("A bug has waited for %s to be filed.", minutes(v.OldestFiling))
		c.Warning = true
		c.Remedy = "look at the filing log for the tracker's answers"
	}
	return c
}

func judgeTracker(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "tracker", Name: "Bug tracker", Link: "/admin/tracker"}
	switch {
	case v.Parked > 0:
		c.Problem = crash.Counted(v.Parked, "filing waits", "filings wait") +
			" until the tracker accepts an access token of mishap."
		c.Remedy = "connect the account again"
	case v.Connection == nil:
		c.Detail = "This instance files no bugs."
	case v.Connection.Source == crash.NotConnected:
		c.Problem, c.Warning = "mishap is not connected to the tracker, so it files no bugs.", true
		c.Remedy = "connect mishap"
	case v.Connection.Dead:
		c.Problem, c.Remedy = "The tracker does not accept mishap’s access token.", "connect the account again"
	default:
		c.Detail = "Connected. No filing waits for an access token."
	}
	return c
}

func judgeSymbols(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "symbols", Name: "Symbols", Link: "/admin/data#symbols"}
	var architectures []string
	for _, w := range v.Workers {
		architectures = append(architectures, w.Architectures...)
		if w.Problem != "" {
			c.Detail = w.Problem
		}
	}
	slices.Sort(architectures)
	switch {
	case len(architectures) > 0:
		c.Detail = "Core dumps of " + strings.Join(slices.Compact(architectures), ", ") + " are symbolised."
	case len(v.Workers) > 0 && c.Detail == "":
		c.Off, c.Detail = true, "No machine is asked for a core dump (cores is never), and no instance could symbolise one."
	case len(v.Workers) > 0:
		c.Problem = "No instance can symbolise core dumps, so machines are not asked for any."
		c.Remedy = "install gdb on a machine whose instance symbolises, and run mishap doctor there"
	default:
		c.Off, c.Detail = true, "No running instance symbolises core dumps, so machines are not asked for any."
	}
	if c.Problem == "" && v.SymbolsWaiting >= SymbolsLimit {
		c.Problem = fmt.Sprintf("%s to be symbolised, the oldest one for %s.",
			crash.Counted(v.SymbolsQueued, "core dump waits", "core dumps wait"), minutes(v.SymbolsWaiting))
		c.Warning = true
		c.Remedy = "start an instance that symbolises, or more of them"
	}
	return c
}

func judgeMail(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "mail", Name: "Mail", Link: "/admin/mail?state=waiting"}
	if v.MailsWaiting > 0 {
		c.Detail = crash.Counted(v.MailsWaiting, "mail waits", "mails wait") + "."
	}
	switch {
	case !v.Mail:
		c.Off, c.Detail = true, strings.TrimSpace("No mail is sent (smtp_url is empty). "+c.Detail)
	case v.MailWaiting >= MailLimit:
		c.Problem = fmt.Sprintf("The mail relay does not accept %s, the oldest one for %s.",
			crash.Counted(v.MailsRetried, "mail", "mails"), minutes(v.MailWaiting))
		c.Remedy = "run mishap doctor, which asks the relay; the mail log has its answers"
	}
	return c
}

func judgeReplication(v Facts) crash.HealthCheck {
	c := crash.HealthCheck{ID: "replication", Name: "Replication", Detail: "The database has no standby server."}
	var details []string
	for _, s := range v.Standbys {
		switch {
		case !s.Known:
			details = append(details, s.Name+": how far it is behind is not known; grant pg_monitor to the role of "+
				"database_url.")
			continue
		case s.Lag >= LagLimit || s.Bytes >= LagBytes:
			c.Problem, c.Warning = "A standby of the database is behind.", true
			c.Remedy = "look at the standby's log, disk and network"
		}
		details = append(details, fmt.Sprintf("%s is %v and %.1f MiB behind.", s.Name, s.Lag.Round(time.Second),
			float64(s.Bytes)/(1<<20)))
	}
	if len(details) > 0 {
		c.Detail = strings.Join(details, " ")
	}
	return c
}

// JudgeArchives judges the servers that store old reports.
func JudgeArchives(all []db.ArchiveState) crash.HealthCheck {
	c := crash.HealthCheck{ID: "archives", Name: "Archives", Remedy: "start the server, or correct its address; what it " +
		"stores is missing until then, and erasures wait"}
	var details, away []string
	for _, a := range all {
		detail := a.Name + " stores no reports."
		if n := len(a.Parts); n > 0 {
			detail = fmt.Sprintf("%s stores reports that arrived from %s to %s.", a.Name, a.Parts[0].From.Format(time.DateOnly),
				a.Parts[n-1].Until.AddDate(0, 0, -1).Format(time.DateOnly))
		}
		if a.Problem != "" {
			away = append(away, a.Name)
			detail += " " + a.Problem
		}
		details = append(details, detail)
	}
	c.Detail = strings.Join(details, " ")
	switch {
	case len(all) == 0:
		c.Off, c.Detail = true, "All reports are in mishap’s own database."
	case len(away) > 0:
		c.Problem = "An archive cannot be reached: " + strings.Join(away, ", ") + "."
		c.Warning = true
	}
	return c
}

// JudgeBackup judges the last backup.
func JudgeBackup(b crash.Backups, now time.Time) crash.HealthCheck {
	c := crash.HealthCheck{ID: "backup", Name: "Backups"}
	age := now.Sub(b.Last.Taken)
	switch {
	case !b.Last.Taken.IsZero():
		c.Detail = fmt.Sprintf("The last one was taken on %s: %s, %.1f MiB, in %s.", stamp(b.Last.Taken),
			crash.Counted(b.Last.Reports, "report", "reports"), float64(b.Last.Bytes)/(1<<20), b.Last.Place)
		if age >= BackupLimit {
			c.Problem, c.Warning = fmt.Sprintf("The last backup is %d days old.", age/(24*time.Hour)), true
			c.Remedy = "run mishap backup, and see why its timer does not (systemctl list-timers)"
		}
	case now.Sub(b.Installed) >= BackupGrace:
		c.Problem, c.Warning = "No backup was ever made with mishap backup.", true
		c.Remedy = "run mishap backup, and enable its timer (docs/operating.md)"
	default:
		c.Detail = "No backup was made with mishap backup yet."
	}
	return c
}

// JudgeVerification judges the last verification of a backup. Without backups there is nothing to verify.
func JudgeVerification(b crash.Backups, now time.Time) crash.HealthCheck {
	c := crash.HealthCheck{ID: "verification", Name: "Backup verification"}
	age := now.Sub(b.Ended)
	switch {
	case b.Last.Taken.IsZero():
		c.Detail = "There is no backup to verify."
	case b.Ended.IsZero() && now.Sub(b.Installed) >= BackupGrace:
		c.Problem, c.Warning = "No backup was ever verified.", true
		c.Remedy = "run mishap restore --verify, and enable the timer that does so (docs/operating.md)"
	case b.Ended.IsZero():
		c.Detail = "No backup was verified yet."
	case b.Problem != "":
		c.Problem = "The last verification of a backup failed."
		c.Detail = fmt.Sprintf("It ended on %s, for %s: %s", stamp(b.Ended), b.Place, b.Problem)
		c.Remedy = "correct the cause, make a backup now, and verify it (docs/operating.md)"
	default:
		c.Detail = fmt.Sprintf("The last one ended on %s: %s is good.", stamp(b.Ended), b.Place)
		if age >= BackupLimit {
			c.Problem, c.Warning = fmt.Sprintf("The last verification of a backup was %d days ago.", age/(24*time.Hour)), true
			c.Remedy = "run mishap restore --verify, and see why the timer does not (systemctl list-timers)"
		}
	}
	return c
}

// stamp returns a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

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
	// sqlSettings reads what administrators should look at among people, rules and endpoints.
	sqlSettings = `
		select (select count(*) from group_grants where not embargoed) +
				(select count(*) from account_grants where not embargoed),
			(select count(*) from api_tokens as t join users as u on u.id = t.user_id
				where u.team <> '' and not u.disabled and t.revoked is null and t.expires > @now and t.expires <= @soon),
			(select count(*) from rules where enabled and deleted is null and failure <> ''),
			(select count(*) from endpoints where failures > 0
				and (disabled is null or disabled_why not like '% switched it off.')),
			exists (select from notification_stop),
			(select count(*) from audit_events where action = @refused and at > @now - interval '1 day')`
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
	args := pgx.NamedArgs{"now": began, "soon": began.Add(crash.TokenWarning), "refused": audit.SignInRefused}
	err = s.Pool.QueryRow(ctx, sqlSettings, args).Scan(
		&v.Unconfirmed, &v.Expiring, &v.RulesFailing, &v.EndpointsFailing, &v.Stopped, &v.SignInsRefused)
	if err != nil {
		return v, fmt.Errorf("settings: %w", db.Classify(err))
	}
	v.Standbys, err = db.List(ctx, s.Pool, sqlStandbys, nil, func(row pgx.CollectableRow) (b Standby, err error) {
		var lag float64
		err = row.Scan(&b.Name, &b.Known, &lag, &b.Bytes)
		b.Lag = seconds(lag)
		return b, err
	})
	if err != nil {
		return v, db.Wrap(err, "standbys")
	}
	v.Archives, err = db.ArchiveStates(ctx, s.Handle)
	return v, err
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
	takenDesc    = desc("mishap_backup_last_timestamp_seconds",
		"When the last complete backup was taken; 0: there is none.")
	bytesDesc    = desc("mishap_backup_last_bytes", "Size of the last complete backup.")
	verifiedDesc = desc("mishap_backup_verified_timestamp_seconds",
		"When the last verification of a backup ended; 0: there was none.")
	goodDesc = desc("mishap_backup_verified_good",
		"1 if the last verification of a backup found it good; else 0.")
)

// Describe implements prometheus.Collector.
func (*Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{checkDesc, upDesc, clockDesc, queuedDesc, queuedAgeDesc, workersDesc, mailsDesc,
		retriedDesc, retriedAgeDesc, restoredDesc, standbysDesc, lagDesc, lagBytesDesc, takenDesc, bytesDesc, verifiedDesc,
		goodDesc} {
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
	send(restoredDesc, number(!v.Restored.At.IsZero()))
	send(takenDesc, unix(v.Backups.Last.Taken))
	send(bytesDesc, float64(v.Backups.Last.Bytes))
	send(verifiedDesc, unix(v.Backups.Ended))
	send(goodDesc, number(!v.Backups.Ended.IsZero() && v.Backups.Problem == ""))
	send(standbysDesc, float64(len(v.Standbys)))
	for _, s := range v.Standbys {
		if s.Known {
			send(lagDesc, s.Lag.Seconds(), s.Name)
			send(lagBytesDesc, float64(s.Bytes), s.Name)
		}
	}
}

const (
	sqlAddBackup = `
		with old as (delete from backups where ended < now() - interval '400 days')
		insert into backups (taken, ended, place, bytes, reports) values (@taken, now(), @place, @bytes, @reports)`
	// sqlVerified finds the backup by its name: the folder may have been moved or named in another way.
	sqlVerified = `
		update backups set verified = now(), verify_problem = @problem
		where id = (select max(id) from backups where regexp_replace(regexp_replace(place, '\?.*$', ''), '^.*/', '') = @name)`
	sqlBackups = `
		select (select min(applied) from applied_migrations), b.taken, coalesce(b.place, ''), coalesce(b.bytes, 0),
			coalesce(b.reports, 0), v.verified, coalesce(v.place, ''), coalesce(v.verify_problem, '')
		from (select) as one
		left join (select * from backups order by taken desc limit 1) as b on true
		left join (select * from backups where verified is not null order by verified desc limit 1) as v on true`
)

// AddBackup records a complete backup.
func AddBackup(ctx context.Context, conn db.Querier, b crash.Backup) error {
	_, err := conn.Exec(ctx, sqlAddBackup, pgx.NamedArgs{"taken": b.Taken, "place": b.Place, "bytes": b.Bytes,
		"reports": b.Reports})
	return db.Wrap(err, "record the backup")
}

// BackupVerified records whether the backup with this name is good. known is false if the database does not
// know the backup; nothing is recorded then.
func BackupVerified(ctx context.Context, conn db.Querier, name, problem string) (known bool, err error) {
	tag, err := conn.Exec(ctx, sqlVerified, pgx.NamedArgs{"name": name, "problem": problem})
	if err != nil {
		return false, fmt.Errorf("record the verification: %w", db.Classify(err))
	}
	return tag.RowsAffected() > 0, nil
}

// ReadBackups returns the facts about the backups.
func ReadBackups(ctx context.Context, h *db.Handle) (b crash.Backups, err error) {
	err = h.Pool.QueryRow(ctx, sqlBackups).Scan(&b.Installed, db.OrZero(&b.Last.Taken), &b.Last.Place, &b.Last.Bytes,
		&b.Last.Reports, db.OrZero(&b.Ended), &b.Place, &b.Problem)
	return b, db.Wrap(err, "backups")
}

// number returns 1 for true, and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix returns the seconds since 1970 of t, or 0 if t is zero.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
