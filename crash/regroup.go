package crash

import "time"

// Rules are one version of the grouping rules.
type Rules struct {
	Version int
	Group   func(Fields) Grouping
}

// RegroupState is the state of a regrouping run.
type RegroupState string

// The states of a regrouping run.
const (
	RegroupRunning RegroupState = "running" // or waiting to be resumed, if its instance died
	RegroupDone    RegroupState = "done"
	RegroupStopped RegroupState = "stopped" // by a person; reports that it moved stay moved
)

// RegroupRun is one run that applies grouping rules to the stored reports.
type RegroupRun struct {
	ID       int64
	Rules    int  // version of the rules
	Dry      bool // dry run: nothing is moved
	Person   string
	State    RegroupState
	Started  time.Time
	Updated  time.Time
	Estimate int64 // approximate number of reports
	LookedAt int64
	Moved    int64 // or, in a dry run, would be
	Waiting  bool  // it is paused while reports arrive faster than they are counted
}

// RegroupMove is the number of reports that a run moves from one bucket to another.
type RegroupMove struct {
	From, To           BucketID // From zero: they were in no bucket; To zero: they will be in none
	FromLabel, ToLabel string
	New                bool // To did not exist before
	Reports            int64
	Left               int64 // counted reports that remain in From; in a dry run, that were in it
}

// RegroupEffect summarises the effect of a run on problems.
type RegroupEffect struct {
	Changed int64 // problems that lose reports
	Split   int64 // of these, problems whose reports end up in several problems, including itself
	New     int64 // problems that did not exist before
	Merged  int64 // problems that receive reports from several others, or from another one in addition to their own
}
