package crash

import (
	"slices"
	"time"
)

// LedgerFilter says which filings of the ledger are wanted, latest intent first.
type LedgerFilter struct {
	State  FilingState  // empty: all
	Bucket BucketID     // zero: all
	ID     int64        // 0: all
	After  LedgerCursor // zero: from the start
	Limit  int
}

// LedgerCursor is a place in the ledger: below the filing that was asked for at this time.
type LedgerCursor struct {
	Created time.Time
	ID      int64
}

// LedgerEntry is a filing with all that has happened to it.
type LedgerEntry struct {
	Filing
	Heading string // title of the bucket, or its signature
	Package string
	Linked  int64 // the bug that the bucket has, whatever became of the filing; 0: none
	Lines   []LedgerLine
	Left    int // how many older lines are left out
}

// LedgerLine is one thing that happened to a filing: a call to the tracker, or something that a person or mishap did.
type LedgerLine struct {
	At        time.Time
	Ended     time.Time     // of a call; zero: it is under way, or its unit has died
	Call      string        // "create", "search", "subscribe"; empty: no call
	Action    string        // of what is no call: "bug.create", "bug.filed", "bug.give-up"
	Person    string        // who did it; empty: mishap
	Outcome   string        // of a call, as TrackerAnswer has it
	Status    int           // HTTP status; 0: no answer
	RequestID string        // the tracker's own id of a failure
	Words     string        // the tracker's, or a person's reason
	Bug       int64         // that the line is about; 0: none
	Took      time.Duration // of a call that has ended
}

// SortLines puts the lines in the order in which things happened.
func (e *LedgerEntry) SortLines() {
	slices.SortStableFunc(e.Lines, func(a, b LedgerLine) int { return a.At.Compare(b.At) })
}
