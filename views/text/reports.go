package text

import "fmt"

// Texts of the list of a problem's reports.
const (
	ReportsTitle       = "Reports"
	AllReports         = "All reports"
	CompareStacks      = "Compare stacks"
	CompareStacksHint  = "Compare the stacks of two selected reports, or of one and the report whose stack is shown above"
	InCommon           = "In common:"
	NewestFirst        = "Newest arrivals first."
	Selected           = "Selected"
	Report             = "Report"
	NoDateOfItsOwn     = "The report has no readable date of its own."
	Proposed           = "proposed"
	ProposedHint       = "The package came from the proposed pocket."
	HasTrace           = "yes"
	NoTrace            = "no trace"
	NoTraceHint        = "It has no stack, traceback or other readable text."
	NoMachineName      = "no name"
	Columns            = "Columns"
	ColumnsOfList      = "Columns of the list"
	ShowColumns        = "Show columns"
	DifferentColumns   = "Only those that differ"
	ColumnOccurred     = "Occurred"
	ColumnArrived      = "Arrived"
	ArrivedOn          = "arrived"
	ColumnArchitecture = "Architecture"
	ColumnType         = "Type"
	ColumnPocket       = "Pocket"
	ColumnTrace        = "Trace"
	ColumnMachine      = "Machine"
)

// SelectReport is the label of the box that selects a report.
func SelectReport(id string) string { return "Select " + id }

// ReportsWithValue says how many reports have a value of a field.
func ReportsWithValue(n int, field, value string, of int) string {
	return fmt.Sprintf("%s with %s “%s” among the newest %s.", Reports(int64(n)), field, value, Count(int64(of)))
}
