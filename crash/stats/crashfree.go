package stats

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"mishap/crash"
)

// CrashFreeDays is the number of days, all over, of which the machines without a crash are counted.
const CrashFreeDays = 7

// CrashFreeBasis says how the number of machines is known.
type CrashFreeBasis string

// The ways in which a number of machines is known.
const (
	// BasisPings are machines that said that they are there. They also send their reports, so at most as many of them
	// crashed as sent reports at all: the share without a crash is a lower bound.
	BasisPings CrashFreeBasis = "pings"
	// BasisInstalls is an imported number of machines with a release. Not all machines send reports, so the share
	// without a crash is an upper bound.
	BasisInstalls CrashFreeBasis = "installs"
	// BasisVersion is an imported number of machines with a version of a package.
	BasisVersion CrashFreeBasis = "version_installs"
)

// CrashFree compares the machines that sent crash reports with a number of machines.
type CrashFree struct {
	Basis    CrashFreeBasis
	Release  crash.Release
	Package  string         // empty: reports of all packages
	Version  string         // empty: all versions
	Days     []CrashFreeDay // those with a number of machines, the earliest first
	Counted  time.Time      // UTC day of which an imported number is
	Source   string         // of an imported number
	Imported time.Time
}

// CrashFreeDay is a UTC day that is over.
type CrashFreeDay struct {
	Day      time.Time
	Crashed  int64 // distinct machines that sent a report; each report without a machine counts as one
	Machines int64 // of which the share is
}

const (
	// leastMachines is the least number of machines a day from which a share is worked out.
	leastMachines = 100
	// maxInstallAge is the greatest age in days of an imported number.
	maxInstallAge = 30
)

// Share returns the share of the day's machines without a crash, and its interval.
func (d CrashFreeDay) Share() Interval { return crashFreeShare(d.Crashed, d.Machines, 1) }

// Share returns the share of the machines without a crash in the mean of the days. The same machines may crash each
// day, so the interval is as wide as that of a single day.
func (c CrashFree) Share() Interval {
	var crashed, machines int64
	for _, d := range c.Days {
		crashed, machines = crashed+d.Crashed, machines+d.Machines
	}
	return crashFreeShare(crashed, machines, float64(len(c.Days)))
}

func crashFreeShare(crashed, machines int64, days float64) Interval {
	if machines <= 0 || crashed > machines {
		return Interval{Value: math.NaN(), High: 1}
	}
	bad := float64(crashed) / days
	good := float64(machines)/days - bad
	low, high := ShareInterval(good, bad)
	return Interval{good / (good + bad), low, high}
}

// Weak says in a sentence why the data are too weak for a share, or returns "".
func (c CrashFree) Weak() string {
	if len(c.Days) == 0 {
		if c.Basis == BasisPings {
			return "No machine with " + string(c.Release) + " pinged in the last " + strconv.Itoa(CrashFreeDays) +
				" days."
		}
		return fmt.Sprintf("The imported number of machines is of %s, more than %d days before.", isoDay(c.Counted),
			maxInstallAge)
	}
	least, most, crashed, machines := c.Days[0].Machines, c.Days[0].Crashed, int64(0), int64(0)
	for _, d := range c.Days {
		least, most = min(least, d.Machines), max(most, d.Crashed)
		crashed, machines = crashed+d.Crashed, machines+d.Machines
	}
	switch {
	case least < leastMachines:
		return fmt.Sprintf("Only %s %s on one of the days; at least %d are needed.",
			crash.Counted(least, "machine", "machines"), c.did(), leastMachines)
	case c.Basis == BasisPings && 2*crashed > machines:
		return fmt.Sprintf("Too few machines ping, compared with those that crash: %s pings and %s with reports on "+
			"these days.",
			crash.Count(machines), crash.Counted(crashed, "machine", "machines"))
	case c.Basis != BasisPings && most > least:
		return fmt.Sprintf("More machines sent reports (%s on one day) than are installed by the imported number (%s).",
			crash.Count(most), crash.Count(least))
	}
	return ""
}

func (c CrashFree) did() string {
	if c.Basis == BasisPings {
		return "pinged"
	}
	return "had it installed"
}

// what names the crashes.
func (c CrashFree) what() string {
	switch {
	case c.Version != "":
		return "a report of " + c.Package + " " + c.Version
	case c.Package != "":
		return "a report of " + c.Package
	}
	return "a report"
}

