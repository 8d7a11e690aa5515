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
	Change      RateRatio // of the present rate to the previous one
	Machines    int64     // active at the end
}

// Trends compares the days up to and including until (a UTC day) with as many days before. It
// returns the trend of each release with active machines, newest first. rates contains no days
// without reports; for those, Trends assumes the number of active machines of the day before. Today counts
// as far as it has come at now.
func Trends(rates []DayRate, until time.Time, days int, now time.Time) (each []Trend) {
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
		var reports [2]int64 // before, now
		var machineDays [2]float64
		for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
			if r, ok := of[day]; ok {
				machines = r.Machines
			}
			half := 0
			if !day.Before(middle) {
				half = 1
			}
			reports[half] += of[day].Reports
			machineDays[half] += float64(machines) * crash.Elapsed(day, now)
		}
		if machineDays[1] == 0 {
			continue
		}
		each = append(each, Trend{
			Release: release, Machines: machines,
			Before: NewMachineRate(reports[0], machineDays[0]), Now: NewMachineRate(reports[1], machineDays[1]),
		})
	}
	slices.SortFunc(each, func(a, b Trend) int { return b.Release.Compare(a.Release) })
	for i := range each {
		each[i].Change = each[i].Now.Times(each[i].Before).Among(len(each))
	}
	return each
}

// TotalTrend compares the same days as Trends, up to today, for all releases together. machines has the
// number of machines that were active in any of them on each of the two periods' days: the sum of the
// releases counts machines twice that were active in two.
func TotalTrend(rates []DayRate, machines []int64, now time.Time, days int) Trend {
	until := crash.Midnight(now)
	middle := until.AddDate(0, 0, 1-days)
	since := middle.AddDate(0, 0, -days)
	var reports [2]int64 // before, now
	for _, r := range rates {
		switch day := crash.Midnight(r.Day); {
		case day.Before(since) || day.After(until):
		case day.Before(middle):
			reports[0] += r.Reports
		default:
			reports[1] += r.Reports
		}
	}
	t := Trend{
		Machines: machines[len(machines)-1],
		Before:   NewMachineRate(reports[0], MachineDays(machines[:days], since, now)),
		Now:      NewMachineRate(reports[1], MachineDays(machines[days:], middle, now)),
	}
	t.Change = t.Now.Times(t.Before)
	return t
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
