package intake

import (
	"maps"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Examine works out what Accept would store of a report: the record, or an Invalid error whose code is the reason of the
// refusal and whose message is the sentence that the sender gets. It touches no store.
func (in *Intake) Examine(report crash.Report) (crash.Record, error) {
	if report.ID.IsZero() {
		report.ID = crash.NewOopsID(in.config.Now())
	}
	rec := crash.Record{
		Report:  report,
		Summary: grouping.SummaryOf(report.Fields),
		Counted: !report.System.IsTest(),
	}
	if occurred, ok := crash.OccurredAt(report.Fields["Date"]); ok {
		rec.Occurred = occurred
	}
	rec.Day = crash.CountingDay(rec.Occurred, report.Received(), in.config.MaxAgeDays)
	if err := refuse(rec, in.config.Releases); err != nil {
		return crash.Record{}, err
	}
	rec.Grouping = grouping.SignatureOf(report.Fields)
	rec.Complete = grouping.HasEvidence(report.Fields, rec.Grouping)
	rec.DuplicateKey, rec.FormerKey = crash.DuplicateKey(report.System, report.Fields)
	rec.Fields = trim(report.Fields)
	return rec, nil
}

// journalLines is how many lines of the journal are kept, as at errors.ubuntu.com: senders put no bound to it, and what
// belongs to the crash stands at its end.
const journalLines = 50

// trim returns the fields as they are stored: with no more than the end of the journal. It leaves f alone.
func trim(f crash.Fields) crash.Fields {
	journal := lastLines(f["JournalErrors"], journalLines)
	if len(journal) == len(f["JournalErrors"]) {
		return f
	}
	f = maps.Clone(f)
	f["JournalErrors"] = journal
	return f
}

// lastLines returns the last n lines of text; a line break at the very end does not begin another line.
func lastLines(text string, n int) string {
	end := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0; n-- {
		i := strings.LastIndexByte(text[:end], '\n')
		if i < 0 {
			return text
		}
		end = i
	}
	return text[end+1:]
}
