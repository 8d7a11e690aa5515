package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// snapSignature is the rule for what snapd reports: a snap that could not be installed or refreshed, a repair that failed.
// snapd gives them a DuplicateSignature; when there is none: "snap" or "repair", its name, and the whole error
// without what differs (revisions, numbers of tasks). They have no package.
func snapSignature(f crash.Fields, to *recorder) string {
	message := f["ErrorMessage"]
	if message == "" {
		return ""
	}
	switch kind := f["ProblemType"]; kind {
	case "Snap", "Repair":
		name := pytext.FirstWord(crash.Truncate(f[kind], maxWords))
		if name == "" {
			return ""
		}
		to.read("ErrorMessage")
		to.markAll("ErrorMessage", message)
		return join(strings.ToLower(kind), crash.Truncate(name, maxName), withoutSnapRevision(normalise(message, to), name))
	}
	return ""
}

// withoutSnapRevision takes the revision out of the names of units, "snap-reef-123.mount".
func withoutSnapRevision(message, name string) string {
	return strings.ReplaceAll(message, "snap-"+name+"-VERSION", "snap-"+name+"-N")
}

// recoverableSignature is the rule for problems that programs notice themselves, and report without the DuplicateSignature
// that they should give: the program, "recoverable", and what they told the user, without what differs.
func recoverableSignature(f crash.Fields, to *recorder) string {
	program := subject(f)
	if f["ProblemType"] != "RecoverableProblem" || program == "" {
		return ""
	}
	for _, field := range [...]string{"ErrorMessage", "DialogBody", "Title"} {
		if message := f[field]; strings.TrimSpace(message) != "" {
			to.read(field)
			to.markAll(field, message)
			return join(program, "recoverable", normalise(message, to))
		}
	}
	return ""
}
