package text

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Texts of the page of a machine.
const (
	MachineTitle     = "Machine"
	MachinesNameless = "Machines without an id"
	MachineTest      = "test machine"
	MachineTestMeans = "Its reports are stored but not counted."
	MachineNameless  = "Virtual machines and boards without firmware send no machine id, so these reports may come " +
		"from many machines."
	MachineSummary   = "Packages"
	MachineReports   = "reports"
	MachineNewest    = "newest reports"
	MachineFirstSeen = "first report"
	MachineSince     = "since"
	MachineLastSeen  = "last report"
	MachineRuns      = "Runs"
	MachineRan       = "Has run"
	MachineFirst     = "First"
	MachineLast      = "Last"
	MachineVersions  = "Versions"
	MachineAll       = "Reports"
	MachineNoReports = NoSuchMachine
	MachineReportsOf = "Reports of a machine"
)

// MorePackages says what a table leaves out.
func MorePackages(n int64) string {
	return Counted(n, "more package", "more packages") + " with fewer reports"
}

// ReportsBetween describes reports in a span of days.
func ReportsBetween(n int64, first, last string) string {
	return Reports(n) + " from " + first + " to " + last
}

// ReportedBetween says when a machine reported from a release.
func ReportedBetween(first, last string) string {
	return "Reports from " + first + " to " + last
}

// VersionsAndMore follows the newest versions of a list.
func VersionsAndMore(n int) string { return " and " + strconv.Itoa(n) + " more" }

// Texts of the pages about erasing a machine.
const (
	EraseTitle   = "Erase a machine"
	EraseLink    = "Erase this machine…"
	EraseDump    = "Download everything about this machine"
	EraseGoes    = "What is removed"
	EraseStays   = "What stays"
	EraseBlock   = "Refuse later reports from this machine, too"
	EraseDo      = "Erase this machine"
	EraseNoUndo  = "This cannot be undone."
	EraseCancel  = "Cancel"
	EraseConfirm = "To confirm, enter the first 8 characters of the id of the machine"
	EraseWrong   = "These are not the first 8 characters of the id of the machine; nothing was erased."
	EraseStarted = "The machine is being erased."
	EraseRunning = "This machine is being erased."
	Erasures     = "Erased machines"
	ErasuresNone = "No machine has been erased."
	EraseDigest  = "Digest of the machine"
	EraseWhen    = "Requested"
	EraseWho     = "By"
	EraseEnd     = "Finished"
	EraseRuns    = "running"
	EraseWhat    = "Removed"
	EraseBlocked = "blocked"
	EraseKnown   = "This machine was erased before:"
)

// EraseRemains lists what stays after an erasure.
var EraseRemains = []string{
	"Counts of other machines, exact as before.",
	"Problems that other machines have reported, or that people have worked on. They lose what only this machine said.",
	"Bugs in the tracker. Their texts contain nothing about single machines.",
	"Records of the audit log: who has viewed the machine, with a digest instead of its id.",
	"Backups, until they expire. Restoring one erases the machine again.",
}

// MachineFacts says what an erasure would remove.
func MachineFacts(f crash.MachineFacts) string {
	if f.Reports == 0 {
		return "No reports of this machine are stored."
	}
	return strings.Join(MachineFactList(f), "\n")
}

// MachineFactList says the same in sentences.
func MachineFactList(f crash.MachineFacts) []string {
	first, last := f.First.UTC().Format(time.DateOnly), f.Last.UTC().Format(time.DateOnly)
	arrived := "on " + first
	if first != last {
		arrived = "from " + first + " to " + last
	}
	lines := []string{Reports(f.Reports) + ", which arrived " + arrived + "."}
	if f.Cores > 0 {
		lines = append(lines, Counted(f.Cores, "core dump", "core dumps")+".")
	}
	if f.Jobs > 0 {
		lines = append(lines, Counted(f.Jobs, "result", "results")+" of symbolising.")
	}
	lines = append(lines, "What they add to the counts of "+Counted(f.Problems, "problem", "problems")+".")
	if f.Only > 0 {
		lines = append(lines, Counted(f.Only, "problem that", "problems that")+" no other machine has reported.")
	}
	return lines
}

// EraseReceipt is the receipt of a finished erasure. It does not contain the machine.
func EraseReceipt(e crash.Erasure) []string {
	const form = time.DateTime + " UTC"
	lines := []string{"The machine with the digest " + e.Digest + " is erased.",
		"Requested: " + e.Requested.UTC().Format(form) + ", by " + EraseAuthor(e) + ". Finished: " +
			e.Finished.UTC().Format(form) + ".",
		"Removed: " + ErasedCounts(e.Counts)}
	if e.Counts.Anonymous > 0 {
		lines = append(lines, Reports(e.Counts.Anonymous)+" that retention had dropped before stay counted, without the "+
			"machine.")
	}
	if e.Blocked {
		lines = append(lines, "Later reports of the machine are refused.")
	}
	return append(lines, "Backups that were taken before still contain it. Restoring one erases it again "+
		"(docs/removal.md).")
}

// EraseAuthor says who asked for an erasure.
func EraseAuthor(e crash.Erasure) string {
	switch {
	case e.Person == "" && e.Via != "":
		return "the command line (" + e.Via + ")"
	case e.Person == "":
		return "the command line"
	case e.Via != "":
		return e.Person + " (" + e.Via + ")"
	}
	return e.Person
}

// ErasedCounts says what an erasure has removed.
func ErasedCounts(c crash.ErasedCounts) string {
	list := func(lead string, parts ...string) string {
		if parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" }); len(parts) == 0 {
			return ""
		}
		return lead + strings.Join(parts, ", ")
	}
	some := func(n int64, one, several string) string {
		if n == 0 {
			return ""
		}
		return Counted(n, one, several)
	}
	gone := ""
	if c.Gone > 0 {
		gone = "of which " + Counted(c.Gone, "is", "are") + " gone"
	}
	sentence := strings.Join(slices.DeleteFunc([]string{
		list("", some(c.Reports, "report", "reports"), some(c.Cores, "core dump", "core dumps"),
			some(c.Requests, "request for a core dump", "requests for core dumps"),
			some(c.Jobs, "result of symbolising", "results of symbolising")),
		list("", some(c.Problems, "problem corrected", "problems corrected"), gone),
		list("the id in ", some(c.Audit, "record of the audit log", "records of the audit log"),
			some(c.Texts, "other text", "other texts")),
	}, func(s string) bool { return s == "" }), "; ")
	if sentence == "" {
		return "nothing."
	}
	return sentence + "."
}
