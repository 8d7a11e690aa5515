package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

// Hours are the numbers of reports of consecutive hours, from the beginning of a UTC day.
type Hours struct {
	Since   time.Time // UTC day
	Reports []int64
}

// At returns the beginning of an hour.
func (h Hours) At(i int) time.Time { return h.Since.Add(time.Duration(i) * time.Hour) }

// index returns the number of hours from the first one to t.
func (h Hours) index(t time.Time) int { return int(t.Sub(h.Since) / time.Hour) }

// Of returns the sum of the hours of the UTC day.
func (h Hours) Of(day time.Time) (sum int64) {
	for i := max(h.index(day), 0); i < min(h.index(day)+hoursOfDay, len(h.Reports)); i++ {
		sum += h.Reports[i]
	}
	return sum
}

// Health is what is known by hour about an update of a package or about a release: of its first two weeks, or of the
// last.
type Health struct {
	Release crash.Release
	Package string // empty: the release itself
	Version string
	First   bool // the days begin with the update or the release
	// Since and Until are UTC days, both included. Until is before Since if nothing is known.
	Since, Until time.Time
	Known        time.Time // first UTC day of which all hours are known
	Hours        Hours     // of these days, and of those before that they are compared with
	Own          []int64   // by hour, the reports of Version
	Spikes       Spikes
}

// Labelled returns a copy with the release, the package and the version replaced by their labels.
func (h Health) Labelled(label func(string) string) Health {
	h.Release, h.Package, h.Version = labelOf(label, h.Release), label(h.Package), label(h.Version)
	return h
}

// Shown returns the reports of each hour from Since to Until, and those of the version.
func (h Health) Shown() (reports, own []int64) {
	if h.Until.Before(h.Since) || len(h.Hours.Reports) == 0 {
		return nil, nil
	}
	from := h.Hours.index(h.Since)
	return h.Hours.Reports[from:], h.Own[from:]
}

const (
	hoursOfDay  = 24
	hoursOfWeek = 7 * hoursOfDay
	// spikeWeeks is the number of weeks whose same hour is compared with an hour.
	spikeWeeks = 4
	// SpikeDays is the number of days before an hour that are needed to judge it: the weeks that are compared, and
	// the week before the first of them.
	SpikeDays = 7 * (spikeWeeks + 1)
	// HealthDays is the number of days of an update or release that are judged by hour.
	HealthDays = 14
	// spikeFactor is the least ratio of a spike.
	spikeFactor = 2
)

// Spike is an hour with clearly more reports than the same hour of the weeks before.
type Spike struct {
	Hour    time.Time
	Reports int64
	Before  []int64 // of the same hour of the weeks before, the earliest first
	// Ratio compares the hour's share of the reports of the seven days before it with that of the same hours of the
	// weeks before, so that steady growth is no spike.
	Ratio Interval
	P     float64 // probability of so many by chance, not corrected for the number of hours
}

// Spikes is what is known about the hours of some days.
type Spikes struct {
	Hours  int // in the time in question that are over
	Judged int // those that could be compared
	Found  []Spike
	// Changed is the number of hours that could not be judged because a week had no reports, or twice as many as the
	// week before.
	Changed int
}

// FindSpikes compares each hour from since to until with the same hour and day of the week in the four weeks before.
// known is the time from which counts are comparable, such as when the release came out. Each hour is judged by its own
// past only, so later reports change nothing, and the level of evidence is divided by the number of hours of
// HealthDays: in so many days, chance leads to any spike in at most 5% of cases.
func FindSpikes(h Hours, known, since, until time.Time) Spikes {
	sums := make([]float64, len(h.Reports)+1) // of the hours before
	for i, n := range h.Reports {
		sums[i+1] = sums[i] + float64(n)
	}
	week := func(i int) float64 { return sums[i] - sums[i-hoursOfWeek] } // the week before an hour
	var s Spikes
	first := max(h.index(known.Add(time.Hour-time.Nanosecond)), 0)
	for i := max(h.index(since), 0); i < min(h.index(until), len(h.Reports)); i++ {
		s.Hours++
		if i-hoursOfDay*SpikeDays < first {
			continue
		}
		if !isSteady(i, week) {
			s.Changed++
			continue
		}
		s.Judged++
		if spike, ok := h.spikeAt(i, week); ok {
			s.Found = append(s.Found, spike)
		}
	}
	return s
}

// isSteady reports whether all weeks before an hour had reports, and the last one not at least twice as many as the
// one before, by more than chance explains. Otherwise the number of machines or the updates themselves have changed,
// and the hours of earlier weeks say little.
func isSteady(i int, week func(int) float64) bool {
	for k := range spikeWeeks + 1 {
		if week(i-k*hoursOfWeek) == 0 {
			return false
		}
	}
	now, before := week(i), week(i-hoursOfWeek)
	return now < 2*before || !Significant(BinomialTail(now, before, .5), 1)
}

