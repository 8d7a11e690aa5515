package problems

import (
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
	Representative bool // First is the representative report of the problem
	Frames         []grouping.FramePair
	Facts          []DifferentFact
}

// DifferentFact is a property in which the two reports differ.
type DifferentFact struct {
	Field         stats.FacetField
	First, Second string
}

// count returns the number of lines with a difference.
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
	return stackDifferences(p.count(grouping.SameFrame), p.count(grouping.OtherPlace), p.count(grouping.OnlyInFirst),
		p.count(grouping.OnlyInSecond))
}

// swapped returns the address of the comparison with the reports exchanged.
func (p ComparePage) swapped() string {
	return ComparePath(p.Bucket.ID) + "?report=" + p.Second.ID.String() + "&report=" + p.First.ID.String()
}

func differenceWord(d grouping.FrameDifference) string {
	switch d {
	case grouping.OtherPlace:
		return "at another place"
	case grouping.OnlyInFirst:
		return "only in A"
	case grouping.OnlyInSecond:
		return "only in B"
	case grouping.SameFrame:
	}
	return "same"
}

func differenceClass(d grouping.FrameDifference) string {
	switch d {
	case grouping.OtherPlace:
		return "diff-place"
	case grouping.OnlyInFirst:
		return "diff-first"
	case grouping.OnlyInSecond:
		return "diff-second"
	case grouping.SameFrame:
	}
	return "diff-same"
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

const frameOnlyA = "only in A"

const frameOnlyB = "only in B"

const frameOtherPlace = "at another place"

const noStackInEither = "Neither report has a stack."

// stackDifferences says in one sentence how two stacks differ, given the numbers of frames.
func stackDifferences(same, otherPlace, onlyA, onlyB int) string {
	if otherPlace+onlyA+onlyB == 0 {
		if same == 0 {
			return noStackInEither
		}
		return noDifferenceBegin + crash.Counted(int64(same), "frame", "frames") + "."
	}
	parts := []string{crash.Counted(int64(same), "frame is", "frames are") + " the same"}
	for _, d := range []struct {
		n    int
		word string
	}{{otherPlace, frameOtherPlace}, {onlyA, frameOnlyA}, {onlyB, frameOnlyB}} {
		if d.n > 0 {
			parts = append(parts, crash.Count(int64(d.n))+" "+d.word)
		}
	}
	return strings.Join(parts, ", ") + "."
}

const noDifferenceBegin = "The stacks are the same: "
