package text

// Messages after decisions about problems and notes.
const (
	NoDecisions     = "No manual changes; grouped automatically."
	SplitLink       = "Split off reports…"
	SplitPreview    = "Preview"
	Merged          = "Problems merged."
	MergedSeveral   = "Problems merged. Each can be split off again in the history below."
	Unmerged        = "Merge undone."
	RenameUndone    = "Rename undone."
	Renamed         = "Problem renamed."
	SplitUndone     = "Split undone."
	SplitUndoing    = "The split is being undone; the history below shows the progress."
	SplitHeading    = "Split off reports"
	SplitEmpty      = "No reports of this problem are stored any more."
	NoteSaved       = "Note saved."
	NoteChanged     = "Note changed."
	NoteRemoved     = "Note deleted; its history is kept."
	BugTemplates    = "Bug templates"
	FilingLog       = "Filing log"
	FilingRetrying  = "Retrying."
	FilingAbandoned = "Filing abandoned."
)

// CreatingBugs says that bugs have been requested.
func CreatingBugs(n int64) string { return "Creating " + Counted(n, "bug", "bugs") + "." }

// RefreshingBugs says that the states of bugs are read again.
func RefreshingBugs(tracker, bugs string) string {
	return "Refreshing " + bugs + " from " + tracker + "; this takes a few seconds."
}
