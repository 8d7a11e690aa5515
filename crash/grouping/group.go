package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Rules of our own, for reports to which apport gives no signature. Each lives in a file group_*.go with its reason.
//
// They have in common: a signature begins with the program (or package, or "kernel") and goes on with names that say where
// the fault is, parted by colons. Addresses, process ids, temporary names, line numbers and versions are left out, since
// they differ from machine to machine or from update to update. A rule that finds too little to tell two faults apart
// gives none: too many buckets can be merged by people, a bucket of many faults helps nobody.

// ownRule is one of them. sign gives "" where the rule has nothing to say; it tells the recorder what it took and left.
type ownRule struct {
	rule crash.Rule
	sign func(f crash.Fields, to *recorder) string
}

// ownRules stand before the address signature: they know names. The first that gives a signature decides.
var ownRules = [...]ownRule{
	{crash.RuleKernel, kernelSignature},
	{crash.RulePackage, packageSignature},
	{crash.RuleJava, javaSignature},
	{crash.RuleGoPanic, goPanicSignature},
	{crash.RuleRustPanic, rustPanicSignature},
	{crash.RuleCompiler, compilerSignature},
	{crash.RuleStackNames, stackNamesSignature},
	{crash.RulePython, pythonSignature},
	{crash.RuleSnap, snapSignature},
	{crash.RuleRecoverable, recoverableSignature},
}

// lastRules are for what has not even an address signature.
var lastRules = [...]ownRule{
	{crash.RuleStackPartial, stackPartialSignature},
	{crash.RuleHang, hangSignature},
}

// Limits of our own rules.
const (
	maxRead    = 1 << 20 // bytes of one field that are looked at
	maxMessage = 500     // code points of a message within a signature
	maxSymbol  = 1000    // code points of a name within a signature
	mostFrames = 5       // of one stack, as apport takes
)

// sign tries rules in turn.
func sign(rules []ownRule, f crash.Fields, to *recorder) crash.Grouping {
	for _, r := range rules {
		to.reset()
		if signature := r.sign(f, to); signature != "" {
			return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: r.rule}
		}
	}
	to.reset()
	return crash.Grouping{}
}

// subject is what a signature begins with: the program, else the package. Programs of snaps, Flatpaks and AppImages lie in a
// directory of their revision or of this run, "/snap/reef/123/bin/reef", "/tmp/.mount_reefAb3xY9/usr/bin/reef": that is left out.
func subject(f crash.Fields) string {
	if path := f["ExecutablePath"]; path != "" {
		return crash.Truncate(currentRevision(path), maxExecutable)
	}
	return crash.Truncate(pytext.FirstWord(crash.Truncate(f["Package"], maxWords)), maxName)
}

// currentRevision replaces the revision in the path of a snap by "current", the commit in that of a Flatpak by "active", and
// the random end of the directory where an AppImage is mounted.
func currentRevision(path string) string {
	if rest, ok := strings.CutPrefix(path, appImages); ok {
		directory, file, inside := strings.Cut(rest, "/")
		if inside && len(directory) > 6 {
			return appImages + directory[:len(directory)-6] + "/" + file
		}
		return path
	}
	if _, rest, ok := strings.Cut(path, "/flatpak/app/"); ok {
		if parts := strings.SplitN(rest, "/", 5); len(parts) == 5 && len(parts[3]) == 64 && pytext.Run(parts[3], isHex) == parts[3] {
			parts[3] = "active"
			return strings.TrimSuffix(path, rest) + strings.Join(parts, "/")
		}
		return path
	}
	for _, root := range [...]string{"/snap/", "/var/lib/snapd/snap/"} {
		rest, ok := strings.CutPrefix(path, root)
		if !ok {
			continue
		}
		name, rest, ok := strings.Cut(rest, "/")
		revision, file, inside := strings.Cut(rest, "/")
		if ok && inside && isRevision(revision) {
			return root + name + "/current/" + file
		}
	}
	return path
}

const appImages = "/tmp/.mount_"

// isRevision says whether a directory is named for a revision: "123", or "x1" of a snap that was not got from the store.
func isRevision(s string) bool {
	digits := strings.TrimPrefix(s, "x")
	return digits != "" && pytext.Run(digits, pytext.IsDigit) == digits
}

// tailOf is the end of a long text, where what happened last stands; whole lines.
func tailOf(s string) string {
	if len(s) <= maxRead {
		return s
	}
	_, rest, _ := strings.Cut(s[len(s)-maxRead:], "\n")
	return rest
}

// headOf is the beginning of a long text.
func headOf(s string) string { return s[:min(len(s), maxRead)] }

// join makes a signature of parts; control characters become blanks, empty parts are left out.
func join(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		part = strings.TrimSpace(plain(crash.Truncate(part, maxSymbol)))
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(part)
	}
	return b.String()
}

// plain replaces control characters by blanks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// recurring are the functions that make up an endless recursion, for a stack that ended because it was full: where in the
// circle it happened differs each time, so they come sorted, and what only stands at the end of the stack is left out.
func recurring(functions []string) []string {
	const often = 3
	seen := map[string]int{}
	var circle []string
	for _, name := range functions {
		if seen[name]++; seen[name] == often {
			circle = append(circle, name)
		}
	}
	return sortedCopy(circle, maxRecurring)
}

const maxRecurring = 12
