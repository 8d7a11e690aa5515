package crash

import (
	"strings"
	"time"

	"mishap/crash/pytext"
)

// OccurredAt parses the Date of a report: asctime in the C locale, "Mon May  5 14:46:10 2025". That
// is local time without a zone, which OccurredAt reads as UTC. It returns false if the date is
// missing or malformed.
func OccurredAt(date string) (time.Time, bool) {
	const longest = 64
	if len(date) > longest {
		return time.Time{}, false
	}
	t, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(strings.FieldsFunc(date, pytext.IsSpace), " "))
	return t, err == nil
}

// CountingDay returns the UTC midnight of the day on which a report counts. That is the day of the
// crash, if it is at most one day after the arrival and at most maxAgeDays before it, else the day
// of the arrival. A zero occurred is unknown.
func CountingDay(occurred, arrived time.Time, maxAgeDays int) time.Time {
	arrival := Midnight(arrived)
	if occurred.IsZero() {
		return arrival
	}
	day := Midnight(occurred)
	if day.After(arrival.AddDate(0, 0, 1)) || day.Before(arrival.AddDate(0, 0, -maxAgeDays)) {
		return arrival
	}
	return day
}

// LastDays returns the first and the last of the n UTC days that end with the day of now. All periods
// that end now consist of such days: the past week is today and the six days before.
func LastDays(now time.Time, n int) (since, until time.Time) {
	until = Midnight(now)
	return until.AddDate(0, 0, 1-n), until
}

// Elapsed returns the share of a UTC day that has passed at now, from 0 to 1, in whole minutes. Rates count
// the machines of today by it: reports of a day that has just begun are few.
func Elapsed(day, now time.Time) float64 {
	part := float64(now.Truncate(time.Minute).Sub(Midnight(day))) / float64(24*time.Hour)
	return min(max(part, 0), 1)
}

// Midnight returns the start of the UTC day of t.
func Midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
