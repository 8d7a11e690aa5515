package stats

import (
	"time"

	"mishap/crash"
)

// DayRate is how many reports there were on a day, beside the machines that could have sent some.
type DayRate struct {
	Release  crash.Release
	Day      time.Time
	Reports  int64
	Apart    int64 // reports of the type that was to be counted apart; they are among Reports
	Machines int64 // that reported anything for the release in the 90 days up to the day; never 0
}

// PerMachine is reports per active machine.
func (r DayRate) PerMachine() float64 { return float64(r.Reports) / float64(r.Machines) }

// VersionDay is how often two versions of a package crashed on a day.
type VersionDay struct {
	Day              time.Time
	New, NewProposed int64 // crashes, and those of them from the proposed pocket
	Old, OldProposed int64
	Machines         int64 // active in the release on that day
}

// NewBucket is a bucket that was seen with a new version of a package and not with the one before.
type NewBucket struct {
	ID        crash.BucketID
	Signature string
	Reports   int64 // with the new version
	Systems   int64 // distinct machines with the new version
}

// BucketVersion is a version and release that a problem was seen with.
type BucketVersion struct {
	VersionSpan
	Systems int64 // distinct machines
}
