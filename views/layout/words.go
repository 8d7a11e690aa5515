package layout

import (
	"slices"
	"strings"
)

// Words holds words of the trade with what they mean, in alphabetical order, for tooltips and for the page of help.
// docs/glossary.md has the same rows.
var Words = [][2]string{
	{"active machine", "a machine that has reported anything in the past 90 days"},
	{"candidate", "a problem that a rule proposes for filing"},
	{"disappeared", "has an open bug, and is probably fixed in every release"},
	{"embargoed", "visible only to people with the private right for the package"},
	{"first seen", "time, release and version of the oldest report"},
	{"fixed in", "the version of a release that has the fix, as a person says"},
	{"gone", "has no bug, and is probably fixed in every release"},
	{"held", "exempt from retention: its reports and core dumps stay, whatever their age"},
	{"interval", "holds the true value with 95% confidence"},
	{"last seen", "time, release and version of the newest report"},
	{"machine", "a computer that sends reports, known only by a hash"},
	{"muted", "hidden from lists until a condition is met"},
	{"new", "first seen in the past week"},
	{"not symbolised", "grouped by addresses, because its functions have no names yet"},
	{"oops", "another name for a report, in addresses"},
	{"problem", "all reports of one fault"},
	{"proposed", "the part of the archive where updates are tested"},
	{"rate", "reports per 1,000 active machines a day"},
	{"regression", "seen again in a version that has the fix"},
	{"release", "a version of the distribution, such as Ubuntu 24.04"},
	{"report", "one crash, as a machine sent it"},
	{"representative report", "the report with the most named functions, then a complete one, then the newest"},
	{"rising", "clearly more reports in the past week than in the week before"},
	{"signature", "program, signal and functions: the same for all reports of one fault"},
	{"source package", "the package that bugs are filed against"},
	{"unread", "first reported, or changed, since you last looked"},
	{"won’t fix", "nobody intends to fix it"},
}

// Means returns what a word means, whatever its case and number, or "" if it is not among [Words].
func Means(word string) string {
	word = strings.ToLower(word)
	for _, form := range []string{word, strings.TrimSuffix(word, "s"), strings.TrimPrefix(word, "95% ")} {
		if i := slices.IndexFunc(Words, func(w [2]string) bool { return w[0] == form }); i >= 0 {
			return Words[i][1]
		}
	}
	return ""
}
