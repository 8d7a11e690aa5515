package crash

import "time"

// HealthCheck is the result of one check that an instance is able to work.
type HealthCheck struct {
	Name    string // for people: "Counting"
	Problem string // one sentence that anyone may read; empty: healthy
	Detail  string // for admins and operators only; may be empty
}

// Difference is a stored count that differs from a recount of the stored reports.
type Difference struct {
	Count     string // name of the count: "reports of a problem by day"
	Of        string // what it counts, for people: "9f3ac1… 2026-11-20 Ubuntu 24.04 1.0-1 amd64"
	Stored    string // the stored value, or empty if there is none
	Recounted string // the recounted value; empty: none
}

// CheckScope says how much a check recounts.
type CheckScope struct {
	Buckets int // number of buckets, drawn at random, with a tenth as many days; 0: everything
	Seed    int64
	Most    int // largest number of examples for one kind of difference; at least 1
}

// CheckResult is the result of a check.
type CheckResult struct {
	Buckets, Reports, Counts int64 // numbers of rows checked
	Found                    int64 // number of differences
	Differences              []Difference

	// Dropped is the last month whose reports were deleted, "2025-11". Counts of reports up to then
	// can only be too low.
	Dropped string
}

// Backup is a complete backup of the database.
type Backup struct {
	Taken   time.Time // zero: there is none
	Place   string
	Bytes   int64
	Reports int64
}

// backupOverdue is the age from which the last backup is too old.
const backupOverdue = 3 * 24 * time.Hour

// Overdue reports whether the backup is too old. It is false if there is none: the database may be
// backed up by other means.
func (b Backup) Overdue(now time.Time) bool {
	return !b.Taken.IsZero() && now.Sub(b.Taken) > backupOverdue
}
