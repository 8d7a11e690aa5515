// Package size calculates what an installation of mishap needs: machines, processors, disks and memory.
package size

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"mishap/crash"
)

// These figures were measured on two shared cores with PostgreSQL 15, in November 2026: reports of 20 kB as sent,
// ten million of them in 92,880 problems (docs/performance.md).
const (
	bodyBytes   = 6400  // of a report, compressed
	rowBytes    = 2480  // of a report without its body, with its indexes
	otherBytes  = 1100  // of each report in other tables: counts, machines, versions
	walBytes    = 11300 // that a report writes to the write-ahead log, with its body
	backupShare = 0.24  // size of a backup, relative to the database

	serverTime   = 0.17e-3 // s of processor time of an instance per report
	databaseTime = 0.12e-3 // of PostgreSQL, for storing a report
	countTime    = 76e-6   // of counting a report, of which only one can be counted at a time
	oneProcess   = 3900    // reports per second from one instance on two cores, stored and counted

	measuredReports  = 1e7
	measuredProblems = 92_880
	reportsMemory    = 85e6  // of an instance that takes reports
	pagesMemory      = 550e6 // of an instance with pages, without problems
	problemMemory    = 1600  // of each problem in such an instance
)

// These are rules of thumb, not measurements.
const (
	peak          = 4    // reports arrive this much faster at times
	busy          = 0.5  // share of the processors' time that reports may take at such times
	instanceCores = 4    // of a machine for an instance, if the database is elsewhere
	diskOfServer  = 8e12 // more takes a day to restore
	partMost      = 1e12 // size of a part of the table of reports
	indexDays     = 400  // whose counts an instance with pages holds
	daysOfMonth   = 365.25 / 12
	recommended   = 1000 // bodies per problem and month
	usualBackups  = 14
)

// Plan is what to plan for.
type Plan struct {
	PerDay   float64 // reports, on average
	Days     int     // for which reports are stored
	Bodies   int     // kept of each problem and month; 0: all
	Problems int     // 0: estimated
}

