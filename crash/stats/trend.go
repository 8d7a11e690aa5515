package stats

import (
	"slices"
	"time"

	"mishap/crash"
)

// Trend compares the rate of reports in two consecutive periods of equal length.
type Trend struct {
	Release     crash.Release // empty: all releases together
	Now, Before MachineRate
	Machines    int64 // active at the end
}

// Change returns the ratio of the present rate to the previous one.
func (t Trend) Change() RateRatio { return t.Now.Times(t.Before) }

// Trends compares the days up to and including until (a UTC day) with as many days before. It
// returns the trend of each release with active machines, newest first, and the trend of all
// together. rates contains no days without reports; for those, Trends assumes the number of active
// machines of the day before.
func Trends(rates []DayRate, until time.Time, days int) (each []Trend, all Trend) {
	until = crash.Midnight(until)
	middle := until.AddDate(0, 0, 1-days)
	since := middle.AddDate(0, 0, -days)
	byRelease := map[crash.Release]map[time.Time]DayRate{}
	for _, r := range rates {
		if byRelease[r.Release] == nil {
			byRelease[r.Release] = map[time.Time]DayRate{}
		}
		byRelease[r.Release][crash.Midnight(r.Day)] = r
	}
	for release, of := range byRelease {
		machines := machinesBefore(of, since)
		var reports, machineDays [2]int64 // before, now
		for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
			if r, ok := of[day]; ok {
				machines = r.Machines
			}
			half := 0
			if !day.Before(middle) {
				half = 1
			}
			reports[half] += of[day].Reports
			machineDays[half] += machines
		}
		if machineDays[1] == 0 {
			continue
		}
		each = append(each, Trend{
			Release: release, Machines: machines,
			Before: NewMachineRate(reports[0], float64(machineDays[0])), Now: NewMachineRate(reports[1],
				float64(machineDays[1])),
		})
	}
	slices.SortFunc(each, func(a, b Trend) int { return b.Release.Compare(a.Release) })
	var sum Trend
	for _, t := range each {
		sum.Machines += t.Machines
		sum.Now.Reports, sum.Now.MachineDays = sum.Now.Reports+t.Now.Reports, sum.Now.MachineDays+t.Now.MachineDays
		sum.Before.Reports, sum.Before.MachineDays = sum.Before.Reports+t.Before.Reports,
			sum.Before.MachineDays+t.Before.MachineDays
	}
	sum.Now, sum.Before = NewMachineRate(sum.Now.Reports, sum.Now.MachineDays),
		NewMachineRate(sum.Before.Reports, sum.Before.MachineDays)
	return each, sum
}

// machinesBefore returns the number of active machines on the last day before day for which it is
// known. It looks back 89 days, since a machine counts as active for 90.
func machinesBefore(of map[time.Time]DayRate, day time.Time) int64 {
	for n := 1; n < 90; n++ {
		if r, ok := of[day.AddDate(0, 0, -n)]; ok {
			return r.Machines
		}
	}
	return 0
}
