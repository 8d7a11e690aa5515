package crash

import "time"

// HealthStatus is the result of a health check. The zero value is not valid.
type HealthStatus string

// The results of a health check, in order of severity.
const (
	HealthOff     HealthStatus = "off" // turned off, as configured
	HealthOK      HealthStatus = "ok"
	HealthWarning HealthStatus = "warning" // it works, but a person should look at it
	HealthFailure HealthStatus = "failure" // a part of mishap does not work
)

// HealthCheck is the result of one health check.
type HealthCheck struct {
	ID      string // in metrics and for programs: "counting"
	Name    string // for people: "Counting"
	Problem string // one sentence that anyone may read; empty: healthy
	Warning bool   // the problem is only a warning
	Off     bool   // without a problem: it is turned off, as configured
	Detail  string // for admins and operators only; may be empty
	Remedy  string // what an operator can do about the problem: "restart PostgreSQL"
	Link    string // the page where an admin can do so: "/admin/tracker"; may be empty
}

// Status returns how severe the problem is.
func (c HealthCheck) Status() HealthStatus {
	switch {
	case c.Problem == "" && c.Off:
		return HealthOff
	case c.Problem == "":
		return HealthOK
	case c.Warning:
		return HealthWarning
	}
	return HealthFailure
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
	// Expired is the first day whose counts by day have not expired, "2024-11-01". Empty: none have.
	Expired string
}

// Backup is a complete backup of the database.
type Backup struct {
	Taken   time.Time // zero: there is none
	Place   string
	Bytes   int64
	Reports int64
}

// Verification is the result of restoring a backup for a test.
type Verification struct {
	Ended   time.Time // zero: there was none
	Place   string    // of the backup
	Problem string    // why the backup is not good; empty: it is
}

// Backups are facts about the backups of a site.
type Backups struct {
	Installed    time.Time // when the database was created
	Last         Backup    // the last complete one
	Verification           // the last one
}
