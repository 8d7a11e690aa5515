package problems

import (
	"time"

	"mishap/crash"
	"mishap/crash/gate"
	"mishap/views/layout"
)

// GatePage holds the page of the update gate.
type GatePage struct {
	Shell    layout.Shell
	Question gate.Question
	Releases []crash.Release // to choose from
	Problem  string          // why there is no answer; empty if there is one or nothing was asked
	Answer   *gate.Answer
}

// verdictState returns the CSS class of a verdict.
func verdictState(v gate.Verdict) string {
	switch v {
	case gate.Worse:
		return "state-error"
	case gate.Pass:
		return "state-done"
	case gate.NotEnough:
	}
	return "state-wait"
}

// gateURL returns the address of the answer about another version.
func (p GatePage) gateURL(version string) string {
	return gate.Question{Package: p.Question.Package, Version: version, Release: p.Question.Release}.Path()
}

// findingBucket returns the bucket of a finding. A bucket that has just been merged is not known.
func (p GatePage) findingBucket(f gate.Finding) crash.Bucket {
	if b, ok := p.Answer.Buckets[f.ID]; ok {
		return b
	}
	return crash.Bucket{ID: f.ID, Signature: f.ID.String()}
}

// gateDays formats the days of a window.
func gateDays(w gate.Window, now time.Time) string {
	if w.Days() == 0 {
		return "–"
	}
	return layout.Date(w.Since, now) + " – " + layout.Date(w.Until, now)
}

// gateURL returns the address of the gate for a version in the table of a package.
func (p PackagePage) gateURL(v PackageVersion) string {
	return gate.Question{Package: p.Name, Version: v.Version, Release: v.Release}.Path()
}

func orPlaceholder(s, placeholder string) string {
	if s == "" {
		return placeholder
	}
	return s
}
