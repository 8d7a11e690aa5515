package crash

import (
	"slices"
	"time"
)

// LedgerFilter selects filings of the ledger, which lists the latest intent first.
type LedgerFilter struct {
	State  FilingState  // empty: all
	Bucket BucketID     // zero: all
	ID     int64        // 0: all
	After  LedgerCursor // zero: from the beginning
	Limit  int
}

// LedgerCursor is a position in the ledger: after the filing that was requested at this time.
type LedgerCursor struct {
	Created time.Time
	ID      int64
}

// LedgerEntry is a filing with its complete history.
type LedgerEntry struct {
	Filing
	Heading string // title of the bucket, or its signature
	Package string
	Linked  int64 // the bug that the bucket has now, however it was linked; 0: none
	Lines   []LedgerLine
	Left    int // number of older lines that are omitted
}

// LedgerLine is one event of a filing: a call to the tracker, or an action of a person or mishap.
type LedgerLine struct {
	At        time.Time
	Ended     time.Time     // of a call; zero: it is in progress, or its instance has died
	Call      string        // "create", "search", "subscribe"; empty: not a call
	Action    string        // of any other event: "bug.create", "bug.filed", "bug.give-up"
	Person    string        // who did it; empty: mishap
	Account   string        // of a call: name at the tracker of the person's own account; empty: the application's
	Outcome   string        // of a call; see TrackerAnswer
	Status    int           // HTTP status; 0: no answer
	RequestID string        // the tracker's id of an error
	Text      string        // message of the tracker, or a person's reason
	Bug       int64         // number of the bug that the line is about; 0: none
	Took      time.Duration // of a call that has ended
}

// SortLines sorts the lines by time, oldest first.
func (e *LedgerEntry) SortLines() {
	slices.SortStableFunc(e.Lines, func(a, b LedgerLine) int { return a.At.Compare(b.At) })
}
