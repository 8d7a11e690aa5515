package problems

import (
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// GroupingView explains why reports are grouped together: the rule for everyone; what the rule used and
// omitted of one report, for people who may see reports.
type GroupingView struct {
	Rule      crash.GroupingRule
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

// Description says what the rule does, or why no rule applied.
func (g GroupingView) Description() string {
	if description := g.Rule.Description(); description != "" {
		return description
	}
	if g.Explained != nil && g.Rule == crash.RuleNone && g.Explained.Reason != "" {
		return g.Explained.Reason
	}
	return "The rule is unknown."
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

// Sentence introduces the problem into which the rules would put the report.
func (n PresentGrouping) Sentence() string {
	text := "The rules alone "
	if !n.Decided {
		text = "Version " + strconv.Itoa(n.Rules) + " of the rules grouped it. The current rules "
	}
	if n.None {
		return text + "would not group it."
	}
	return text + "would put it into"
}

// StatusView holds the status of a problem for its page: in words, its bugs, and whether filing is
// likely to help.
type StatusView struct {
	Status crash.Status
	Bugs   bugs.BugsView
	Manual ManualView   // beside Status, never mixed with it
	Advice stats.Advice // empty if filing is not offered
	Admin  bool         // the person may see the page about symbols
	Now    time.Time
}

// IsStatusTarget reports whether the request header HX-Target names the part of StatusPart.
func IsStatusTarget(header string) bool { return header == "div#"+layout.StatusID }

// named reports whether the page of a problem shows the word of its status. The word adds nothing
// for most problems.
func named(w crash.StateWord) bool { return w != crash.StateNone && w != crash.StateUnfiled }

// beginsWithWord reports whether the headline begins with the word of the status, so that the mark alone
// stands before it.
func beginsWithWord(s crash.Status) bool {
	return strings.HasPrefix(strings.ToLower(s.Headline()), string(s.Word)+" ")
}

// visibleReleases is the number of releases that the status describes without unfolding.
const visibleReleases = 3

// firstReleases returns the releases that the status describes at once, otherReleases the others.
func (v StatusView) firstReleases() []crash.ReleaseStatus {
	return v.Status.Releases[:min(len(v.Status.Releases), visibleReleases)]
}

func (v StatusView) otherReleases() []crash.ReleaseStatus {
	return v.Status.Releases[len(v.firstReleases()):]
}
