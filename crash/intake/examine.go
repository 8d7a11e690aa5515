package intake

import (
	"maps"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Examine returns the record that Accept would store for a report. If Accept would refuse it,
// Examine returns an error of kind Invalid, with the reason as its code and the sentence for the
// sender as its message. It does not use the store.
func (in *Intake) Examine(report crash.Report) (crash.Record, error) {
	if report.ID.IsZero() {
		report.ID = crash.NewOopsID(in.config.Now())
	}
	// Nothing that is stored may come from a secret field, except the hash that recognises the report
	// when it is sent again: it must not depend on the configuration.
	sent := report.Fields
	report.Fields, _ = in.config.Privacy.DropSecrets(sent)
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
	rec.Quality = grouping.Quality(report.Fields, rec.Complete)
	rec.DuplicateKey, rec.FormerKey = crash.DuplicateKey(report.System, sent)
	rec.Fields = trim(report.Fields)
	return rec, nil
}

// journalLines is the number of lines of the journal that are stored, as at errors.ubuntu.com.
// Senders do not limit the journal, and the lines about the crash are at its end.
const journalLines = 50

// trim returns the fields to store, with only the end of the journal. It does not modify f.
func trim(f crash.Fields) crash.Fields {
	journal := lastLines(f["JournalErrors"], journalLines)
	if len(journal) == len(f["JournalErrors"]) {
		return f
	}
	f = maps.Clone(f)
	f["JournalErrors"] = journal
	return f
}

// lastLines returns the last n lines of text. A line break at the end does not start another line.
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
