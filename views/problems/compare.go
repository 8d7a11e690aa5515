package problems

import (
	"cmp"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// ComparePage compares the stacks of two reports.
type ComparePage struct {
	Shell          layout.Shell
	Bucket         crash.Bucket
	First, Second  crash.ReportRow
	Representative crash.OopsID // the representative report of the problem; zero: none is stored
	Frames         []grouping.FramePair
	Facts          []DifferentFact
}

// DifferentFact is a property in which the two reports differ.
type DifferentFact struct {
	Field         stats.FacetField
	First, Second string
}

func (p ComparePage) count(d grouping.FrameDifference) (n int) {
	for _, pair := range p.Frames {
		if pair.Difference == d {
			n++
		}
	}
	return n
}

// summary says in one sentence how the stacks differ.
func (p ComparePage) summary() string {
	same := p.count(grouping.SameFrame)
	if same == len(p.Frames) {
		if same == 0 {
			return "Neither report has a stack."
		}
		return "The stacks are the same: " + crash.Counted(int64(same), "frame", "frames") + "."
	}
	parts := []string{crash.Counted(int64(same), "frame is", "frames are") + " the same"}
	for _, d := range []grouping.FrameDifference{grouping.OtherPlace, grouping.OnlyInFirst, grouping.OnlyInSecond} {
		if n := p.count(d); n > 0 {
			parts = append(parts, crash.Count(int64(n))+" "+differences[d].word)
		}
	}
	return strings.Join(parts, ", ") + "."
}

func (p ComparePage) swapped() string {
	return ComparePath(p.Bucket.ID) + "?report=" + p.Second.ID.String() + "&report=" + p.First.ID.String()
}

// differences are the words and classes of lines.
var differences = map[grouping.FrameDifference]struct{ word, class string }{
	grouping.SameFrame:    {"same", "diff-same"},
	grouping.OtherPlace:   {"at another place", "diff-place"},
	grouping.OnlyInFirst:  {"only in A", "diff-first"},
	grouping.OnlyInSecond: {"only in B", "diff-second"},
}

// either returns the frame of the first stack, or else that of the second.
func either(pair grouping.FramePair) grouping.Frame {
	if pair.First != nil {
		return *pair.First
	}
	return *pair.Second
}

// frameNumber returns the number of a frame, or nothing if the stack lacks it.
func frameNumber(f *grouping.Frame) string {
	if f == nil {
		return ""
	}
	return strconv.Itoa(f.Number)
}

// place returns the module and the source of a frame: "libtide.so.2, parse.c:88".
func place(f *grouping.Frame) string {
	if f == nil {
		return ""
	}
	var parts []string
	for _, part := range []string{module(*f), source(*f)} {
		if part != "" {
			parts = append(parts, layout.Cut(part, 100))
		}
	}
	return strings.Join(parts, ", ")
}

// Comparison compares two versions of a package.
type Comparison struct {
	A, B   *PackageVersion // nil: fewer than two versions
	Ratio  stats.RateRatio // of A to B
	New    []ListRow
	Gone   []ListRow
	Newer  *PackageVersion // A or B: the one that New and Gone are about; nil: the releases differ
	Older  *PackageVersion
	Notice string // why it shows other versions than those asked for
}

func versionKey(v PackageVersion) string { return string(v.Release) + "/" + v.Version }

// Compare returns the comparison of the versions with the keys a and b, as in forms. Without a key,
// it takes the newest version, and the one before it.
func (p PackagePage) Compare(a, b string) Comparison {
	if len(p.Versions) < 2 {
		return Comparison{}
	}
	var c Comparison
	find := func(key string) *PackageVersion {
		for i := range p.Versions {
			if key != "" && versionKey(p.Versions[i]) == key {
				return &p.Versions[i]
			}
		}
		if key != "" {
			c.Notice = "That version is not listed below, so the newest one is shown instead."
		}
		return nil
	}
	c.A, c.B = cmp.Or(find(a), &p.Versions[0]), find(b)
	if c.B == nil {
		c.B = p.before(c.A)
	}
	c.Ratio = c.A.Rate.Times(c.B.Rate)
	if c.A == c.B {
		c.Notice = "A and B are the same version. Choose two different ones."
	}
	if c.A.Release != c.B.Release || c.A == c.B {
		return c
	}
	if c.Newer, c.Older = c.A, c.B; c.A.Release.VersionOrder().Compare(c.A.Version, c.B.Version) < 0 {
		c.Newer, c.Older = c.B, c.A
	}
	c.New, c.Gone = p.changes(c.Newer, c.Older)
	return c
}

// before returns the version before v in its release, else the next one in the table.
func (p PackagePage) before(v *PackageVersion) *PackageVersion {
	for i := range p.Versions {
		if &p.Versions[i] != v {
			continue
		}
		if i+1 < len(p.Versions) {
			return &p.Versions[i+1]
		}
		return &p.Versions[i-1]
	}
	return v
}

// changes returns the problems that appeared and disappeared in the versions above older, up to and
// including newer.
func (p PackagePage) changes(newer, older *PackageVersion) (appeared, gone []ListRow) {
	within := false
	for i := range p.Versions {
		v := &p.Versions[i]
		within = within || v == newer
		if v == older {
			break
		}
		if within {
			appeared, gone = append(appeared, v.New...), append(gone, v.Gone...)
		}
	}
	// A problem that appeared and disappeared in between is neither new nor gone.
	return without(appeared, gone), without(gone, appeared)
}

// without returns the problems of all that are not among others.
func without(all, others []ListRow) []ListRow {
	known := map[crash.BucketID]bool{}
	for _, p := range others {
		known[p.ID] = true
	}
	var rest []ListRow
	for _, p := range all {
		if !known[p.ID] {
			rest = append(rest, p)
		}
	}
	return rest
}

// letter returns the letter of a version in the comparison: A, B or none.
func (c Comparison) letter(v PackageVersion) string {
	switch {
	case c.A != nil && versionKey(*c.A) == versionKey(v):
		return "A"
	case c.B != nil && versionKey(*c.B) == versionKey(v):
		return "B"
	}
	return ""
}

// compareURL returns the address of the comparison of a version with the previous one.
func (p PackagePage) compareURL(i int) string {
	return CompareURL(p.Name, versionKey(p.Versions[i]), versionKey(p.Versions[i+1]))
}

// fewReports is a number of reports with which an interval is too wide to set the scale of the bars.
const fewReports = 5

// rateScale returns the rate at the right end of interval bars. Longer intervals are cut off.
func (p PackagePage) rateScale() float64 {
	var most, high float64
	for _, v := range p.Versions {
		high = max(high, v.Rate.High)
		if v.Reports >= fewReports {
			most = max(most, v.Rate.High)
		}
	}
	return cmp.Or(most, high)
}

// percent returns the place of a value on a scale: "12.5%".
func percent(value, scale float64) string {
	if scale <= 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*min(value/scale, 1), 'f', 1, 64) + "%"
}

func versionName(v *PackageVersion) string {
	return v.Version + " (" + strings.TrimSpace(layout.ShortRelease(v.Release)) + ")"
}
