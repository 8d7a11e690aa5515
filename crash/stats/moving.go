package stats

import (
	"time"

	"mishap/crash"
)

// MovingRates returns the mean number of reports per machine and day of one release, for each day
// from since to until (UTC days, both included). Each mean covers that day and the days before it,
// up to days in all, back to since. A day without an entry in rates has no reports; its number of
// machines is that of the day before. Today counts as far as it has come at now. A mean without machines
// is 0. sums are the reports that each mean rests on.
func MovingRates(rates []DayRate, since, until time.Time, days int, now time.Time) (means []float64, sums []int64) {
	by := map[time.Time]DayRate{}
	for _, r := range rates {
		by[crash.Midnight(r.Day)] = r
	}
	since, until = crash.Midnight(since), crash.Midnight(until)
	var reports []int64
	var machines []float64
	var known int64
	for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
		r, ok := by[day]
		if ok {
			known = r.Machines
		}
		reports, machines = append(reports, r.Reports), append(machines, float64(known)*crash.Elapsed(day, now))
	}
	means, sums = make([]float64, len(reports)), make([]int64, len(reports))
	var sum int64
	var machineDays float64
	for i := range reports {
		sum, machineDays = sum+reports[i], machineDays+machines[i]
		if i >= days {
			sum, machineDays = sum-reports[i-days], machineDays-machines[i-days]
		}
		sums[i] = sum
		if machineDays > 0 {
			means[i] = float64(sum) / machineDays
		}
	}
	return means, sums
}
