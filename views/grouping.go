package views

import (
	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/views/text"
)

// GroupingView explains why reports are grouped together: the rule for everyone; what the rule used and
// omitted of one report, for people who may see reports.
type GroupingView struct {
	Rule      crash.Rule
	Signature string       // of the bucket; empty on the page of a report
	Address   string       // the permanent address of the bucket, with the host; empty on the page of a report
	Report    crash.OopsID // of a bucket: the report that is explained; zero on the page of a report

	Explained *grouping.Explanation // by the present rules; nil: the person may not see it, or no report is stored
	Now       *PresentGrouping      // nil: the present rules give the report's own bucket
}

// PresentGrouping says where the present rules would put a report that is in another bucket.
type PresentGrouping struct {
	Bucket  crash.BucketID
	None    bool // in no bucket
	Known   bool // the bucket exists
	Rules   int  // version of the rules that grouped it
	Decided bool // the present rules grouped it, and a decision of a person moved it
}

func (g GroupingView) description() string {
	if description := g.Rule.Description(); description != "" {
		return description
	}
	if g.Explained != nil && g.Rule == crash.RuleNone && g.Explained.Reason != "" {
		return g.Explained.Reason
	}
	return text.GroupingUnknown
}

// used returns the frames in the signature, skipped returns the others.
func (g GroupingView) used() []grouping.FrameUse    { return g.frames(true) }
func (g GroupingView) skipped() []grouping.FrameUse { return g.frames(false) }

func (g GroupingView) frames(used bool) []grouping.FrameUse {
	var some []grouping.FrameUse
	for _, f := range g.Explained.Frames {
		if f.Used == used {
			some = append(some, f)
		}
	}
	return some
}

func (n PresentGrouping) sentence() string {
	if n.Decided {
		return text.GroupingMoved(n.None)
	}
	return text.GroupingOlder(n.Rules, n.None)
}
