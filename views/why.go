package views

import (
	"strconv"

	"mishap/crash"
	"mishap/crash/grouping"
)

// WhyPart says why reports are grouped together: the rule for everybody; what the rule took of one report, and left, for
// people who may see reports.
type WhyPart struct {
	Rule      crash.Rule
	Signature string       // of the bucket; empty on the page of a report
	Address   string       // the permanent address of the bucket, with the host; empty on the page of a report
	Report    crash.OopsID // of a bucket: which of its reports is explained; zero on the page of a report

	Explained *grouping.Explanation // by today's rules; nil: the person may not see it, or no report is stored
	Now       *WhyNow               // nil: today's rules give the bucket that the report is in
}

// WhyNow is where today's rules would put a report that is in another bucket.
type WhyNow struct {
	Bucket  crash.BucketID
	None    bool // in none
	Known   bool // there is such a bucket
	Rules   int  // the version of the rules that grouped it
	Decided bool // it was grouped by today's rules: people, or a standing decision of theirs, took it elsewhere
}

func (w WhyPart) description() string {
	if text := w.Rule.Description(); text != "" {
		return text
	}
	if w.Explained != nil && w.Rule == crash.RuleNone && w.Explained.Reason != "" {
		return w.Explained.Reason
	}
	return "The rule is not known."
}

// used are the frames that went into the signature, skipped those that did not.
func (w WhyPart) used() []grouping.FrameUse    { return w.frames(true) }
func (w WhyPart) skipped() []grouping.FrameUse { return w.frames(false) }

func (w WhyPart) frames(used bool) []grouping.FrameUse {
	var some []grouping.FrameUse
	for _, f := range w.Explained.Frames {
		if f.Used == used {
			some = append(some, f)
		}
	}
	return some
}

func (n WhyNow) sentence() string {
	switch {
	case n.Decided:
		return "By the rules alone it would be in another problem: people decided where it belongs."
	case n.None:
		return "It was grouped by version " + strconv.Itoa(n.Rules) + " of the rules; today's would not group it."
	default:
		return "It was grouped by version " + strconv.Itoa(n.Rules) + " of the rules. By today's it would now be in"
	}
}
