package intake

import "mishap/crash"

// A refusal is a reason for which a report is turned away for good: whoopsie never sends it again. The sentences are
// those of errors.ubuntu.com where clients and their logs know them.
type refusal struct {
	reason   string // stable word: the error's code, and a label in metrics
	applies  func(crash.Record, *crash.ReleaseTable) bool
	sentence func(crash.Record) string
}

// refusals are all the reasons, in the order in which they are looked at. Everything else that can be read is stored,
// also reports that no rule can group.
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

// isEndOfLife looks at the day that the crash counts on, not at today: a machine that was away may still tell what
// happened while its release was alive.
func isEndOfLife(rec crash.Record, known *crash.ReleaseTable) bool {
	return known.EndOfLife(rec.Release, rec.Day)
}

func isArmel(rec crash.Record, _ *crash.ReleaseTable) bool {
	return rec.Fields["Architecture"] == "armel"
}

// lacksPackage reports whether a package is missing that must be there. Apport adds one to every report that it lets
// out, kernels included, so without one the report is a torso and nobody could be told of it. Only what snapd sends by
// itself has none by nature: a failed refresh of a snap (Snap) and a failed repair of the system (Repair) concern no
// package; they bring a signature of their own.
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
