package tracker

import (
	"strings"

	"mishap/crash"
	"mishap/crash/privacy"
)

// NamesIntro begins each text of NamesComment.
const NamesIntro = "The functions of this crash have names now."

// NamesComment returns the comment for a bug that was filed before the functions of its problem had
// names: the signature and the top of the stack of a report, redacted as in bugs. The report is
// zero if none is stored any more. marker is the address of the problem.
func NamesComment(b crash.Bucket, report crash.StoredReport, fields *privacy.Table, marker string) string {
	w := writer{bucket: b, report: report, redact: privacy.NewRedactor(report.Fields)}
	w.report.Fields = fields.ForBugs(report.Fields)
	var text strings.Builder
	text.WriteString(NamesIntro + "\n\nSignature: " +
		Clean(w.redact.Signature(b.Signature), maxLine) + "\n")
	if stack := w.stack(); stack != "" {
		text.WriteString("\nTop of the stack" + w.from() + ":\n\n" + stack)
	}
	text.WriteString("\nCounts, versions and stacks: " + marker +
		"\n\nThis message is sent once by mishap, which collects crash reports.")
	return text.String()
}
