package problems

import (
	"net/url"

	"mishap/crash"
	"mishap/crash/stats"
)

// ReleasePath returns the address of the page of a release.
func ReleasePath(r crash.Release) string { return "/release/" + url.PathEscape(string(r)) }

// changedTrends returns the releases that have become significantly worse, or better.
func changedTrends(each []stats.Trend, worse bool) []stats.Trend {
	var some []stats.Trend
	for _, t := range each {
		if t.Release != "" && (worse && t.Change.Worse() || !worse && t.Change.Better()) {
			some = append(some, t)
		}
	}
	return some
}
