package problems

import (
	"cmp"
	"fmt"
	"slices"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/views/layout"
)

// Family holds the twins of a problem, for its page.
type Family struct {
	Bucket    crash.Bucket
	Twins     []grouping.Twin
	Head      crash.Bucket // the main problem after a merge
	MayDecide bool         // about all of them
	OneKey    bool         // merging them needs no preview
	CSRFToken string
}

func (f Family) means() string {
	n := int64(len(f.Twins))
	return fmt.Sprintf("%s probably the same fault: the stacks differ only by the compiler, or by the depth of recursion.",
		crash.Counted(n, "problem with another signature is", "problems with other signatures are"))
}

// ids returns the ids of the problem and its twins.
func (f Family) ids() []crash.BucketID {
	ids := []crash.BucketID{f.Bucket.ID}
	for _, t := range f.Twins {
		ids = append(ids, t.ID)
	}
	return ids
}

func (f Family) mergeLabel() string {
	return fmt.Sprintf("Merge these %d problems", len(f.Twins)+1)
}

// reason says why a problem is a twin.
func (f Family) reason(t grouping.Twin) string {
	if t.Like == f.Bucket.ID {
		return t.Reason
	}
	i := slices.IndexFunc(f.Twins, func(other grouping.Twin) bool { return other.ID == t.Like })
	if i < 0 {
		return t.Reason
	}
	return "like " + layout.Cut(layout.ReadSignature(f.Twins[i].Bucket).String(), 100) + ", but " + t.Reason
}

// seenBy says how often a problem was seen, and in which versions.
func seenBy(b crash.Bucket) string {
	text := crash.Counted(b.Reports, "report", "reports")
	if b.Systems > 0 {
		text += " of " + crash.Counted(b.Systems, "machine", "machines")
	}
	first, last := cmp.Or(b.First().Version, b.Last().Version), cmp.Or(b.Last().Version, b.First().Version)
	switch first {
	case "":
		return text
	case last:
		return text + ", version " + first
	}
	return text + ", first in " + first + ", last in " + last
}
