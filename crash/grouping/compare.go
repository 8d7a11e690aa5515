package grouping

import (
	"path"
	"slices"

	"mishap/crash"
)

// FrameDifference says how two stacks differ in one line of their comparison.
type FrameDifference int

// The differences.
const (
	SameFrame   FrameDifference = iota
	OtherPlace                  // the same function, at another place: line, file or module
	OnlyInFirst                 // a frame of the first stack only
	OnlyInSecond
)

// FramePair is one line of the comparison of two stacks. A frame of one stack only has no
// counterpart, which is nil.
type FramePair struct {
	First, Second *Frame
	Difference    FrameDifference
}

// maxCompared is the number of frames of each stack that CompareFrames aligns. The time that it
// takes grows with the square.
const maxCompared = 400

// CompareFrames aligns two stacks by the longest common subsequence of their functions. Frames
// without a name count as the same function if they are in the same module.
func CompareFrames(first, second []Frame) []FramePair {
	first, second = first[:min(len(first), maxCompared)], second[:min(len(second), maxCompared)]
	// common[i][j] is the length of the longest common subsequence of first[i:] and second[j:].
	common := make([][]int, len(first)+1)
	for i := range common {
		common[i] = make([]int, len(second)+1)
	}
	for i := len(first) - 1; i >= 0; i-- {
		for j := len(second) - 1; j >= 0; j-- {
			if sameFunction(first[i], second[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var pairs []FramePair
	i, j := 0, 0
	for i < len(first) || j < len(second) {
		switch {
		case i < len(first) && j < len(second) && sameFunction(first[i], second[j]):
			pair := FramePair{First: &first[i], Second: &second[j]}
			if !samePlace(first[i], second[j]) {
				pair.Difference = OtherPlace
			}
			pairs = append(pairs, pair)
			i, j = i+1, j+1
		case j == len(second) || i < len(first) && common[i+1][j] >= common[i][j+1]:
			pairs = append(pairs, FramePair{First: &first[i], Difference: OnlyInFirst})
			i++
		default:
			pairs = append(pairs, FramePair{Second: &second[j], Difference: OnlyInSecond})
			j++
		}
	}
	return pairs
}

func sameFunction(a, b Frame) bool {
	if a.Named() != b.Named() {
		return false
	}
	if !a.Named() {
		return path.Base(a.Module) == path.Base(b.Module)
	}
	return a.Function == b.Function
}

// samePlace reports whether two frames of one function are at the same place. A place that one of
// them lacks is no difference.
func samePlace(a, b Frame) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && path.Base(a) != path.Base(b) }
	return !differ(a.Module, b.Module) && !differ(a.File, b.File) && (a.Line == b.Line || a.Line == 0 || b.Line == 0)
}

// AnyFrames returns the frames of the crashed thread with their modules, or those of all parts of
// the traceback if there is no stack.
func AnyFrames(f crash.Fields) []Frame {
	if frames := Frames(f); len(frames) > 0 {
		return WithModules(frames, f["ProcMaps"])
	}
	return tracebackFrames(f)
}

func tracebackFrames(f crash.Fields) []Frame {
	var frames []Frame
	for _, part := range Tracebacks(f) {
		frames = slices.Concat(frames, part.Frames)
	}
	return frames
}
