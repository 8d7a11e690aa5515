package rules

import (
	"time"

	"mishap/crash"
)

// Activity is what a rule has done.
type Activity struct {
	Last   time.Time // zero: nothing yet
	Recent int64     // edges on which it has acted in the RehearsalDays
}

// RehearsalDays is the number of UTC days, including today, that a rehearsal covers.
const RehearsalDays = 30

// Rehearsal is what a rule would have done in the past.
type Rehearsal struct {
	Since    time.Time        // UTC midnight
	Lines    []RehearsalLine  // the latest first; some of them, if there are many
	Edges    int              // all lines
	People   map[string]int64 // notices by account name
	Programs int64            // deliveries to other programs
	Proposed int64            // put into the queue for filing
	Filed    int64            // filed at once
	Skipped  int64            // not filed: they have a bug
	Changed  int64            // muted, assigned or tagged
	Notes    []string         // what is approximated or missing, as sentences
}

// RehearsalLine is one edge that the rule would have noticed.
type RehearsalLine struct {
	At    time.Time
	Exact bool // otherwise only the day is known
	Event crash.Event
	Does  []string // "notify 3 people"
}

// Candidate is a problem for which a rule proposes a bug.
type Candidate struct {
	ID        int64
	Problem   crash.BucketID
	Rule      string // name
	RuleID    int64
	State     CandidateState
	Why       string
	Machines  int64 // when it was proposed
	Created   time.Time
	DecidedBy string
	Decided   time.Time
	Reason    string // why it was declined
	Failure   string // why no bug was filed; empty: none was tried
}

// CandidateState is the state of a candidate.
type CandidateState string

// The states of candidates.
const (
	CandidateAutomatic CandidateState = "automatic" // to be filed by the rule
	CandidateFiling    CandidateState = "filing"    // the rule is handing it over
	CandidateWaiting   CandidateState = "waiting"   // for a person
	CandidateFiled     CandidateState = "filed"
	CandidateDeclined  CandidateState = "declined"
)
