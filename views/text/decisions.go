package text

// Texts of the history of a problem, and of the pages that merge, rename and split problems.
const (
	HistoryTitle    = "History"
	MergeAction     = "Merge…"
	SplitAction     = "Split off reports…"
	RenameAction    = "Rename…"
	NoManualChanges = "No manual changes; grouped automatically"
	Into            = "into"
	From            = "from"
	NameRemovedFrom = "name"
	NameRemoved     = "removed"
	Previously      = "previously"
	ThisProblem     = "this problem"
	UndoDecision    = "Undo"
	Reason          = "Reason"
	ReasonOptional  = "Optional; shown in the history"
	SplitOff        = "split off"
	MovedBack       = "moved back"
	Symbolised      = "symbolised"
	Regrouped       = "regrouped"
	Undone          = "Undone"

	RenameTitle = "Rename problem"
	RenameHint  = "Lists and the page show this name instead of the title of the newest report. Signature and addresses " +
		"stay the same. An empty name removes it."
	ProblemName  = "Name"
	Rename       = "Rename"
	Renamed      = "Problem renamed"
	NameRestored = "Previous name restored"

	MergeWithTitle  = "Merge with which problem?"
	MergeWithLabel  = "Address, id or signature of the other problem, or the number of its bug"
	PreviewMerge    = "Preview"
	SimilarOfSource = "Similar problems of the package"
	MergeTitle      = "Merge these problems?"
	MergeHint       = "Their reports, including future ones, will be counted, shown and filed as one problem. Each " +
		"signature keeps its address, which leads to the merged problem. You can undo this at any time."
	MergeMutes = "The merged problem is muted if its main problem is. The mutes of the others end. Undoing the merge " +
		"restores them."
	MergeCaption    = "The problems before, and the merged problem"
	MainProblem     = "Main problem"
	MergeMachines   = "Machines"
	MergeFirstSeen  = "First seen"
	MergeLastSeen   = "Last seen"
	Together        = "together"
	Merge           = "Merge"
	CancelMerge     = "Cancel"
	NotInAll        = "not in all of them"
	LabelReports    = "reports"
	LabelMachines   = "machines"
	LabelFirstSeen  = "first seen"
	LabelLastSeen   = "last seen"
	LabelBug        = "bug"
	Merged          = "Problems merged"
	MergedUndoBelow = "Problems merged. The history below can undo this for each of them."
	Unmerged        = "Problems separated"
	MergeOne        = "Select at least two different problems to merge."
	SelectMain      = "Select the main problem."

	SplitTitle = "Split off reports"
	SplitHint  = "The reports move to a problem of their own, with its own address, counts and bugs. A condition " +
		"also applies to future reports. You can undo this at any time; the reports then move back."
	SplitByCondition = "By a condition"
	SplitWhat        = "What"
	SplitValue       = "Value"
	PreviewSplit     = "Preview"
	SplitSelected    = "Selected reports"
	SplitSelectedDo  = "Split off the selected reports"
	SplitDo          = "Split off these reports"
	WouldMove        = "Would move"
	WouldStay        = "Would stay"
	NoReports        = "None"
	OlderReports     = "older reports"
	NewestReports    = "newest"
	SplitUndone      = "Reports moved back"
	SplitBeingUndone = "The reports are moving back. The history below shows the progress."
)

// MergeSideLabel is the label of the button that selects the main problem.
func MergeSideLabel(name string) string { return MainProblem + ": " + name }

// SignaturesTogether says how many signatures a problem has.
func SignaturesTogether(n int64) string {
	return "Reports of " + Counted(n, "signature", "signatures") + ", counted together."
}

// UndoneBy names the person who undid a decision.
func UndoneBy(person string) string { return "undone by " + person }

// SplitProgress says how many reports have moved, and how many were examined if that continues.
func SplitProgress(moved int64, verb string, finished bool, examined int64) string {
	out := Reports(moved) + " " + verb
	if !finished {
		out += "; " + Count(examined) + " examined so far"
	}
	return out
}

// SplitResult confirms a split, whose rest may still be moving.
func SplitResult(moved int64, finished bool) string {
	if finished {
		return Reports(moved) + " split off into this problem"
	}
	return Reports(moved) + " split off so far. The rest follows; the history below shows the progress."
}

// SplitPreview says how many of the examined reports would move.
func SplitPreview(examined, move, stay int64, more bool) string {
	of := Reports(examined)
	if more {
		of = "the newest " + of
	}
	return "Of " + of + ", " + Count(move) + " would move and " + Count(stay) + " would stay"
}

// LikenessAndReports describes a similar problem.
func LikenessAndReports(likeness string, reports int64) string {
	return likeness + ", " + Reports(reports)
}

// IntoProblem names the new problem of a split.
func IntoProblem(signature string) string { return "into " + signature }
