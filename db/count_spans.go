package db

import (
	"slices"
	"time"
	"unique"
)

// activeDays is for how many days a machine counts as active from a day on which it sent a report, that day included: the
// 90 days of the existing service's "users".
const activeDays = 90

// span is a stretch of days on which a machine is active, both included.
type daySpan struct{ from, until time.Time }

// mergeDays adds days with a report to the spans of one machine and release, which neither overlap nor touch, and neither
// do those that come back. The spans are sorted.
func mergeDays(spans []daySpan, days []time.Time) []daySpan {
	all := slices.Clone(spans)
	for _, d := range days {
		all = append(all, daySpan{d, d.AddDate(0, 0, activeDays-1)})
	}
	slices.SortFunc(all, func(a, b daySpan) int { return a.from.Compare(b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && !s.from.After(merged[last].until.AddDate(0, 0, 1)) {
			if s.until.After(merged[last].until) {
				merged[last].until = s.until
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// spanChange is what mergeDays changed: rows to write and to take away, and by how much the number of active machines
// changes from a day on.
type spanChange struct {
	gone, come []daySpan
	active     map[time.Time]int64
}

func changeOfSpans(before, after []daySpan) spanChange {
	c := spanChange{active: map[time.Time]int64{}}
	for _, s := range before {
		if !slices.Contains(after, s) {
			c.gone = append(c.gone, s)
			c.active[s.from]--
			c.active[s.until.AddDate(0, 0, 1)]++
		}
	}
	for _, s := range after {
		if !slices.Contains(before, s) {
			c.come = append(c.come, s)
			c.active[s.from]++
			c.active[s.until.AddDate(0, 0, 1)]--
		}
	}
	return c
}

// machineSpans are the spans in which machines are active.
type machineSpans map[releaseSystem][]daySpan

// maxSeenSpans bounds the machines of which a process remembers when they are active: some 30 bytes each.
const maxSeenSpans = 1 << 17

// seenSpans remembers the last span of machines as it is in the database, so that a machine that sends much costs little. Spans
// only ever grow there, whichever instance writes them, so what is remembered stays true.
type seenSpans = seen[seenMachine, seenSpan]

type (
	seenMachine struct {
		release unique.Handle[string]
		system  int64
	}
	seenSpan struct{ from, until int32 } // days since 1970
)

func dayNumber(day time.Time) int32 { return int32(day.Unix() / (24 * 60 * 60)) } //nolint:gosec // in range for millions of years

// spanCovers reports whether it is known that a report of that day changes nothing.
func spanCovers(spans *seenSpans, server serverID, m releaseSystem, day time.Time) bool {
	span, ok := spans.find(server, seenMachine{unique.Make(m.release), m.system})
	n := dayNumber(day)
	return ok && span.from <= n && n+activeDays-1 <= span.until
}

// last returns the last span of each machine.
func (spans machineSpans) last() map[seenMachine]seenSpan {
	last := make(map[seenMachine]seenSpan, len(spans))
	for m, all := range spans {
		if len(all) > 0 {
			span := all[len(all)-1]
			last[seenMachine{unique.Make(m.release), m.system}] = seenSpan{dayNumber(span.from), dayNumber(span.until)}
		}
	}
	return last
}
