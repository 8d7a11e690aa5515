package intake

import "mishap/crash"

// refusal is a reason to reject a report permanently: whoopsie never sends it again. The sentences
// are those of errors.ubuntu.com, since clients and their logs contain them.
type refusal struct {
	reason   string // stable code: of the error, and a label of metrics
	applies  func(crash.Record, *crash.ReleaseTable) bool
	sentence func(crash.Record) string
}

// refusals lists all reasons, in order of precedence. Every other readable report is stored, even
// if no rule can group it.
var refusals = [...]refusal{
	{"empty", isEmpty, always("Empty report.")},
	{"end_of_life", isEndOfLife, func(rec crash.Record) string { return string(rec.Release) + " is End of Life" }},
	{"armel", isArmel, always("armel architecture is obsoleted.")},
	{"no_package", lacksPackage, always("Incomplete crash report.")},
}

func always(sentence string) func(crash.Record) string {
	return func(crash.Record) string { return sentence }
}

func isEmpty(rec crash.Record, _ *crash.ReleaseTable) bool { return len(rec.Fields) == 0 }

// isEndOfLife checks the day on which the crash counts, not today. A machine that was offline may
// report crashes from when its release was still supported.
func isEndOfLife(rec crash.Record, known *crash.ReleaseTable) bool {
	return known.EndOfLife(rec.Release, rec.Day)
}

func isArmel(rec crash.Record, _ *crash.ReleaseTable) bool {
	return rec.Fields["Architecture"] == "armel"
}

// lacksPackage reports whether a required package is missing. Apport adds one to every report that
// it sends, even for kernels; without one, the report is incomplete. Only reports that snapd sends
// itself need none: a failed refresh of a snap (Snap) and a failed repair (Repair). They have their
// own signature.
func lacksPackage(rec crash.Record, _ *crash.ReleaseTable) bool {
	return rec.Package == "" && rec.ProblemType != "Snap" && rec.ProblemType != "Repair"
}

// refuse returns the first refusal that applies to rec, as an error of kind Invalid, or nil.
func refuse(rec crash.Record, known *crash.ReleaseTable) error {
	for _, r := range refusals {
		if r.applies(rec, known) {
			return crash.Errorf(crash.Invalid, r.reason, "%s", r.sentence(rec))
		}
	}
	return nil
}
