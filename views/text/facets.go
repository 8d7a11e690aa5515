package text

import "fmt"

// Texts of the comparison by a field.
const (
	CompareByField  = "Compare by field"
	AnotherField    = "Another field"
	AnotherExample  = "other field, or package:libc6"
	Compare         = "Compare"
	FacetBars       = "Bars"
	FacetHere       = "Here"
	FacetElsewhere  = "Elsewhere"
	FacetCPU        = "CPU"
	NotInReport     = "not in the report"
	NoReportsStored = "Reports of this problem are no longer stored."
	NoReportMatches = "No stored report matches."
	FacetTooSlow    = "Comparing the reports took too long. Try again, or choose another field."
)

// OtherValues counts the values that a comparison does not name.
func OtherValues(n int) string { return Counted(int64(n), "other value", "other values") }

// VersionOf is the label of a field with the version of a package.
func VersionOf(name string) string { return "Version of " + name }

// FacetCaption says which reports are compared.
func FacetCaption(here, there int, of string) string {
	caption := "The newest " + Reports(int64(here)) + " of this problem"
	if there == 0 {
		return caption
	}
	return fmt.Sprintf("%s, compared with %s of other problems of %s", caption, Reports(int64(there)), of)
}
