package upkeep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
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

	Backups crash.Backups
	At      time.Time // when these facts were read, by the clock of the database
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
		judgeReplication(v),
		JudgeBackup(v.Backups, v.At), JudgeVerification(v.Backups, v.At)}
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
	c := crash.HealthCheck{ID: "filing", Name: "Filing bugs", Link: "/admin/filings"}
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
	c := crash.HealthCheck{ID: "tracker", Name: "Access to the tracker", Link: "/admin/tracker"}
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
	c := crash.HealthCheck{ID: "symbols", Name: "Function names of native crashes", Link: "/admin/symbols"}
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
	c := crash.HealthCheck{ID: "mail", Name: "Mail", Link: "/admin/mail"}
	if v.MailsWaiting > 0 {
		c.Detail = crash.Counted(v.MailsWaiting, "mail waits", "mails wait") + "."
	}
	switch {
	case !v.Mail:
		c.Off, c.Detail = true, strings.TrimSpace("No mail is sent (smtp_url is empty). "+c.Detail)
	case v.MailWaiting >= MailLimit:
		c.Problem = fmt.Sprintf("The mail relay does not accept %s, the oldest one for %s.",
			crash.Counted(v.MailsRetried, "mail", "mails"), minutes(v.MailWaiting))
		c.Remedy = "run mishap doctor, which asks the relay; its answers are on the page of mails"
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
	c := crash.HealthCheck{ID: "verification", Name: "Verification of backups"}
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
