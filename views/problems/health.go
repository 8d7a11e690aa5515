package problems

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// maxSpikes is the number of spikes that a page describes.
const maxSpikes = 5

// Health is what a page shows by hour of an update or a release.
type Health struct {
	stats.Health

	ID  string // of the heading, for a page with several
	Now time.Time
}

// scope says which reports are counted.
func (h Health) scope() string {
	what := "Reports from " + layout.FullRelease(h.Release)
	if h.Package != "" {
		what = "Reports of " + h.Package + " from " + layout.FullRelease(h.Release)
	}
	days := fmt.Sprintf("in the last %d days", stats.HealthDays)
	switch {
	case h.First && h.Package != "":
		days = fmt.Sprintf("in the first %d days of %s", stats.HealthDays, h.Version)
	case h.First:
		days = fmt.Sprintf("in its first %d days", stats.HealthDays)
	}
	return what + " " + days + "."
}

// bars returns the most reports of an hour, the sum of all, and the sum of the version's.
func (h Health) bars() (most, all, own int64) {
	reports, version := h.Shown()
	for i, n := range reports {
		most, all, own = max(most, n), all+n, own+version[i]
	}
	return most, all, own
}

// hourWidth is the width of an hour in the drawing.
const hourWidth = 4

func (h Health) viewBox() string {
	reports, _ := h.Shown()
	return fmt.Sprintf("0 0 %d %d", len(reports)*hourWidth, chartHeight)
}

// path returns the bars of the version, or of the release, or above them those of other versions, as strokes.
func (h Health) path(others bool) string {
	most, _, _ := h.bars()
	reports, own := h.Shown()
	if h.Version == "" {
		own = reports
	}
	var d strings.Builder
	height := func(n int64) int { return int(math.Round(chartHeight * float64(n) / float64(most))) }
	for i, n := range reports {
		from, to := 0, height(own[i])
		if others {
			from, to = to, height(n)
		}
		if to > from {
			fmt.Fprintf(&d, "M%d %dV%d", i*hourWidth+hourWidth/2, chartHeight-from, chartHeight-to)
		}
	}
	return d.String()
}

// usual returns the mean of the same hour of the four weeks before as a line, over the hours for which it is known.
func (h Health) usual() string {
	most, _, _ := h.bars()
	reports, _ := h.Shown()
	before := len(h.Hours.Reports) - len(reports)
	var d strings.Builder
	command := "M"
	for i := range reports {
		mean, ok := h.usualAt(before + i)
		if !ok {
			continue
		}
		fmt.Fprintf(&d, "%s%d %.0f", command, i*hourWidth+hourWidth/2, chartHeight*(1-min(mean/float64(most), 1)))
		command = "L"
	}
	return d.String()
}

func (h Health) usualAt(i int) (mean float64, ok bool) {
	for range usualWeeks {
		if i -= 7 * 24; i < 0 {
			return 0, false
		}
		mean += float64(h.Hours.Reports[i]) / usualWeeks
	}
	return mean, true
}

// usualWeeks is the number of weeks before of which the chart has the mean.
const usualWeeks = 4

// spikeMarks returns the places of the spikes in the drawing, and what they say.
func (h Health) spikeMarks() (marks []spikeMark) {
	for _, s := range h.Spikes.Found {
		at := int(s.Hour.Sub(h.Since)/time.Hour) * hourWidth
		marks = append(marks, spikeMark{strconv.Itoa(at), s.Text()})
	}
	return marks
}

type spikeMark struct{ x, text string }

// label describes the chart for screen readers.
func (h Health) label() string {
	most, all, _ := h.bars()
	reports, _ := h.Shown()
	at := h.Since.Add(time.Duration(slices.Index(reports, most)) * time.Hour)
	return fmt.Sprintf("%s per hour from %s to %s, at most %s on %s at %s. The table below has the same numbers.",
		crash.Counted(all, "report", "reports"), layout.Date(h.Since, h.Now), layout.Date(h.Until, h.Now), crash.Count(most),
		layout.Date(at, h.Now), at.UTC().Format("15:04"))
}

// hourDay is a row of the table: a day.
type hourDay struct {
	day     time.Time
	reports []int64
	sum     int64
}

// days returns the days, the newest first.
func (h Health) days() (days []hourDay) {
	reports, _ := h.Shown()
	for at := range slices.Chunk(reports, 24) {
		d := hourDay{day: h.Since.AddDate(0, 0, len(days)), reports: at}
		for _, n := range at {
			d.sum += n
		}
		days = append(days, d)
	}
	slices.Reverse(days)
	return days
}

// hourClass marks an hour with a spike.
func (h Health) hourClass(d hourDay, hour int) string {
	at := d.day.Add(time.Duration(hour) * time.Hour)
	if slices.ContainsFunc(h.Spikes.Found, func(s stats.Spike) bool { return s.Hour.Equal(at) }) {
		return "spike"
	}
	return ""
}

// ownText says how many of the reports are of the version.
func (h Health) ownText() string {
	_, all, own := h.bars()
	return fmt.Sprintf("%s of the %s are from %s.", crash.Count(own), crash.Counted(all, "report", "reports"), h.Version)
}

// hoursMean explains the hours.
const hoursMean = "Hours, like days, are those of the machine’s clock at the crash: reports name no time zone. " +
	"Late reports still change them."

// crashFreeNone says that there is no number of machines.
const crashFreeNone = "How many machines had no crash is not known: none with this release pings, and no number of " +
	"its machines was imported."

// crashFreeCell joins the bounds of a version.
func crashFreeCell(all []stats.CrashFree) (text, title string) {
	var bounds, reasons []string
	for _, c := range all {
		if b := c.Bound(); b != "" {
			bounds = append(bounds, b)
		}
		reasons = append(reasons, c.Text())
	}
	return strings.Join(bounds, ", "), strings.Join(reasons, " ")
}

// hasCrashFree reports whether a number of machines is known for any version.
func (p PackagePage) hasCrashFree() bool {
	return slices.ContainsFunc(p.Versions, func(v PackageVersion) bool { return len(v.CrashFree) > 0 })
}

// versionColumns are the titles of the columns of the version table.
func (p PackagePage) versionColumns() []string {
	columns := []string{"Compare|hidden", "Version", "Release", "Reports|num", "Seen", "Rate|num", "95% interval|num",
		"To scale", "Compared with previous", "New|num|Problems that no earlier version had",
		"Gone|num|Problems of the previous version that no version from this one on has"}
	if p.hasCrashFree() {
		columns = append(columns, "No crash|num|Share of the release’s machines that sent no report of this version on a "+
			"day, in the last week: at least (≥), of those that ping; at most (≤), of those installed")
	}
	return append(columns, "Gate|hidden")
}
