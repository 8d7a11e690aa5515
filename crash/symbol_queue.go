package crash

import "time"

// SymbolTotals counts the jobs that symbolise reports.
type SymbolTotals struct {
	States map[SymbolState]int64
	Oldest time.Time // creation of the job that has been queued for the longest time; zero: none is queued
}

// Wanting returns the number of jobs that wait for symbols.
func (t SymbolTotals) Wanting() int64 { return t.States[SymbolsWaiting] + t.States[SymbolsPartial] }

// SymbolQueueRow is a job in the queue.
type SymbolQueueRow struct {
	Report       OopsID
	Problem      BucketID // zero: the report is in no problem
	Title        string   // of the problem
	State        SymbolState
	Reason       string
	Architecture string
	Reports      int64 // of the problem
	Core         bool  // false: only addresses
	PressedBy    string
	Created      time.Time
	Started      time.Time // zero: no try has begun
	Ended        time.Time // zero: no try has ended
	NotBefore    time.Time // zero: not tried again by itself
}
