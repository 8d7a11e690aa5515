package views

import (
	"fmt"
	"math"
	"net/url"

	"mishap/crash"
	"mishap/crash/stats"
)

// ReleasePath returns the address of the page of a release.
func ReleasePath(r crash.Release) string { return "/release/" + url.PathEscape(string(r)) }

// trendRate formats the rate of reports per machine with its interval: "0.081 (0.078–0.085)".
func trendRate(r stats.MachineRate) string {
	return fmt.Sprintf("%s (%s–%s)", rate(r.Per1000/1000), rate(r.Low/1000), rate(r.High/1000))
}

// trendChange describes the change of a rate: "4 % more".
func trendChange(r stats.RateRatio) string {
	switch percent := 100 * (r.Ratio - 1); {
	case percent >= 200:
		return digits(r.Ratio) + " times as many"
	case percent >= .5:
		return fmt.Sprintf("%.0f %% more", percent)
	case percent <= -.5:
		return fmt.Sprintf("%.0f %% fewer", math.Max(1, -percent))
	}
	return "as many"
}

// trendThan returns trendChange with the following word: "4 % more than".
func trendThan(r stats.RateRatio) string {
	if change := trendChange(r); change == "as many" || r.Ratio >= 3 {
		return change + " as"
	}
	return trendChange(r) + " than"
}

// trendSure says whether the change is significant.
func trendSure(r stats.RateRatio) string {
	switch {
	case r.Worse() || r.Better():
		return ", more than chance explains."
	case trendChange(r) == "as many":
		return "."
	}
	return ", which may be chance."
}

// trendSentence compares the reliability of releases with the week before.
func trendSentence(t stats.Trend) string {
	now := "In the last seven days machines sent " + trendRate(t.Now) + " reports a day each"
	if change := t.Change(); change.Known() {
		return now + ", " + trendThan(change) + " in the seven before" + trendSure(change)
	}
	return now + "; nothing is known of the week before."
}

// besideSentence compares the release with the previous one, now.
func (p ReleasePage) besideSentence() string {
	ratio := p.Trend.Now.Times(p.BeforeNow.Now)
	if !ratio.Known() {
		return "nothing is known of its last seven days."
	}
	return fmt.Sprintf("that one has %s now; this one has %s it%s", trendRate(p.BeforeNow.Now), trendThan(ratio),
		trendSure(ratio))
}

// sentence compares two releases at the same age.
func (a SameAge) sentence() string {
	ratio := a.Now.Times(a.Then)
	return fmt.Sprintf("At the same age, %s after it came out, that one had %s over %s; this one has %s, %s it%s",
		Counted(int64(a.Age), "day", "days"), trendRate(a.Then), Counted(int64(a.Days), "day", "days"),
		trendRate(a.Now), trendThan(ratio), trendSure(ratio))
}

// changedTrends returns the releases that have become significantly worse, or better.
func changedTrends(each []stats.Trend, worse bool) []stats.Trend {
	var some []stats.Trend
	for _, t := range each {
		if change := t.Change(); t.Release != "" && (worse && change.Worse() || !worse && change.Better()) {
			some = append(some, t)
		}
	}
	return some
}
