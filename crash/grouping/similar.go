package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Likeness says how much two problems look like one fault.
type Likeness int

// The degrees, lowest first.
const (
	Unlike        Likeness = iota
	LikeSignature          // at least half of the functions of both are the same
	SameFunction           // the same function on top
	SameTopFrames          // the same two functions on top, in the same order
)

// SimilarProblem is another problem that looks like one, and its bug.
type SimilarProblem struct {
	crash.Bucket
	Likeness Likeness
}

// So much of a signature is compared: bytes of it, and names.
const (
	maxLikenessText  = 4096
	maxLikenessNames = 64
)

// String says it in words, for people.
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

// LikenessTo returns a function that compares signatures with a by the functions they name: cheap, blind to everything else, and only good enough to
// show a person what to look at. Functions through which programs end or that are everywhere (abort, main, the start of
// threads, glib's logging) do not count. Of signatures that are no list of functions, the words are compared.
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

// everywhere are functions that say nothing about a fault.
var everywhere = map[string]bool{
	"main": true, "_start": true, "__libc_start_main": true, "__libc_start_call_main": true, "__libc_start_main_impl": true,
	"start_thread": true, "clone": true, "clone3": true, "abort": true, "__GI_abort": true, "raise": true, "__GI_raise": true,
	"__pthread_kill_implementation": true, "pthread_kill": true, "g_main_loop_run": true, "g_main_context_iteration": true,
	"g_main_context_dispatch": true, "g_log": true, "g_logv": true, "??": true, signalHandler: true,
}

// functionsOf are the names that a signature is made of, without the program and the signal or exception in front.
//
// A signature that names very many is compared by its first ones.
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
		if part = strings.TrimFunc(part, pytext.IsSpace); part != "" && !everywhere[part] {
			names = append(names, part)
		}
		if len(names) == maxLikenessNames {
			break
		}
	}
	return names
}

// splitSignature parts a signature at single colons: the double ones of C++ belong to names.
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
