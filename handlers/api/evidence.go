package api

import (
	"time"

	"mishap/crash"
)

// evidence is the honest statistic beside the old fields: crashes per active machine, with the interval in which the true
// rate lies in 95 of 100 cases, and how many times the old rate the new one is.
type evidence struct {
	New   rate   `json:"new" doc:"Of the new version, from the first day that it was seen on; with a percentage only that part of the machines counts."`
	Old   rate   `json:"old" doc:"Of the old version, on as many days before as it was seen, at most 15."`
	Ratio *ratio `json:"ratio" doc:"How many times the old rate the new one is; null when either version has no day."`
}

// rate is crashes per machine.
type rate struct {
	Crashes  int64       `json:"crashes"`
	Interval *[2]float64 `json:"interval" doc:"Per 1000 machine-days: from, to, with 95 % confidence; null without machines."`
	Machines float64     `json:"machine_days" doc:"Active machines, added up over the days."`
	Rate     *float64    `json:"per_1000_machine_days" doc:"Null without machines."`
}

type ratio struct {
	Interval [2]float64 `json:"interval" doc:"From, to, with 95 % confidence. Wholly above 1: the new version crashes more."`
	Ratio    float64    `json:"ratio"`
}

// weigh counts both versions over their days. Machines of a day without a row are those of the day before.
func weigh(days []crash.VersionDay, q rateQuestion, now time.Time) evidence {
	today := now.UTC().Truncate(24 * time.Hour)
	crashes := func(n, proposed int64) int64 {
		if q.excludeProposed {
			return n - proposed
		}
		return n
	}
	var e evidence
	newer := newest(days, func(d crash.VersionDay) int64 { return d.New })
	older := newest(days, func(d crash.VersionDay) int64 {
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
		for _, d := range eachDay(days, newer[len(newer)-1].Day, today) {
			e.New.Crashes += crashes(d.New, d.NewProposed)
			e.New.Machines += float64(d.Machines) * share
		}
	}
	if len(older) > 0 {
		for _, d := range eachDay(days, older[len(older)-1].Day, q.date.AddDate(0, 0, -1)) {
			e.Old.Crashes += crashes(d.Old, d.OldProposed)
			e.Old.Machines += float64(d.Machines)
		}
	}
	e.New.settle()
	e.Old.settle()
	e.Ratio = compare(e.New, e.Old)
	return e
}

// eachDay goes through the days from one to another, those without a row too.
func eachDay(days []crash.VersionDay, from, to time.Time) func(func(time.Time, crash.VersionDay) bool) {
	return func(yield func(time.Time, crash.VersionDay) bool) {
		var last crash.VersionDay
		i := 0
		for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
			now := crash.VersionDay{Day: day}
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
	m := crash.NewMachineRate(r.Crashes, r.Machines)
	if m.Known() {
		r.Rate, r.Interval = &m.Per1000, &[2]float64{m.Low, m.High}
	}
}

// compare says how many times the old rate the new one is.
func compare(newer, older rate) *ratio {
	x := crash.NewMachineRate(newer.Crashes, newer.Machines).Times(crash.NewMachineRate(older.Crashes, older.Machines))
	if !x.Known() {
		return nil
	}
	return &ratio{Ratio: x.Ratio, Interval: [2]float64{x.Low, x.High}}
}
