package crash

import "time"

// FilingStep is the next step of a filing.
type FilingStep string

// The steps of a filing.
const (
	StepNone   FilingStep = ""       // nothing to do now: it is final, not due yet, or claimed by another worker
	StepCreate FilingStep = "create" // send it to the tracker
	StepSearch FilingStep = "search" // search the tracker for it
)

// FilingTerms are the times after which the tracker can no longer be processing a request.
type FilingTerms struct {
	Sending time.Duration // from the claim until the request is fully written, at most
	Answer  time.Duration // largest wait for an answer
	Settle  time.Duration // from the last possible moment of sending until the tracker is searched
}

// FilingClaim is a filing with the step that only the caller may now do.
type FilingClaim struct {
	Filing
	Step     FilingStep
	Entry    int64     // the ledger entry that receives the outcome
	SentFrom time.Time // earliest time at which a request may have been sent: where a search starts
	Senders  []string  // with StepSearch: the own accounts of people that have sent it
}

// FilingResult is the outcome of a claimed step.
type FilingResult struct {
	Claim   FilingClaim
	State   FilingState   // the new state
	Bug     Bug           // with FilingFiled
	Delay   time.Duration // with FilingQueued: time until the retry
	Problem string        // as in Filing
	Reason  string
	Answer  TrackerAnswer
	Pause   time.Duration // after sending: pause before the next filing in the queue is sent

	Own       OwnAccount // the person's own account that did the step; zero: the application's
	Fallback  string     // why the application's account takes over, because the tracker rejected Own; empty: it does not
	Unsettled bool       // with FilingRefused: the outcome is unknown, and the tracker is searched before a retry
}

// TrackerAnswer is what the ledger stores about one call to the tracker.
type TrackerAnswer struct {
	Outcome   string // one word for the outcome: "created", "refused", "unknown"
	Status    int    // HTTP status; 0: no answer
	RequestID string // the tracker's id of an error, to quote to its administrators
	Message   string // message of the tracker or the network, cleaned and truncated
}

// FilingTotals counts filings, for monitoring.
type FilingTotals struct {
	States map[FilingState]int64
	Oldest time.Time // when the oldest open filing was requested; zero: none is open
	Parked int64     // open filings that wait until the tracker accepts our credentials

	OwnAccounts int64 // people who file with their own accounts at the tracker
	OwnBroken   int64 // those of them whose accounts the tracker rejects
}

// NextFiling is the filing at the head of the queue.
type NextFiling struct {
	Filing int64         // 0: none is queued, or one is being sent
	In     time.Duration // pause before it may be sent
}

// NoFiling says, in a sentence, why no bug can be filed for the bucket. It returns "" if one can.
// It does not check whether the bucket already has a bug.
func (b Bucket) NoFiling() string {
	switch {
	case len(b.Signature) >= 7 && b.Signature[:7] == "failed:":
		return "This crash could not be retraced, so a bug would not say what went wrong."
	case b.SourcePackage == "":
		return "The source package of this problem is not known, so there is nothing to file the bug against."
	}
	return ""
}

// Subscription is a pending request to subscribe a person to a bug that they filed.
type Subscription struct {
	Filing  int64
	Bug     int64
	Account string // the person's name at the tracker
	Entry   int64  // the ledger entry that receives the outcome
	User    int64  // the person's id
	As      string // name of the person's own account that made the call; empty: the application's account
	Private bool   // the bug is private, so that only the account that filed it may see it
}

// Restored describes a database that was restored from a backup and not compared with the tracker
// since. The zero value stands for any other database.
type Restored struct {
	At          time.Time
	BackupTaken time.Time
}

// Problem returns the error that says why nothing is sent.
func (r Restored) Problem() *Error {
	return Errorf(Unavailable, "restored", "The database was restored from a backup of %s. What was sent after that "+
		"would be sent again, so mishap files no bugs and sends no comments, mails and webhooks until an administrator "+
		"has run: mishap filings reconcile --apply", r.BackupTaken.UTC().Format("2006-01-02 15:04 UTC"))
}

// HeldItem is something that waits in a restored database.
type HeldItem struct {
	Kind      string // mail, notice (that may become a mail), delivery or filing
	ID        string
	Recipient string // person or endpoint; of a filing, who asked for it
	About     string
	Since     time.Time
	InBackup  bool // the backup contains it, so that it was probably sent before the restore
}
