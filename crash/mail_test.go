package crash_test

import (
	"testing"
	"time"

	"mishap/crash"
)

// TestNextDigest checks that there is one digest on each day at the reader's hour, also on the days
// when clocks change.
func TestNextDigest(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for hour := range 24 {
		s := crash.MailSettings{Mode: crash.MailDaily, Hour: hour, Zone: "Europe/Berlin"}
		for _, month := range []time.Month{time.March, time.October} {
			at := time.Date(2026, month, 20, 23, 59, 0, 0, berlin)
			for day := 21; day <= 31; day++ {
				at = s.NextDigest(at).In(berlin)
				missing := month == time.March && day == 29 && hour == 2 // clocks go from 2 to 3
				if at.Day() != day || at.Hour() != hour && !missing {
					t.Errorf("digest at %d h: got %v, want day %d of %v", hour, at, day, month)
				}
			}
		}
	}
	weekly := crash.MailSettings{Mode: crash.MailWeekly, Hour: 8, Weekday: time.Monday, Zone: "UTC"}
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	for _, after := range []time.Time{monday.Add(-time.Second), monday.AddDate(0, 0, -7)} {
		if got := weekly.NextDigest(after); !got.Equal(monday) {
			t.Errorf("weekly after %v: got %v, want %v", after, got, monday)
		}
	}
}

// noon is a time without meaning.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// work returns the work of a person for whom notices of these kinds wait, numbered from 1.
func work(s crash.MailSettings, kinds ...crash.EventKind) crash.MailWork {
	s.Address = "ada@example.org"
	w := crash.MailWork{Settings: s}
	for i, k := range kinds {
		w.Waiting = append(w.Waiting, crash.WaitingNotice{ID: int64(i + 1), Kind: k, At: noon})
	}
	return w
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	kinds := make([]crash.EventKind, 57)
	for i := range kinds {
		kinds[i] = crash.EventNew
	}
	kinds[56] = crash.EventRegressed
	w := work(crash.DefaultMailSettings, kinds...)
	p := w.Plan(noon)
	last := p.Mails[len(p.Mails)-1]
	if len(p.Mails) != 21 || p.Mails[0].Notices[0] != 57 || last.Kind != crash.MailSummary || len(last.Notices) != 37 {
		t.Errorf("got %v, want the regression, 19 other mails, and a summary of 37", p.Mails)
	}
	w.Sent, w.Summaries = 20, 1
	if p = w.Plan(noon); len(p.Mails) != 0 || len(p.Held) != 57 {
		t.Errorf("after that: got %d mails and %d held, want all held", len(p.Mails), len(p.Held))
	}
	for i := range w.Waiting {
		w.Waiting[i].Held = true
	}
	w.Sent, w.Summaries = 0, 0
	if p = w.Plan(noon); len(p.Mails) != 1 || p.Mails[0].Kind != crash.MailSummary || len(p.Mails[0].Notices) != 57 {
		t.Errorf("an hour later: got %v, want one summary of all", p.Mails)
	}
}

func TestPlanQuietHours(t *testing.T) {
	t.Parallel()
	s := crash.DefaultMailSettings
	s.Quiet = &crash.QuietHours{From: 22, To: 7}
	s.KindsOff = []crash.EventKind{crash.EventQuiet}
	night := noon.Add(11 * time.Hour)
	p := work(s, crash.EventNew, crash.EventTracker, crash.EventQuiet).Plan(night)
	if len(p.Mails) != 1 || p.Mails[0].Notices[0] != 2 || len(p.None) != 1 || p.None[0] != 3 {
		t.Errorf("at night: got %+v, want only the alert; and no mail about the kind that is off", p)
	}
	for hours, want := range map[int]int{9: 1, 10: 0, 18: 0, 19: 1} { // 21, 22, 6 and 7 o'clock
		if p := work(s, crash.EventNew).Plan(noon.Add(time.Duration(hours) * time.Hour)); len(p.Mails) != want {
			t.Errorf("after %d h: got %d mails, want %d", hours, len(p.Mails), want)
		}
	}
	s.Mode, s.Hour = crash.MailDaily, 6
	w := work(s, crash.EventNew, crash.EventRefused)
	if p := w.Plan(noon); len(p.Mails) != 1 || p.Mails[0].Kind != crash.MailNotice {
		t.Errorf("daily: got %v, want the alert at once", p.Mails)
	}
	if p := w.Plan(noon.Add(18 * time.Hour)); len(p.Mails) != 2 || p.Mails[0].Kind != crash.MailDigest {
		t.Errorf("at the hour: got %v, want a digest", p.Mails)
	}
	s.Mode = crash.MailOff
	if p := work(s, crash.EventNew, crash.EventRefused).Plan(noon); len(p.None) != 2 || len(p.Mails) != 0 {
		t.Errorf("off: got %+v, want no mail", p)
	}
}
