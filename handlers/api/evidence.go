package api

import (
	"context"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

// evidence is the honest statistic beside the old fields: crashes per active machine, with the interval in which the true
// rate lies in 95 of 100 cases, and how many times the old rate the new one is.
type evidence struct {
	New   rate   `json:"new" doc:"Of the new version, from the first day that it was seen on until this minute."`
	Old   rate   `json:"old" doc:"Of the old version, on the days before."`
	Ratio *ratio `json:"ratio" doc:"How many times the old rate the new one is; null when either version has no day."`
}

// rate is crashes per machine.
type rate struct {
	Crashes  int64       `json:"crashes" doc:"Crashes; of a problem all its reports."`
	Interval *[2]float64 `json:"interval" doc:"Per 1000 machine-days: from, to, with 95 % confidence; null without machines."`
	Machines float64     `json:"machine_days" doc:"Active machines, added up over the days; today counts as far as it has passed."`
	Rate     *float64    `json:"per_1000_machine_days" doc:"Null without machines."`
}

type ratio struct {
	Interval [2]float64 `json:"interval" doc:"From, to, with 95 % confidence. Wholly above 1: the new version crashes more."`
	Ratio    float64    `json:"ratio"`
}

// weigh counts both versions over their days: the newest days with crashes that the old formula looks at too, and those
// between them. Machines of a day without a row are those of the day before; of the new version only the part of the
// machines counts that gets it.
func weigh(days []stats.VersionDay, q rateQuestion, now time.Time) evidence {
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
			e.New.Machines += float64(d.Machines) * share * passed(day, now)
		}
	}
	if len(older) > 0 {
		for _, d := range eachDay(days, older[len(older)-1].Day, q.date.AddDate(0, 0, -1)) {
			e.Old.Crashes += crashes(d.Old, d.OldProposed)
			e.Old.Machines += float64(d.Machines)
		}
	}
	return e.settled()
}

// passed is how much of a day is over by this minute.
func passed(day, now time.Time) float64 {
	if part := float64(now.Truncate(time.Minute).Sub(day)) / float64(24*time.Hour); part < 1 {
		return max(part, 0)
	}
	return 1
}

// settled works out the rates of what was counted.
func (e evidence) settled() evidence {
	e.New.settle()
	e.Old.settle()
	e.Ratio = compare(e.New, e.Old)
	e.New.Machines, e.Old.Machines = rounded(e.New.Machines), rounded(e.Old.Machines)
	return e
}

// rounded keeps six digits: more are not known, and are hard to read.
func rounded(x float64) float64 {
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64); err == nil {
		return y
	}
	return x
}

// eachDay goes through the days from one to another, those without a row too.
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

// settle works the rate out.
func (r *rate) settle() {
	m := stats.NewMachineRate(r.Crashes, r.Machines)
	if m.Known() {
		per := rounded(m.Per1000)
		r.Rate, r.Interval = &per, &[2]float64{rounded(m.Low), rounded(m.High)}
	}
}

// compare says how many times the old rate the new one is.
func compare(newer, older rate) *ratio {
	x := stats.NewMachineRate(newer.Crashes, newer.Machines).Times(stats.NewMachineRate(older.Crashes, older.Machines))
	if !x.Known() {
		return nil
	}
	return &ratio{Ratio: rounded(x.Ratio), Interval: [2]float64{rounded(x.Low), rounded(x.High)}}
}

// oldDays is how many days before the new version the old one is looked at, when it was reported for so long.
const oldDays = 90

// exposure is how many machine-days the two versions of a source package had, in the releases where the new one was seen.
type exposure struct{ newer, older float64 }

// expose adds up the active machines of those releases: for the new version from its first day there until now, for the old
// one from its first day, at most 90 days back, until the new one came.
func (a *answers) expose(ctx context.Context, source, previous, newer string) (exposure, error) {
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
	var releases []crash.Release
	for release, f := range starts {
		if !f.newer.IsZero() {
			releases = append(releases, release)
		}
	}
	active, err := a.counts.ActiveMachines(ctx, releases, since, a.today())
	if err != nil {
		return x, err
	}
	for release, machines := range active {
		f := starts[release]
		for i, n := range machines {
			day := since.AddDate(0, 0, i)
			switch {
			case !day.Before(f.newer):
				x.newer += float64(n) * passed(day, a.now())
			case !f.older.IsZero() && !day.Before(f.older) && day.After(f.newer.AddDate(0, 0, -oldDays-1)):
				x.older += float64(n)
			}
		}
	}
	return x, nil
}

// evidence of a problem that the old version never had.
func (x exposure) evidence(reports int64) evidence {
	return evidence{New: rate{Crashes: reports, Machines: x.newer}, Old: rate{Machines: x.older}}.settled()
}
