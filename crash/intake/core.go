package intake

import (
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

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
		Packages:   []string{strings.Clone(rec.Package), strings.Clone(rec.SourcePackage)}}
}
