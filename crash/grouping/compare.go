package grouping

import (
	"path"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
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

// Likeness is the degree of similarity of two problems.
type Likeness int

// The degrees, lowest first.
const (
	Unlike        Likeness = iota
	LikeSignature          // at least half of the functions of both are the same
	SameFunction           // the same function on top
	SameTopFrames          // the same two functions on top, in the same order
)

// SimilarProblem is a problem that is similar to another one.
type SimilarProblem struct {
	crash.Bucket
	Likeness Likeness
}

// The limits of a comparison: bytes of a signature, and names in it.
const (
	maxLikenessText  = 4096
	maxLikenessNames = 64
)

// String describes the degree in words, for people.
func (l Likeness) String() string {
	switch l {
	case SameTopFrames:
		return "same top frames"
	case SameFunction:
		return "same function on top"
	case LikeSignature:
		return "similar signature"
	case Unlike:
	}
	return ""
}

// LikenessTo returns a function that compares signatures with a by the functions that they name. It
// is fast, but only good enough to suggest problems to a person. It ignores functions that end
// programs or occur in most of them (abort, main, thread starts, glib's logging). If a signature is
// not a list of functions, it compares words.
func LikenessTo(a string) func(b string) Likeness {
	fa := functionsOf(a)
	return func(b string) Likeness {
		if len(fa) == 0 {
			return Unlike
		}
		return likeness(fa, functionsOf(b))
	}
}

func likeness(fa, fb []string) Likeness {
	if len(fb) == 0 {
		return Unlike
	}
	if fa[0] == fb[0] {
		if len(fa) > 1 && len(fb) > 1 && fa[1] == fb[1] {
			return SameTopFrames
		}
		return SameFunction
	}
	both, all := 0, 0
	for i, name := range fa {
		if slices.Contains(fa[:i], name) {
			continue
		}
		all++
		if slices.Contains(fb, name) {
			both++
		}
	}
	if both < 2 {
		return Unlike
	}
	for i, name := range fb {
		if !slices.Contains(fb[:i], name) && !slices.Contains(fa, name) {
			all++
		}
	}
	if 2*both >= all {
		return LikeSignature
	}
	return Unlike
}

// ubiquitous lists functions that say nothing about a fault.
var ubiquitous = map[string]bool{
	"main": true, "_start": true, "__libc_start_main": true, "__libc_start_call_main": true,
	"__libc_start_main_impl": true,
	"start_thread":           true, "clone": true, "clone3": true, "abort": true, "__GI_abort": true, "raise": true,
	"__GI_raise":                    true,
	"__pthread_kill_implementation": true, "pthread_kill": true, "g_main_loop_run": true, "g_main_context_iteration": true,
	"g_main_context_dispatch": true, "g_log": true, "g_logv": true, "??": true, signalHandler: true,
}

// functionsOf returns the names in a signature, without the leading program and signal or
// exception. It returns at most maxLikenessNames names.
func functionsOf(signature string) []string {
	if len(signature) > maxLikenessText {
		signature = strings.ToValidUTF8(signature[:maxLikenessText], "")
	}
	parts := splitSignature(signature)
	if strings.HasPrefix(signature, "/") && len(parts) > 2 {
		parts = parts[2:]
	}
	var names []string
	for _, part := range parts {
		if part = strings.TrimFunc(part, pytext.IsSpace); part != "" && !ubiquitous[part] {
			names = append(names, part)
		}
		if len(names) == maxLikenessNames {
			break
		}
	}
	return names
}

// splitSignature splits a signature at single colons; double ones belong to C++ names.
func splitSignature(s string) []string {
	if !strings.Contains(s, "::") {
		return strings.Split(s, ":")
	}
	const double = "\x00"
	parts := strings.Split(strings.ReplaceAll(s, "::", double), ":")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], double, "::")
	}
	return parts
}
