package crash

import (
	"time"
)

// ProblemSymbols says how far a problem is symbolised.
type ProblemSymbols struct {
	Job     SymbolJob // that tells most; State empty: nothing was tried, and no core was asked for
	Missing []string  // paths of programs and libraries whose symbols or builds are missing
	Wanted  WantedCore
}

// WantedCore says that a person has asked for a core of a problem.
type WantedCore struct {
	Person string // empty: nobody has
	Asked  time.Time
}

// LacksNames reports whether a problem is a native crash whose functions have no names, or not all
// of them.
func (b Bucket) LacksNames() bool {
	return b.ProblemType == "Crash" && (b.Provisional || b.Rule == RuleStackPartial)
}

// MissingPaths returns the paths of the modules in the stack that lack a file.
func (j SymbolJob) MissingPaths() []string {
	var paths []string
	for _, m := range j.Modules {
		for _, s := range []*SymbolSearch{m.Executable, m.Debuginfo, m.Shared} {
			if m.Frames > 0 && s != nil && !s.Found {
				paths = append(paths, m.Path)
				break
			}
		}
	}
	return paths
}

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
