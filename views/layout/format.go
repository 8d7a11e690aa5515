package layout

import (
	"fmt"
	"slices"
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

// Sparkline is a small chart in a line of text: one bar per day, all in one SVG path.
type Sparkline struct {
	Path  string // SVG path, in a box of sparkWidth by sparkHeight
	Label string // its description: "most on 3 May: 14"
	Any   bool
}

// The box of a sparkline. Each bar is a line two units wide, with one unit of space beside it.
const (
	sparkStep   = 3
	sparkHeight = 16
)

// NewSparkline returns the chart of counts by day, of which the last is until.
func NewSparkline(days []int64, until time.Time) Sparkline {
	var most, at int64
	for i, n := range days {
		if n > 0 && n >= most {
			most, at = n, int64(i)
		}
	}
	if most == 0 {
		return Sparkline{Label: fmt.Sprintf("none in the past %d days", len(days))}
	}
	const bytesPerBar = len("M100 16v-16")
	var path strings.Builder
	path.Grow(bytesPerBar * len(days))
	number := func(before string, n int64) {
		path.WriteString(before)
		path.WriteString(strconv.FormatInt(n, 10)) // numbers below 100 need no memory
	}
	for i, n := range days {
		if n <= 0 {
			continue
		}
		height := max(int64(1), (n*sparkHeight+most/2)/most)
		number("M", int64(i*sparkStep+1))
		number(" ", sparkHeight)
		number("v-", height)
	}
	day := until.AddDate(0, 0, int(at)-len(days)+1)
	return Sparkline{Path: path.String(), Any: true,
		Label: fmt.Sprintf("at most %s a day in the past %d days, on %s", crash.Count(most), len(days), Date(day, until))}
}

// StatusClass returns the class of a status mark.
func StatusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietStates are the states that lists do not mark, because most problems have them.
var quietStates = []crash.StateWord{crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled,
	crash.StateNameless, crash.StateTests}

// marked reports whether lists mark a problem with this status.
func marked(w crash.StateWord) bool { return !slices.Contains(quietStates, w) }

// The part of a page with the status of a problem, and how htmx replaces it.
const (
	StatusID     = "status"
	StatusTarget = "#" + StatusID
	Morph        = "outerMorph" // htmx replaces an element but leaves equal descendants in place
)
