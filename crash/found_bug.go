package crash

// FoundBug is a bug of the tracker that a search brought, for a person to judge.
type FoundBug struct {
	Number int64
	Title  string   // one line
	Status string   // the tracker's word
	Closed bool     // nothing more will be done, for whatever reason
	Fixed  string   // the day on which a fix was released, "2026-03-02"; empty: none
	Fixes  []BugFix // the package versions that have it, where the tracker says so
	URL    string   // its page for people
}
