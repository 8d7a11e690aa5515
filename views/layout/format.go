package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Size formats a number of bytes: "812 B", "4.2 kB", "1.3 MB".
func Size(bytes int) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
}

// Ago formats how long before now t was, in decreasing precision: "just now", "3 min ago", "5 h
// ago", "2 d ago", then the date, with the year if it differs from now's.
func Ago(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < -time.Minute:
		return Date(t, now) // the machine's clock is ahead
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 14*24*time.Hour:
		return fmt.Sprintf("%d d ago", int(d.Hours()/24))
	default:
		return Date(t, now)
	}
}

// Date formats a day: "2 Sep", or "2 Sep 2025" if the year differs from now's.
func Date(t, now time.Time) string {
	if t.UTC().Year() == now.UTC().Year() {
		return t.UTC().Format("2 Jan")
	}
	return t.UTC().Format("2 Jan 2006")
}

// Exact formats a time to the second: "2026-09-02 14:03:07 UTC".
func Exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// MachineTime returns the value of a datetime attribute.
func MachineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ShortRelease returns the release without "Ubuntu", from which most reports come: "Ubuntu 24.04" →
// "24.04", but "Debian 13" unchanged.
func ShortRelease(r crash.Release) string {
	return strings.TrimPrefix(string(r), "Ubuntu ")
}

// FullRelease returns the release with its code name: "Ubuntu 24.04 (noble)".
func FullRelease(r crash.Release) string {
	switch codename := r.Codename(); {
	case r == "":
		return "unknown release"
	case codename == "":
		return string(r)
	default:
		return fmt.Sprintf("%s (%s)", r, codename)
	}
}

// OrUnknown returns s, or "unknown" if it is empty.
func OrUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Cut shortens a text to n characters.
func Cut(s string, n int) string { return crash.Shorten(s, n) }

// PreText returns text for a pre element, of which browsers drop the first line break.
func PreText(s string) string { return "\n" + s }

// unreadWords is the number of unread notices in the header, cut at 99.
func unreadWords(n int64) string {
	const most = 99
	if n > most {
		return strconv.Itoa(most) + "+"
	}
	return strconv.FormatInt(n, 10)
}
