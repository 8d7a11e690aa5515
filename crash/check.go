package crash

// Difference is a count that is not what counting the stored reports again gives.
type Difference struct {
	Count     string // which one: "reports of a problem by day"
	Of        string // of what, for a person: "9f3ac1… 2026-11-20 Ubuntu 24.04 1.0-1 amd64"
	Kept      string // what is kept; empty: nothing
	Recounted string // what counting again gives; empty: nothing
}

// CheckScope says how much is counted again.
type CheckScope struct {
	Buckets int // so many buckets, drawn by lot, and what was counted on a tenth as many days; 0: everything
	Seed    int64
	Most    int // of so many differences of one kind the examples are given; at least 1
}

// CheckResult is what a check has seen.
type CheckResult struct {
	Buckets, Reports, Counts int64 // how many were looked at
	Found                    int64 // differences in all
	Differences              []Difference
	Dropped                  string // the last month whose reports were dropped, "2025-11"; counts from up to then can only be too low
}
