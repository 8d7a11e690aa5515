package views

// Texts of the table of a problem's reports by version and release.
const (
	matrixFirstFree = "; it is the first version after the last one with the problem"
)
