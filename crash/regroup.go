package crash

import "time"

// Rules are the grouping rules of one version.
type Rules struct {
	Version int
	Group   func(Fields) Grouping
}

// RegroupState says how a run of regrouping stands.
type RegroupState string

// The states.
const (
	RegroupRunning RegroupState = "running" // or to be gone on with, when its unit died
	RegroupDone    RegroupState = "done"
	RegroupStopped RegroupState = "stopped" // by a person; what it had moved stays moved
)

// RegroupRun is one run of applying grouping rules to the stored reports.
type RegroupRun struct {
	ID       int64
	Rules    int  // version of the rules
	Dry      bool // nothing is moved
	Person   string
	State    RegroupState
	Started  time.Time
	Updated  time.Time
	Estimate int64 // how many reports there are, about
	LookedAt int64
	Moved    int64 // or, dry, would be
	Waiting  bool  // it rests because reports arrive faster than they are counted
}

// RegroupMove is how many reports a run moves from one bucket to another.
type RegroupMove struct {
	From, To           BucketID // From zero: they were in none; To zero: they will be in none
	FromLabel, ToLabel string
	New                bool // To was no bucket before
	Reports            int64
	Left               int64 // counted reports that From still has; of a dry run, had
}

// RegroupEffect sums up what a run does to problems.
type RegroupEffect struct {
	Changed int64 // problems that reports leave
	Split   int64 // of these, problems whose reports are in several ones afterwards, itself among them
	New     int64 // problems that there were not before
	Merged  int64 // problems that get reports of several others, or of another one besides their own
}