// Text says in a sentence how many machines had no crash, or why that cannot be told.
func (c CrashFree) Text() string {
	if weak := c.Weak(); weak != "" {
		return "How many machines had no crash cannot be told. " + weak
	}
	days := crash.Counted(int64(len(c.Days)), "day", "days")
	share := c.Share()
	interval := fmt.Sprintf("(95%% interval %s to %s)", Percent(share.Low, false), Percent(share.High, true))
	switch c.Basis {
	case BasisPings:
		return fmt.Sprintf("At least %s of the machines with %s that ping sent no %s on a day %s, in the mean of %s "+
			"up to %s.",
			Percent(share.Value, false), c.Release, c.what()[2:], interval, days, isoDay(c.Days[len(c.Days)-1].Day))
	case BasisVersion:
		return fmt.Sprintf("At most %s of the machines with %s %s in %s sent no report of it on a day %s, in the "+
			"mean of %s up "+
			"to %s. The number of machines is of %s, by %s.", Percent(share.Value, true), c.Package, c.Version,
			c.Release,
			interval, days, isoDay(c.Days[len(c.Days)-1].Day), isoDay(c.Counted), c.Source)
	case BasisInstalls:
	}
	return fmt.Sprintf("At most %s of the machines with %s sent no %s on a day %s, in the mean of %s up to %s. The "+
		"number of "+
		"machines is of %s, by %s.", Percent(share.Value, true), c.Release, c.what()[2:], interval, days,
		isoDay(c.Days[len(c.Days)-1].Day), isoDay(c.Counted), c.Source)
}

// Bound returns the share as a bound, such as "≥ 99.1%", or "" if the data are too weak.
func (c CrashFree) Bound() string {
	if c.Weak() != "" {
		return ""
	}
	return c.bound(c.Share())
}

// DayBound returns the share of one of the days as a bound.
func (c CrashFree) DayBound(d CrashFreeDay) string {
	if share := d.Share(); share.Known() {
		return c.bound(share)
	}
	return "–"
}

func (c CrashFree) bound(share Interval) string {
	if c.Basis == BasisPings {
		return "≥ " + Percent(share.Value, false)
	}
	return "≤ " + Percent(share.Value, true)
}

// Percent formats a share, rounded up or down, with two digits of what is missing to 100%: "98.7%", "99.9966%".
func Percent(share float64, up bool) string {
	missing := 100 * (1 - share)
	if missing < 1e-9 {
		return "100%"
	}
	decimals := min(max(1-int(math.Floor(math.Log10(missing))), 1), 6)
	scale := math.Pow(10, float64(decimals))
	scaled := 100 * share * scale
	if up {
		scaled = math.Ceil(scaled - 1e-9)
	} else {
		scaled = math.Floor(scaled + 1e-9)
	}
	return strconv.FormatFloat(scaled/scale, 'f', decimals, 64) + "%"
}

func isoDay(day time.Time) string { return day.UTC().Format(time.DateOnly) }

// Labelled returns a copy with the release, the package and the version replaced by their labels.
func (c CrashFree) Labelled(label func(string) string) CrashFree {
	c.Release, c.Package, c.Version = labelOf(label, c.Release), label(c.Package), label(c.Version)
	return c
}

// CrashedKey names the machines that sent reports of a release, or of a version of a package in it.
type CrashedKey struct {
	Release crash.Release
	Version string // empty: all
}

// Installed is an imported number of machines.
type Installed struct {
	Day, Imported time.Time
	Machines      int64
	Source        string
}

// MachineNumbers is what is known about the numbers of machines of some releases in the last days that are over, and
// about those that sent reports of a package, or any reports.
type MachineNumbers struct {
	Package      string
	Since, Until time.Time // UTC days, both included
	Pings        map[crash.Release]map[time.Time]int64
	Installs     map[CrashedKey]Installed
	Crashed      map[CrashedKey]map[time.Time]int64
}

// CrashFree returns the machines without a crash, for each basis that is known: pings first.
func (m MachineNumbers) CrashFree(release crash.Release, version string) (all []CrashFree) {
	k := CrashedKey{release, version}
	known := CrashFree{Release: release, Package: m.Package, Version: version}
	days := func(machines func(time.Time) (n int64, known bool)) (days []CrashFreeDay) {
		for day := m.Since; !day.After(m.Until); day = day.AddDate(0, 0, 1) {
			if n, known := machines(day); known {
				days = append(days, CrashFreeDay{Day: day, Crashed: m.Crashed[k][day], Machines: n})
			}
		}
		return days
	}
	if of := m.Pings[release]; len(of) > 0 {
		c := known
		c.Basis, c.Days = BasisPings, days(func(day time.Time) (int64, bool) { n, ok := of[day]; return n, ok })
		all = append(all, c)
	}
	c := known
	c.Basis = BasisVersion
	i, ok := m.Installs[k]
	if version == "" || !ok {
		c.Basis = BasisInstalls
		i, ok = m.Installs[CrashedKey{Release: release}]
	}
	if ok {
		c.Counted, c.Source, c.Imported = i.Day, i.Source, i.Imported
		c.Days = days(func(day time.Time) (int64, bool) {
			return i.Machines, !i.Day.Before(day.AddDate(0, 0, -maxInstallAge))
		})
		all = append(all, c)
	}
	return all
}
