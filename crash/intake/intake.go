// Package intake accepts or refuses reports, derives everything that is stored about them, and
// passes them to the store. It receives decoded reports and parses no format.
package intake

import (
	"context"
	"maps"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
)

// Store stores reports. It is the part of the database that [Intake] needs.
type Store interface {
	// SaveReport stores rec and everything counted from it, and returns when that is on disk. If a
	// report with the same DuplicateKey exists, it stores nothing, and returns the id of that
	// report and true. It returns an error of kind Unavailable if the store is unavailable or
	// overloaded.
	SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error)
}

// Config contains the settings of an Intake.
type Config struct {
	MaxAgeDays int              // how many days old a report's own date may be
	Privacy    *privacy.Table   // which fields are dropped; nil: the built-in table
	Now        func() time.Time // nil: time.Now
}

// Intake accepts reports. It is safe for concurrent use.
type Intake struct {
	config Config
	store  Store
}

// New returns an Intake that stores reports in store, which may be nil if only Examine is used.
func New(c Config, store Store) *Intake {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Intake{config: c, store: store}
}

// Receipt is the result of accepting a report.
type Receipt struct {
	ID         crash.OopsID   // of the first submission, if this one is a duplicate
	Duplicate  bool           // the machine sent the same crash before; it was not counted again
	Bucket     crash.BucketID // zero if Unbucketed
	Signature  string         // of the bucket; empty if Unbucketed
	Unbucketed bool           // stored, but no rule can group it

	// Core describes the core dump that would give the report function names. It is nil if the report
	// has them, or could not get them.
	Core *crash.CoreRequest
}

// Accept checks a report and stores it. When Accept returns, the report is on disk. A report
// without an id gets one with the present time. A refusal is an error of kind Invalid, with the
// reason as its code. Errors of the store are returned unchanged.
func (in *Intake) Accept(ctx context.Context, report crash.Report) (Receipt, error) {
	rec, err := in.Examine(report)
	if err != nil {
		return Receipt{}, err
	}
	id, duplicate, err := in.store.SaveReport(ctx, rec)
	if err != nil {
		return Receipt{}, err
	}
	core := coreRequest(rec)
	if core != nil {
		core.Report = id
	}
	receipt := Receipt{ID: id, Duplicate: duplicate, Unbucketed: rec.Grouping.Signature == "", Core: core}
	if !receipt.Unbucketed {
		receipt.Bucket, receipt.Signature = crash.BucketIDOf(rec.Grouping.Signature), rec.Grouping.Signature
	}
	return receipt, nil
}

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
	if err := refuse(rec); err != nil {
		return crash.Record{}, err
	}
	rec.Grouping = grouping.SignatureOf(report.Fields)
	rec.Title = grouping.TitleOf(report.Fields, rec.Grouping)
	rec.Complete = grouping.HasEvidence(report.Fields, rec.Grouping)
	rec.Quality = grouping.Quality(report.Fields, rec.Complete)
	switch {
	case report.Number != "":
		rec.DuplicateKey = crash.NumberKey(report.Number, sent)
	case !report.Anonymous:
		rec.DuplicateKey = crash.DuplicateKey(report.System, sent)
	}
	rec.Fields = trim(report.Fields)
	return rec, nil
}

// journalLines is the number of lines of the journal that are stored, as at errors.ubuntu.com.
// Senders do not limit the journal, and the lines about the crash are at its end.
const journalLines = 50

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

// coreRequest returns the request for the core of a native crash without function names, or nil if a
// core would not help. The core of a test machine names nothing but its own report, so none is
// wanted.
func coreRequest(rec crash.Record) *crash.CoreRequest {
	f := rec.Fields
	if !rec.Counted || rec.ProblemType != "Crash" || f["Signal"] == "" || f["Architecture"] == "" ||
		f["Traceback"] != "" || f["DuplicateSignature"] != "" {
		return nil
	}
	problem := rec.Grouping.Signature
	switch {
	case rec.Grouping.Provisional, rec.Grouping.Rule == crash.RuleStackPartial:
	case problem == "":
		problem = "no signature:" + grouping.KindOf(f)
	default:
		return nil
	}
	return &crash.CoreRequest{System: rec.System, Problem: crash.BucketIDOf(problem),
		Version: strings.Clone(rec.Version), Architecture: strings.Clone(rec.Architecture),
		Executable: strings.Clone(rec.Executable),
		Packages:   []string{strings.Clone(rec.Package), strings.Clone(rec.SourcePackage)},
		Fields:     rec.Fields, Quality: rec.Quality}
}

// refuse returns an error of kind Invalid for a report that is rejected permanently: whoopsie never sends
// it again. The code of the error, a label of metrics, is the first reason that applies. The sentences are
// those of errors.ubuntu.com, since clients and their logs contain them. Every other readable report is
// stored, even if no rule can group it.
func refuse(rec crash.Record) error {
	switch {
	case len(rec.Fields) == 0:
		return crash.Errorf(crash.Invalid, "empty", "Empty report.")
	// The day on which the crash counts matters, not today. A machine that was offline may report crashes
	// from when its release was still supported.
	case rec.Release.EndOfLifeOn(rec.Day):
		return crash.Errorf(crash.Invalid, "end_of_life", "%s is End of Life", rec.Release)
	case rec.Fields["Architecture"] == "armel":
		return crash.Errorf(crash.Invalid, "armel", "armel architecture is obsoleted.")
	// Apport adds a package to every report that it sends, even for kernels. Only reports that snapd sends
	// itself need none: a failed refresh of a snap (Snap) and a failed repair (Repair).
	case rec.Package == "" && rec.ProblemType != "Snap" && rec.ProblemType != "Repair":
		return crash.Errorf(crash.Invalid, "no_package", "Incomplete crash report.")
	}
	return nil
}
