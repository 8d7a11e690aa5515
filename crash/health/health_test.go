package health_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/health"
)

// TestJudge checks the limits of all checks, from both sides.
func TestJudge(t *testing.T) {
	t.Parallel()
	restored := crash.Restored{At: time.Unix(1, 0)}
	start := time.Unix(1, 0)
	// backups returns vitals that were read some time after the installation, after a backup and after its
	// verification. Negative: there was none.
	backups := func(installed, taken, verified time.Duration, problem string) health.Vitals {
		v := health.Vitals{At: start.Add(10_000 * time.Hour)}
		v.Backups.Installed = v.At.Add(-installed)
		if taken >= 0 {
			v.Backups.Last = crash.Backup{Taken: v.At.Add(-taken), Place: "/b", Reports: 1}
		}
		if verified >= 0 {
			v.Backups.Verification = crash.Verification{Ended: v.At.Add(-verified), Place: "/b", Problem: problem}
		}
		return v
	}
	tests := []struct {
		name   string
		vitals health.Vitals
		check  string
		want   crash.HealthStatus
		text   string
	}{
		{"clocks agree", health.Vitals{Clock: -9 * time.Second}, "clock", crash.HealthOK, ""},
		{"a clock is behind", health.Vitals{Clock: -10 * time.Second}, "clock", crash.HealthWarning, "differ by 10s"},
		{"a clock is wrong", health.Vitals{Clock: 5 * time.Minute}, "clock", crash.HealthFailure, "differ by 5m0s"},
		{"a young filing", health.Vitals{OldestFiling: 59 * time.Minute}, "filing", crash.HealthOK, ""},
		{"an old filing", health.Vitals{OldestFiling: time.Hour}, "filing", crash.HealthWarning, "for 1h0m to"},
		{"a parked filing is old", health.Vitals{OldestFiling: time.Hour, Parked: 1}, "filing", crash.HealthOK, ""},
		{"restored", health.Vitals{Restored: restored}, "filing", crash.HealthFailure, "restored from a backup"},
		{"no filing here", health.Vitals{}, "tracker", crash.HealthOK, "files no bugs"},
		{"never connected", health.Vitals{Connection: &crash.Connection{Source: crash.NotConnected}}, "tracker",
			crash.HealthWarning, "not connected"},
		{"connected", health.Vitals{Connection: &crash.Connection{Source: crash.FromConfiguration}}, "tracker",
			crash.HealthOK, "Connected."},
		{"rejected", health.Vitals{Connection: &crash.Connection{Source: crash.FromConfiguration,
			TokenHealth: crash.TokenHealth{Dead: true}}}, "tracker",
			crash.HealthFailure, "does not accept"},
		{"parked filings", health.Vitals{Parked: 2}, "tracker", crash.HealthFailure, "2 filings wait"},
		{"no instance symbolises", health.Vitals{}, "symbols", crash.HealthOff, "No running instance"},
		{"cores are off", health.Vitals{Workers: []crash.SymbolWorker{{}}}, "symbols", crash.HealthOff, "cores is never"},
		{"cores are off in one instance", health.Vitals{Workers: []crash.SymbolWorker{{},
			{Problem: "gdb is not installed."}}},
			"symbols", crash.HealthFailure, "gdb is not installed."},
		{"cores are off, but one waits", health.Vitals{Workers: []crash.SymbolWorker{{}}, SymbolsQueued: 1,
			SymbolsWaiting: time.Hour}, "symbols", crash.HealthWarning, "1 core dump waits"},
		{"no debugger", health.Vitals{Workers: []crash.SymbolWorker{{Problem: "gdb is not installed."}}}, "symbols",
			crash.HealthFailure, "gdb is not installed."},
		{"an instance symbolises", health.Vitals{Workers: []crash.SymbolWorker{{Architectures: []string{"i386", "amd64"}}},
			SymbolsWaiting: 59 * time.Minute}, "symbols", crash.HealthOK, "amd64, i386"},
		{"core dumps wait", health.Vitals{Workers: []crash.SymbolWorker{{Architectures: []string{"amd64"}}},
			SymbolsQueued: 3, SymbolsWaiting: time.Hour}, "symbols", crash.HealthWarning, "3 core dumps wait"},
		{"mails wait for a moment", health.Vitals{Mail: true, MailsWaiting: 2, MailWaiting: 29 * time.Minute}, "mail",
			crash.HealthOK,
			"2 mails wait"},
		{"the relay refuses", health.Vitals{Mail: true, MailsWaiting: 2, MailsRetried: 1, MailWaiting: 30 * time.Minute},
			"mail",
			crash.HealthFailure, "1 mail"},
		{"mail is off", health.Vitals{MailsWaiting: 2, MailsRetried: 1, MailWaiting: time.Hour}, "mail", crash.HealthOff,
			"No mail is sent (smtp_url is empty). 2 mails wait."},
		{"no standby", health.Vitals{}, "replication", crash.HealthOK, "no standby"},
		{"a good standby", health.Vitals{Standbys: []health.Standby{{Name: "b", Known: true, Bytes: 64<<20 - 1}}},
			"replication", crash.HealthOK, "b is 0s and 64.0 MiB behind."},
		{"a standby lacks much", health.Vitals{Standbys: []health.Standby{{Known: true, Bytes: 64 << 20}}}, "replication",
			crash.HealthWarning, ""},
		{"a standby is late", health.Vitals{Standbys: []health.Standby{{Known: true, Lag: time.Minute}}}, "replication",
			crash.HealthWarning, ""},
		{"an unknown standby", health.Vitals{Standbys: []health.Standby{{Name: "b"}}}, "replication", crash.HealthOK,
			"pg_monitor"},
		{"no backup yet", backups(48*time.Hour-1, -1, -1, ""), "backup", crash.HealthOK, "No backup"},
		{"no backup", backups(48*time.Hour, -1, -1, ""), "backup", crash.HealthWarning, "No backup was ever made"},
		{"a backup", backups(0, 72*time.Hour-1, -1, ""), "backup", crash.HealthOK, "1 report, 0.0 MiB, in /b."},
		{"an old backup", backups(0, 72*time.Hour, -1, ""), "backup", crash.HealthWarning, "3 days old"},
		{"nothing to verify", backups(48*time.Hour, -1, -1, ""), "verification", crash.HealthOK, "no backup to verify"},
		{"not verified yet", backups(48*time.Hour-1, 0, -1, ""), "verification", crash.HealthOK, "No backup was verified"},
		{"never verified", backups(48*time.Hour, 0, -1, ""), "verification", crash.HealthWarning, "ever verified"},
		{"verified", backups(0, 0, 72*time.Hour-1, ""), "verification", crash.HealthOK, "/b is good."},
		{"verified long ago", backups(0, 0, 72*time.Hour, ""), "verification", crash.HealthWarning, "3 days ago"},
		{"a bad backup", backups(0, 0, 0, "toc.dat is missing."), "verification", crash.HealthFailure, "/b: toc.dat"},
	}
	for _, tt := range tests {
		found := false
		for _, c := range health.Judge(tt.vitals) {
			if c.ID != tt.check {
				continue
			}
			found = true
			if c.Status() != tt.want || !strings.Contains(c.Problem+" "+c.Detail, tt.text) ||
				c.Problem != "" && c.Remedy == "" {
				t.Errorf("%s: got %s %+v, want %s with %q", tt.name, c.Status(), c, tt.want, tt.text)
			}
		}
		if !found {
			t.Errorf("%s: there is no check %s", tt.name, tt.check)
		}
	}
	for _, c := range health.Unknown(errors.New("no answer")) {
		if c.Status() != crash.HealthFailure || c.Detail != "no answer" {
			t.Errorf("unknown: got %+v, want a failure", c)
		}
	}
}
