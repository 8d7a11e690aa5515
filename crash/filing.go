package crash

import "time"

// FilingStep is what has to be done next with a filing.
type FilingStep string

// The steps.
const (
	StepNone   FilingStep = ""       // nothing now: final, not due yet, or somebody else is at it
	StepCreate FilingStep = "create" // send it to the tracker
	StepSearch FilingStep = "search" // look whether the tracker has it
)

// FilingTerms are the times that decide when the tracker can no longer be working on a request.
type FilingTerms struct {
	Sending time.Duration // a request is fully written this long after the claim, or never
	Answer  time.Duration // longest wait for an answer
	Settle  time.Duration // how long after the last moment of sending the tracker is searched
}

// FilingClaim is a filing together with the step that the caller, and nobody else, now has to do.
type FilingClaim struct {
	Filing
	Step     FilingStep
	Entry    int64     // the entry of the ledger to which the outcome belongs
	SentFrom time.Time // no request for this filing left before: where a search starts
}

// FilingResult is what came of a claimed step.
type FilingResult struct {
	Claim   FilingClaim
	State   FilingState   // the state that follows
	Bug     Bug           // with FilingFiled
	Delay   time.Duration // with FilingQueued: how long until it is tried again
	Problem string        // as in Filing
	Reason  string
	Answer  TrackerAnswer
	Rest    time.Duration // after sending: how long those who stand in line wait before the next is sent
}

// TrackerAnswer is what the ledger keeps of one call to the tracker.
type TrackerAnswer struct {
	Outcome   string // one word for what it meant: "created", "refused", "unknown"
	Status    int    // HTTP status; 0: no answer
	RequestID string // the tracker's own id of a failure, for asking its administrators
	Words     string // the tracker's words, or the network's; cleaned and cut
}

// FilingTotals counts filings for the monitor.
type FilingTotals struct {
	States map[FilingState]int64
	Oldest time.Time // when the oldest that is not done yet was asked for; zero: none is open
	Parked int64     // how many open ones wait until the tracker accepts our credentials
}

// NextFiling is the filing that is sent next.
type NextFiling struct {
	Filing int64         // 0: none waits, or one is being sent
	In     time.Duration // pause before it may be sent
}

// NoFiling says why no bug can be filed for the bucket, as a sentence; empty when one can. It does not look whether the
// bucket has a bug already.
func (b Bucket) NoFiling() string {
	switch {
	case len(b.Signature) >= 7 && b.Signature[:7] == "failed:":
		return "This crash could not be retraced, so a bug would not say what went wrong."
	case b.SourcePackage == "":
		return "The source package of this problem is not known, so there is nothing to file the bug against."
	}
	return ""
}

// Subscription is a person who is to get the tracker's mail about the bug that they had filed.
type Subscription struct {
	Filing  int64
	Bug     int64
	Account string // the person's name at the tracker
	Entry   int64  // of the ledger, to which the outcome belongs
}
