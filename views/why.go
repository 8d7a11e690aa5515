package views

import (
	"strconv"

	"mishap/crash"
	"mishap/crash/grouping"
)

// WhyPart explains why reports are grouped together: the rule for everyone; what the rule used and
// omitted of one report, for people who may see reports.
type WhyPart struct {
	Rule      crash.Rule
	Signature string       // of the bucket; empty on the page of a report
	Address   string       // the permanent address of the bucket, with the host; empty on the page of a report
	Report    crash.OopsID // of a bucket: the report that is explained; zero on the page of a report

	Explained *grouping.Explanation // by the present rules; nil: the person may not see it, or no report is stored
	Now       *WhyNow               // nil: the present rules give the report's own bucket
}

// WhyNow says where the present rules would put a report that is in another bucket.
type WhyNow struct {
	Bucket  crash.BucketID
	None    bool // in no bucket
	Known   bool // the bucket exists
	Rules   int  // version of the rules that grouped it
	Decided bool // the present rules grouped it, and a decision of a person moved it
}

func (w WhyPart) description() string {
	if text := w.Rule.Description(); text != "" {
		return text
	}
	if w.Explained != nil && w.Rule == crash.RuleNone && w.Explained.Reason != "" {
		return w.Explained.Reason
	}
	return "The rule is unknown."
}

// used returns the frames in the signature, skipped returns the others.
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
		return "People decided where it belongs. The rules alone would put it into another problem."
	case n.None:
		return "It was grouped by version " + strconv.Itoa(n.Rules) + " of the rules. The present rules would not group it."
	default:
		return "It was grouped by version " + strconv.Itoa(n.Rules) + " of the rules. The present rules would put it into"
	}
}
