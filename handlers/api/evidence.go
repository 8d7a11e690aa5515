package api

import (
	"context"
	"math"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db/problems"
)

// evidence supplements the old fields: crashes per active machine with a 95 % confidence
// interval, and the ratio of the new rate to the old one.
type evidence struct {
	New   rate   `json:"new" doc:"For the new version, from its first day until now."`
	Old   rate   `json:"old" doc:"For the old version, on the days before."`
	Ratio *ratio `json:"ratio" doc:"Ratio of the new rate to the old one; null if a version has no days, or neither crashes."`
}

// rate is the number of crashes per machine.
type rate struct {
	Crashes  int64       `json:"crashes" doc:"Number of crashes; for a problem, of all its reports."`
	Interval *[2]float64 `json:"interval" doc:"95 % interval per 1000 machine-days; null without machines."`
	Machines float64     `json:"machine_days" doc:"Sum of active machines per day; today counts in part."`
	Rate     *float64    `json:"per_1000_machine_days" doc:"Null if there are no machines."`
}

type ratio struct {
	Interval [2]*float64 `json:"interval" doc:"95 % confidence interval; null: no limit. Above 1: it crashes more."`
	Ratio    *float64    `json:"ratio" doc:"Null if only the old version has no crashes."`
}

// newEvidence counts both versions over the newest days with crashes, which the old formula uses
// too, and the days between them. A day without a row has the machines of the day before. During
// a phased update, only the share of machines that receive the new version counts.
func newEvidence(days []stats.VersionDay, q rateQuestion, now time.Time) evidence {
	today := now.UTC().Truncate(24 * time.Hour)
	crashes := func(n, proposed int64) int64 {
		if q.excludeProposed {
			return n - proposed
		}
		return n
	}
	var e evidence
	newer := newest(days, func(d stats.VersionDay) int64 { return d.New })
	older := newest(days, func(d stats.VersionDay) int64 {
		if d.Day.After(q.date) {
			return 0
		}
		return d.Old
	})
	share := 1.0
	if q.phased {
		share = q.percentage / 100
	}
	if len(newer) > 0 {
		for day, d := range eachDay(days, newer[len(newer)-1].Day, today) {
			e.New.Crashes += crashes(d.New, d.NewProposed)
			e.New.Machines += float64(d.Machines) * share * crash.Elapsed(day, now)
		}
	}
	if len(older) > 0 {
		for _, d := range eachDay(days, older[len(older)-1].Day, q.date.AddDate(0, 0, -1)) {
			e.Old.Crashes += crashes(d.Old, d.OldProposed)
			e.Old.Machines += float64(d.Machines)
		}
	}
	return e.withRates()
}

// withRates returns e with the rates and the ratio of its counts.
func (e evidence) withRates() evidence {
	e.New.setRates()
	e.Old.setRates()
	e.Ratio = compare(e.New, e.Old)
	e.New.Machines, e.Old.Machines = rounded(e.New.Machines), rounded(e.Old.Machines)
	return e
}

// rounded rounds x to six significant digits; the data has no greater precision.
func rounded(x float64) float64 {
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64); err == nil {
		return y
	}
	return x
}

// eachDay yields the days from one to another, including those without a row.
func eachDay(days []stats.VersionDay, from, to time.Time) func(func(time.Time, stats.VersionDay) bool) {
	return func(yield func(time.Time, stats.VersionDay) bool) {
		var last stats.VersionDay
		i := 0
		for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
			now := stats.VersionDay{Day: day}
			for ; i < len(days) && !days[i].Day.After(day); i++ {
				last = days[i]
			}
			if last.Day.Equal(day) {
				now = last
			}
			now.Machines = last.Machines
			if !yield(day, now) {
				return
			}
		}
	}
}

// setRates sets the rate and its interval.
func (r *rate) setRates() {
	m := stats.NewMachineRate(r.Crashes, r.Machines)
	if m.Known() {
		per := rounded(m.Per1000)
		r.Rate, r.Interval = &per, &[2]float64{rounded(m.Low), rounded(m.High)}
	}
}

// compare returns the ratio of the new rate to the old one, or nil if it is unknown.
func compare(newer, older rate) *ratio {
	x := stats.NewMachineRate(newer.Crashes, newer.Machines).Times(stats.NewMachineRate(older.Crashes, older.Machines))
	if !x.Known() {
		return nil
	}
	limit := func(x float64) *float64 {
		if math.IsInf(x, 1) {
			return nil
		}
		x = rounded(x)
		return &x
	}
	return &ratio{Ratio: limit(x.Ratio), Interval: [2]*float64{limit(x.Low), limit(x.High)}}
}

// maxOldDays is the maximum number of days before the new version in which the old version
// counts.
const maxOldDays = 90

// exposure is the number of machine-days of two versions of a source package, in the releases
// where the new one was seen.
type exposure struct{ newer, older float64 }

// exposureOf adds up the machines that were active in any of those releases, each once a day. The
// new version counts from its first day there until now. The old version counts from its first day,
// at most maxOldDays back, until the new one appeared.
func (a *answers) exposureOf(ctx context.Context, source, previous, newer string) (exposure, error) {
	var x exposure
	b, err := a.store.Index(ctx)
	if err != nil {
		return x, err
	}
	spans := b.SourceSpans(source, newer, previous)
	type firsts struct{ newer, older time.Time }
	starts, since := map[crash.Release]firsts{}, a.today()
	for _, s := range spans {
		f := starts[s.Release]
		if s.Version == newer {
			f.newer = s.First.Time()
		}
		if s.Version == previous {
			f.older = s.First.Time()
		}
		starts[s.Release] = f
		if s.First.Time().Before(since) {
			since = s.First.Time()
		}
	}
	today := a.today()
	newerDays, olderDays := map[crash.Release]problems.Days{}, map[crash.Release]problems.Days{}
	for release, f := range starts {
		if f.newer.IsZero() {
			continue
		}
		newerDays[release] = problems.Days{Since: f.newer, Until: today}
		if !f.older.IsZero() {
			oldest := f.newer.AddDate(0, 0, -maxOldDays)
			if f.older.After(oldest) {
				oldest = f.older
			}
			olderDays[release] = problems.Days{Since: oldest, Until: f.newer.AddDate(0, 0, -1)}
		}
	}
	newerMachines, err := a.problems.DistinctMachines(ctx, newerDays, since, today)
	if err != nil {
		return x, err
	}
	olderMachines, err := a.problems.DistinctMachines(ctx, olderDays, since, today)
	if err != nil {
		return x, err
	}
	x.newer = stats.MachineDays(newerMachines, since, a.now())
	x.older = stats.MachineDays(olderMachines, since, a.now())
	return x, nil
}

// evidence returns the evidence of a problem that the old version did not have.
func (x exposure) evidence(reports int64) evidence {
	return evidence{New: rate{Crashes: reports, Machines: x.newer}, Old: rate{Machines: x.older}}.withRates()
}