var (
	ratePattern      = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)/(s|h|d)$`)
	retentionPattern = regexp.MustCompile(`^([0-9]+)(d|w|m|y)$`)
)

var perDay = map[string]float64{"s": 24 * 60 * 60, "h": 24, "d": 1}

// ParseRate parses a rate of reports, such as 500/s, 2000/h or 1000000/d, and returns the reports per day.
func ParseRate(text string) (float64, error) {
	m := ratePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("expected a number of reports per second, hour or day, such as 500/s, 2000/h or 1000000/d, "+
			"got %q", text)
	}
	n, _ := strconv.ParseFloat(m[1], 64) // the pattern has checked it
	if n *= perDay[m[2]]; n < 1 || n > 1e10 {
		return 0, fmt.Errorf("expected between 1/d and 100000/s, got %s", text)
	}
	return n, nil
}

var daysOf = map[string]float64{"d": 1, "w": 7, "m": daysOfMonth, "y": 365.25}

// ParseRetention parses a time such as 90d, 8w, 6m or 2y, and returns days.
func ParseRetention(text string) (int, error) {
	m := retentionPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("expected days, weeks, months or years, such as 90d, 8w, 6m or 2y, got %q", text)
	}
	n, _ := strconv.ParseFloat(m[1], 64) // the pattern has checked it
	days := math.Round(n * daysOf[m[2]])
	if days < 1 || days > 36525 {
		return 0, errors.New("expected between 1d and 100y, got " + text)
	}
	return int(days), nil
}

// problemsOf estimates the number of problems of so many reports: it grows with the square root.
func problemsOf(reports float64) float64 {
	return measuredProblems * math.Sqrt(reports/measuredReports)
}

// keptBodies returns the share of reports whose bodies are stored, if a problem has the first most of a month and
// the reports of a month are distributed over the problems by Zipf's law.
func keptBodies(reports, problems float64, most int) float64 {
	if most == 0 {
		return 1
	}
	harmonic := math.Log(problems) + 0.5772
	full := reports / harmonic / float64(most) // problems with more than most reports
	if full < 1 {
		return 1
	}
	if full >= problems {
		return min(1, problems*float64(most)/reports)
	}
	return min(1, (full*float64(most)+reports/harmonic*math.Log(problems/full))/reports)
}

// Figure is a line of the answer.
type Figure struct{ What, Value, Origin string }

const (
	measured   = "measured"
	calculated = "calculated"
)

func origin(isMeasured bool) string {
	if isMeasured {
		return measured
	}
	return calculated
}

// need is what a plan needs.
type need struct {
	stored, problems, kept       float64
	perSecond                    float64
	counting                     float64 // share of the time that counting takes at peaks
	instances, machines          int
	instanceCores, databaseCores int
	reports, other, wal, backup  float64 // bytes
	memory, part                 float64
	weekly                       bool
	parts, archives              int
}

func (p Plan) need() need {
	var n need
	n.stored, n.perSecond = p.PerDay*float64(p.Days), p.PerDay/perDay["s"]
	month := p.PerDay * min(daysOfMonth, float64(p.Days))
	n.problems = problemsOf(p.PerDay * min(indexDays, float64(p.Days)))
	monthly := problemsOf(month)
	if p.Problems > 0 {
		n.problems, monthly = float64(p.Problems), min(float64(p.Problems), month)
	}
	n.kept = keptBodies(month, max(1, monthly), p.Bodies)

	most := n.perSecond * peak
	n.counting = most * countTime
	database, server := most*(databaseTime+countTime)/busy, most*serverTime/busy
	n.instances, n.machines = 1, 1
	n.instanceCores = max(2, int(math.Ceil(database+server+1))) // and one for pages
	if most > oneProcess {
		n.instanceCores, n.databaseCores = instanceCores, max(4, int(math.Ceil(database)))
		n.instances = max(2, int(math.Ceil((server+1)/instanceCores)))
		n.machines = 1 + n.instances
	}

	row := rowBytes + bodyBytes*n.kept
	n.reports, n.other = n.stored*row, n.stored*otherBytes
	n.wal = max(4e9, p.PerDay*(walBytes-bodyBytes*(1-n.kept))/24) // of an hour
	n.backup = (n.reports + n.other) * backupShare
	n.memory = pagesMemory + problemMemory*n.problems
	length := daysOfMonth
	if n.part = length * p.PerDay * row; n.part > partMost {
		length, n.weekly = 7, true
		n.part = length * p.PerDay * row
	}
	n.parts = int(math.Ceil(float64(p.Days)/length)) + 1
	n.archives = max(0, int(math.Ceil((n.reports+n.other)/diskOfServer))-1)
	n.machines += n.archives
	return n
}

// Calculate returns what a plan needs, and advice.
func Calculate(p Plan) (figures []Figure, advice []string) {
	n := p.need()
	add := func(what, value, origin string) { figures = append(figures, Figure{what, value, origin}) }
	add("reports", fmt.Sprintf("%s a day, %s a second on average and %s at peaks, %s stored", count(p.PerDay),
		count(n.perSecond), count(n.perSecond*peak), count(n.stored)), calculated)
	problems := calculated
	if p.Problems > 0 {
		problems = "given"
	}
	add("problems", count(n.problems), problems)
	add("machines", n.machineText(), calculated)
	cores := calculated
	if n.rateMeasured() {
		cores = calculated + " from a measured rate"
	}
	add("processor cores", n.coresText(), cores)
	add("disk for reports", bytes(n.reports), origin(n.diskMeasured() && p.Bodies == 0))
	add("disk for other tables", bytes(n.other), origin(n.diskMeasured()))
	add("disk for WAL", bytes(2*n.wal)+", with max_wal_size = "+gigabytes(n.wal), calculated)
	add("disk for a backup", fmt.Sprintf("%s, %s for %d", bytes(n.backup), bytes(n.backup*usualBackups), usualBackups),
		calculated)
	add("memory of an instance", fmt.Sprintf("%s with pages, %s without", bytes(n.memory), bytes(reportsMemory)),
		origin(n.memoryMeasured()))
	add("partitions", fmt.Sprintf("%d, one a %s, of %s", n.parts, n.partWord(), bytes(n.part)), calculated)
	add("counting", fmt.Sprintf("%.1f%% of the time at peaks; 100%% is the limit", n.counting*100), calculated)

	all := p
	all.Bodies = 0
	if whole := all.need(); p.Bodies == 0 && whole.reports+whole.other > partMost {
		all.Bodies = recommended
		fewer := all.need()
		advice = append(advice, fmt.Sprintf("Store fewer bodies: with keep_bodies_per_problem = %d, reports take %s.",
			recommended, bytes(fewer.reports)))
	}
	if n.archives > 0 {
		advice = append(advice, fmt.Sprintf("Move old months to %s of %s each (mishap archive): a server with more takes "+
			"more than a day to restore.", crash.Counted(int64(n.archives), "archive server", "archive servers"),
			bytes(diskOfServer)))
	}
	if n.weekly {
		advice = append(advice, "Partitions by week (reports_partitions) suit this: a month would have more than "+
			bytes(partMost)+".")
	}
	if n.counting > 1 {
		advice = append(advice, "This exceeds what mishap can count at peaks; reports would wait (docs/decisions.md, 6).")
	}
	if len(advice) == 0 {
		advice = append(advice, "No archive server is needed, and all bodies can be stored.")
	}
	return figures, advice
}

func (n need) machineText() string {
	if n.databaseCores == 0 {
		return withArchives("1 for mishap and PostgreSQL", n.archives)
	}
	return withArchives(fmt.Sprintf("1 for PostgreSQL, %d for mishap", n.instances), n.archives)
}

func withArchives(text string, archives int) string {
	if archives == 0 {
		return text
	}
	return text + ", " + crash.Counted(int64(archives), "archive server", "archive servers")
}

func (n need) coresText() string {
	if n.databaseCores == 0 {
		return strconv.Itoa(n.instanceCores)
	}
	return fmt.Sprintf("%d for PostgreSQL, %d for each instance", n.databaseCores, n.instanceCores)
}

// rateMeasured, diskMeasured and memoryMeasured say which figures are not larger than measured ones.
func (n need) rateMeasured() bool   { return n.perSecond*peak <= oneProcess }
func (n need) diskMeasured() bool   { return n.stored <= measuredReports }
func (n need) memoryMeasured() bool { return n.problems <= measuredProblems }

func (n need) partWord() string {
	if n.weekly {
		return "week"
	}
	return "month"
}

// count formats a number with two digits that matter, if it is large.
func count(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(n, 'g', 2, 64)
	}
	return crash.Count(int64(math.Round(round(n))))
}

// round rounds a positive number to two significant digits.
func round(n float64) float64 {
	digit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return math.Round(n/digit) * digit
}

func bytes(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for n = round(n); n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	return strconv.FormatFloat(n, 'g', 3, 64) + " " + units[i]
}

// gigabytes formats a size as a setting of PostgreSQL.
func gigabytes(n float64) string { return strconv.Itoa(int(math.Ceil(n/1e9))) + "GB" }
