package problems

import (
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// GatePage holds the page of the update gate.
type GatePage struct {
	Shell    layout.Shell
	Question stats.GateQuestion
	Releases []crash.Release // to choose from
	Problem  string          // why there is no answer; empty if there is one or nothing was asked
	Answer   *stats.GateAnswer
}

// verdictState returns the CSS class of a verdict.
func verdictState(v stats.Verdict) string {
	switch v {
	case stats.GateWorse:
		return "state-error"
	case stats.GatePass:
		return "state-done"
	case stats.GateNotEnough:
	}
	return "state-wait"
}

// gateURL returns the address of the answer about another version.
func (p GatePage) gateURL(version string) string {
	return stats.GateQuestion{Package: p.Question.Package, Version: version, Release: p.Question.Release}.Path()
}

// findingBucket returns the bucket of a finding. A bucket that has just been merged is not known.
func (p GatePage) findingBucket(f stats.GateFinding) crash.Bucket {
	if b, ok := p.Answer.Buckets[f.ID]; ok {
		return b
	}
	return crash.Bucket{ID: f.ID, Signature: f.ID.String()}
}

// gateDays formats the days of a window.
func gateDays(w stats.Window, now time.Time) string {
	if w.Days() == 0 {
		return "–"
	}
	return layout.Date(w.Since, now) + " – " + layout.Date(w.Until, now)
}

// gateURL returns the address of the gate for a version in the table of a package.
func (p PackagePage) gateURL(v PackageVersion) string {
	return stats.GateQuestion{Package: p.Name, Version: v.Version, Release: v.Release}.Path()
}

func orPlaceholder(s, placeholder string) string {
	if s == "" {
		return placeholder
	}
	return s
}
