package crash

import (
	"strings"
	"time"

	"mishap/crash/pytext"
)

// OccurredAt reads the Date of a report: asctime in the C locale, "Mon May  5 14:46:10 2025". It is local time without
// a zone, so it is read as UTC. False: missing or unreadable.
func OccurredAt(date string) (time.Time, bool) {
	const longest = 64
	if len(date) > longest {
		return time.Time{}, false
	}
	t, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(strings.FieldsFunc(date, pytext.IsSpace), " "))
	return t, err == nil
}

// CountingDay is the UTC midnight of the day that a report counts on: that on which it occurred, when this is neither
// after the day following the arrival nor more than maxAgeDays days before it; else that of the arrival. A zero
// occurred is not known.
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

// Midnight returns the start of the UTC day of t.
func Midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
