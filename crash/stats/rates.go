package stats

import (
	"time"

	"mishap/crash"
)

// DayRate is the number of reports on a day, with the number of active machines.
type DayRate struct {
	Release  crash.Release
	Day      time.Time
	Reports  int64
	OfType   int64 // those of Reports with the problem type of the request
	Machines int64 // active machines: those that reported anything for the release in the 90 days up to the day; never 0
}

// PerMachine returns the number of reports per active machine.
func (r DayRate) PerMachine() float64 { return float64(r.Reports) / float64(r.Machines) }

// VersionDay is the number of crashes of two versions of a package on a day.
type VersionDay struct {
	Day              time.Time
	New, NewProposed int64 // crashes, and the part from the proposed pocket
	Old, OldProposed int64
	Machines         int64 // active in the release on that day
}

// NewBucket is a bucket that was seen in a new version of a package, but not in the previous one.
type NewBucket struct {
	ID        crash.BucketID
	Signature string
	Reports   int64 // in the new version
	Systems   int64 // distinct machines, in the new version
}

// BucketVersion is a version and release in which a problem was seen.
type BucketVersion struct {
	VersionSpan
	Systems int64 // distinct machines
}
