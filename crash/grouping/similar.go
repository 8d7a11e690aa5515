package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

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
