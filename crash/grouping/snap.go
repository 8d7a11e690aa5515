package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// snapSignature is the rule for reports of snapd: a snap that could not be installed or refreshed,
// or a repair that failed. snapd usually adds a DuplicateSignature. Otherwise the signature
// consists of "snap" or "repair", its name, and the error without revisions and task numbers. Such
// reports have no package.
func snapSignature(f crash.Fields, rec *recorder) string {
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
		rec.read("ErrorMessage")
		rec.markAll("ErrorMessage", message)
		return join(strings.ToLower(kind), crash.Truncate(name, maxName), withoutSnapRevision(normalise(message, rec), name))
	}
	return ""
}

// withoutSnapRevision removes the revision from the names of units: "snap-reef-123.mount".
func withoutSnapRevision(message, name string) string {
	return strings.ReplaceAll(message, "snap-"+name+"-VERSION", "snap-"+name+"-N")
}

// recoverableSignature is the rule for problems that programs detect themselves and report without
// a DuplicateSignature. The signature consists of the program, "recoverable", and the normalised
// message to the user.
func recoverableSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	if f["ProblemType"] != "RecoverableProblem" || program == "" {
		return ""
	}
	for _, field := range [...]string{"ErrorMessage", "DialogBody", "Title"} {
		if message := f[field]; strings.TrimSpace(message) != "" {
			rec.read(field)
			rec.markAll(field, message)
			return join(program, "recoverable", normalise(message, rec))
		}
	}
	return ""
}