// spikeAt judges an hour, given the number of reports in the week before an hour.
func (h Hours) spikeAt(i int, week func(int) float64) (Spike, bool) {
	s := Spike{Hour: h.At(i), Reports: h.Reports[i]}
	before, after := Sample{}, Sample{h.Reports[i], week(i)}
	for k := spikeWeeks; k > 0; k-- {
		at := i - k*hoursOfWeek
		s.Before = append(s.Before, h.Reports[at])
		before = Sample{before.Reports + h.Reports[at], before.MachineDays + week(at)}
	}
	if after.Reports == 0 || float64(after.Reports)*before.MachineDays < spikeFactor*float64(before.Reports)*
		after.MachineDays { // which most hours are
		return s, false
	}
	expected := float64(before.Reports+after.Reports) * shareOf(before, after) // if it is no spike
	dispersion := h.hourDispersion(i, week, expected)
	s.P, s.Ratio = Increase(before, after, dispersion), Ratio(before, after, dispersion)
	return s, Significant(s.P, hoursOfDay*HealthDays)
}

// hourDispersion returns the variance of the number of reports of an hour in which so many are expected, relative to
// that of a Poisson distribution. It compares the same hours of the four weeks before with each other, in two ways,
// and returns the greater: Pearson's statistic, and a variance that grows with the square of the number, as in a
// negative binomial distribution.
func (h Hours) hourDispersion(i int, week func(int) float64, expected float64) float64 {
	var pearson, excess, squares float64
	slots := 0
	for slot := i - hoursOfWeek; slot < i; slot++ {
		var reports int64
		var exposure float64
		for k := range spikeWeeks {
			reports += h.Reports[slot-k*hoursOfWeek]
			exposure += week(slot - k*hoursOfWeek)
		}
		if reports == 0 || exposure == 0 {
			continue
		}
		slots++
		for k := range spikeWeeks {
			at := slot - k*hoursOfWeek
			mean := float64(reports) * week(at) / exposure
			if mean == 0 {
				continue
			}
			difference := float64(h.Reports[at]) - mean
			pearson += difference * difference / mean
			excess += difference*difference*spikeWeeks/(spikeWeeks-1) - mean
			squares += mean * mean
		}
	}
	if slots == 0 {
		return 1
	}
	dispersion := max(1, pearson/float64(slots*(spikeWeeks-1)))
	return max(dispersion, 1+excess/squares*expected)
}

// Text describes a spike in a sentence.
func (s Spike) Text() string {
	numbers := make([]string, len(s.Before))
	for i, n := range s.Before {
		numbers[i] = crash.Count(n)
	}
	last := len(numbers) - 1
	ratio := FormatNumber(s.Ratio.Value) + " times as many (95% interval " + s.Ratio.String() + ")"
	if slices.Max(s.Before) == 0 {
		ratio = "more, from none (95% interval of the ratio: " + s.Ratio.String() + ")"
	}
	return fmt.Sprintf("%s, %s to %s: %s. The same hour of the four %ss before had %s and %s. Relative to the seven "+
		"days "+
		"before each, that is %s.", s.Hour.Format("Monday 2 January"), s.Hour.Format("15:04"),
		s.Hour.Add(time.Hour).Format("15:04"), crash.Counted(s.Reports, "report", "reports"), s.Hour.Weekday(),
		strings.Join(numbers[:last], ", "), numbers[last], ratio)
}

// Unknown says in a sentence why the hours are not known, or returns "".
func (h Health) Unknown() string {
	if h.Until.Before(h.Since) {
		return "Reports are counted by hour since " + isoDay(h.Known) + ", so the hours of these days are not known."
	}
	return ""
}

// Text says in a sentence what was judged, and what was found.
func (s Spikes) Text() string {
	hours := func(n int) string { return crash.Counted(int64(n), "hour", "hours") }
	switch {
	case s.Hours == 0:
		return "No hour is over yet."
	case s.Judged == 0 && s.Changed > 0:
		return "Whether an hour has unusually many reports cannot be told: one of the weeks before had no reports, " +
			"or the " +
			"reports of a week have at least doubled."
	case s.Judged == 0:
		return fmt.Sprintf("Whether an hour has unusually many reports cannot be told yet: that needs %d days of "+
			"counts "+
			"before it.", SpikeDays)
	}
	judged := "All " + hours(s.Judged) + " were"
	if s.Judged < s.Hours {
		judged = fmt.Sprintf("Of %s, %d were", hours(s.Hours), s.Judged)
	}
	found := "no spike: none had at least twice as many reports, beyond chance"
	if n := len(s.Found); n > 0 {
		found = crash.Counted(int64(n), "spike", "spikes") + ": at least twice as many reports, beyond chance"
	}
	return fmt.Sprintf("%s compared with the same hour of the four weeks before: %s.", judged, found)
}

// Newest returns at most n spikes, the newest first.
func (s Spikes) Newest(n int) []Spike {
	found := slices.Clone(s.Found)
	slices.Reverse(found)
	return found[:min(n, len(found))]
}
