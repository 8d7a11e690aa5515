package gate

// minDispersionDays is the least number of days from which the variation between days is estimated.
const minDispersionDays = 7

// Clusters sums up how reports are distributed over machines.
type Clusters struct {
	Machines int64
	Reports  int64
	Squares  int64 // sum of the squares of the machines' numbers of reports
}

// Plus returns the sum of both, for different machines.
func (c Clusters) Plus(other Clusters) Clusters {
	return Clusters{c.Machines + other.Machines, c.Reports + other.Reports, c.Squares + other.Squares}
}

// dispersion returns the variance of the number of reports, relative to that of independent
// reports, if machines are independent of each other: the sum of squares divided by the sum. It is
// 1 if each machine sent one report.
func (c Clusters) dispersion() float64 {
	if c.Reports == 0 {
		return 1
	}
	return max(1, float64(c.Squares)/float64(c.Reports))
}

// within returns the dispersion within a part of the time that the clusters cover. A machine that
// crashes regularly has fewer reports in a shorter time.
func (c Clusters) within(part float64) float64 { return 1 + (c.dispersion()-1)*min(1, part) }

// dayDispersion returns the variance of the daily numbers of reports, relative to that of a Poisson
// distribution with the same mean per machine (Pearson's statistic).
func dayDispersion(days []Day) float64 {
	sample := sum(days, allReports)
	if len(days) < minDispersionDays || sample.Reports == 0 || sample.MachineDays <= 0 {
		return 1
	}
	var pearson float64
	for _, d := range days {
		if expected := float64(sample.Reports) * float64(d.Machines) / sample.MachineDays; expected > 0 {
			difference := float64(d.Reports) - expected
			pearson += difference * difference / expected
		}
	}
	return max(1, pearson/float64(len(days)-1))
}
