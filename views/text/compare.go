package text

import "strings"

// Texts of the page that compares two stacks.
const (
	Representative    = "representative report of the problem"
	SwapSides         = "Swap A and B"
	SideA             = "A"
	SideB             = "B"
	Difference        = "Difference"
	Function          = "Function"
	Place             = "Place"
	Frames            = "Frames"
	SymbolsMissing    = "Debug symbols are missing"
	FrameSame         = "same"
	FrameOtherPlace   = "at another place"
	FrameOnlyA        = "only in A"
	FrameOnlyB        = "only in B"
	NoStackInEither   = "Neither report has a stack."
	SelectAnother     = "This is the representative report of the problem. Select another one to compare it with."
	SelectTwoOrOne    = "Select two reports to compare their stacks, or one to compare it with the representative report."
	noDifferenceBegin = "The stacks are the same: "
)

// StackDifferences says in one sentence how two stacks differ, given the numbers of frames.
func StackDifferences(same, otherPlace, onlyA, onlyB int) string {
	if otherPlace+onlyA+onlyB == 0 {
		if same == 0 {
			return NoStackInEither
		}
		return noDifferenceBegin + Counted(int64(same), "frame", "frames") + "."
	}
	parts := []string{Counted(int64(same), "frame is", "frames are") + " the same"}
	for _, d := range []struct {
		n    int
		word string
	}{{otherPlace, FrameOtherPlace}, {onlyA, FrameOnlyA}, {onlyB, FrameOnlyB}} {
		if d.n > 0 {
			parts = append(parts, Count(int64(d.n))+" "+d.word)
		}
	}
	return strings.Join(parts, ", ") + "."
}
