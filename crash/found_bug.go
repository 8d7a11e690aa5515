package crash

// FoundBug is a bug that a search of the tracker returned, for a person to judge.
type FoundBug struct {
	Number int64
	Title  string   // one line
	Status string   // the tracker's term
	Closed bool     // no more work will be done, for whatever reason
	Fixed  string   // day on which a fix was released, "2026-03-02"; empty: none
	Fixes  []BugFix // package versions with the fix, where the tracker says so
	URL    string   // page for people
}
