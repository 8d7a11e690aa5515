package text

import "strconv"

// Texts that explain why reports are grouped together.
const (
	GroupingTitle      = "Why grouped here"
	GroupingRule       = "Rule"
	GroupingSignature  = "Signature"
	GroupingAddress    = "Permanent address"
	GroupingExample    = "Example"
	GroupingField      = "Read from"
	GroupingUsed       = "Used"
	GroupingIgnored    = "Ignored"
	GroupingNormalised = "Normalised"
	GroupingUnknown    = "The rule is unknown."
	GroupingByHand     = "moved by hand"
	GroupingOldRules   = "grouped by older rules"
	GroupingNewProblem = "a new problem:"
	ExcerptGrouped     = "The marked lines determine the problem."
	ExcerptOwn         = "The marked lines explain the crash. The report’s own signature determines the problem."
)

// GroupingOlder says which version of the rules grouped a report, and introduces the problem into which
// the current rules would put it.
func GroupingOlder(rules int, none bool) string {
	text := "Version " + strconv.Itoa(rules) + " of the rules grouped it. The current rules "
	if none {
		return text + "would not group it."
	}
	return text + "would put it into"
}

// GroupingMoved introduces the problem into which the rules would put a report that a person moved.
func GroupingMoved(none bool) string {
	if none {
		return "The rules alone would not group it."
	}
	return "The rules alone would put it into"
}

// ExcerptFold names a folded field, of which the lines used are marked.
func ExcerptFold(field string) string { return field + ", with the lines used" }

// MoreLines counts the lines that an excerpt omits.
func MoreLines(n int) string { return Counted(int64(n), "more line", "more lines") }
