package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// packageSignature is the rule for packages that could not be installed, upgraded or removed.
// Apport has no such rule: Ubuntu's hook adds a DuplicateSignature with the whole log of the
// package, so each version, kernel and file name makes a separate bucket. Reports of other
// distributions have no signature.
//
// The signature consists of "package:", the package, the failed step (preinst, postinst, prerm,
// postrm, unpack, trigger, dependency, configure, remove), and the normalised error. The error is
// dpkg's message. If that only says that a script failed, the first error line of the script is
// added. Translated messages of dpkg make separate buckets.
func packageSignature(f crash.Fields, rec *recorder) string {
	if f["ProblemType"] != "Package" {
		return ""
	}
	name := packageName(f)
	message := lastLine(headOf(f["ErrorMessage"]))
	tail := tailOf(f["DpkgTerminalLog"])
	log := readPackageLog(tail, offsetIn(f["DpkgTerminalLog"], tail), name)
	if message == "" {
		message = log.message
	}
	if name == "" || message == "" && log.complaint == "" {
		return ""
	}
	step := packageStep(message, log.action)
	complaint := ""
	if isScriptFailure(message) || step == "dependency" || message == "" {
		complaint = log.complaint
	}
	rec.read("ErrorMessage")
	markPackage(f, message, complaint, log, rec)
	return join("package", name, step, failure(message, rec), normalise(complaint, rec))
}

// markPackage marks the lines that the rule used: the last line of the message and, in the log,
// dpkg's error and the complaint.
func markPackage(f crash.Fields, message, complaint string, log packageLog, rec *recorder) {
	if head := headOf(f["ErrorMessage"]); message != "" && strings.Contains(head, message) {
		rec.mark("ErrorMessage", strings.LastIndex(head, message))
	}
	const field = "DpkgTerminalLog"
	if f[field] != "" {
		rec.addPassage(field)
	}
	if log.found {
		rec.mark(field, log.errorAt)
		if log.message != "" {
			rec.mark(field, log.messageAt)
		}
	}
	if complaint != "" {
		rec.read(field)
		rec.mark(field, log.complaintAt)
		rec.use(complaint, normalise(complaint, nil))
	}
}

// packageName returns the name of the package, without the version that names of kernel packages
// contain.
func packageName(f crash.Fields) string {
	name := crash.Truncate(pytext.FirstWord(crash.Truncate(f["Package"], maxWords)), maxName)
	if strings.HasPrefix(name, "linux-") {
		name = normaliseName(name)
	}
	return name
}

func failure(message string, rec *recorder) string {
	if isScriptFailure(message) {
		status := lastNumber(message)
		if _, signal, ok := strings.Cut(message, "killed by signal ("); ok {
			signal, _, _ = strings.Cut(signal, ")")
			return "killed by signal " + signal
		}
		if status != "" {
			return rec.change(message, "exit status "+status)
		}
	}
	for _, reason := range anyFileErrors {
		if strings.HasSuffix(strings.TrimSuffix(message, ")"), reason) {
			return rec.change(message, reason)
		}
	}
	return normalise(message, rec)
}

// anyFileErrors lists ends of messages about a full or broken disk, or a damaged archive. The file
// that dpkg was writing at that moment is a coincidence, so signatures omit it.
var anyFileErrors = [...]string{
	"No space left on device", "Read-only file system", "Input/output error", "Structure needs cleaning",
	"Disk quota exceeded", "unexpected end of file or stream", "unexpected end of file", "compressed data is corrupt",
	"data integrity error", "corrupted filesystem tarfile - corrupted package archive",
}

// lastNumber returns the last number of at most three digits in s. dpkg's messages end in the exit
// status, in every language.
func lastNumber(s string) string {
	end := strings.LastIndexFunc(s, pytext.IsDigit) + 1
	start := strings.LastIndexFunc(s[:end], func(r rune) bool { return !pytext.IsDigit(r) }) + 1
	if end-start > 3 {
		return ""
	}
	return s[start:end]
}

// isScriptFailure reports whether dpkg only says that a script of the package failed. Such messages
// name the script, and state the signal or end in the exit status, in every language.
func isScriptFailure(message string) bool {
	return scriptStep(message) != "" && (strings.Contains(message, "killed by signal") ||
		pytext.IsDigit(pytext.LastRune(message)))
}

func scriptStep(message string) string {
	for _, s := range [...]struct{ word, step string }{
		{"pre-installation", "preinst"}, {"post-installation", "postinst"}, {"pre-removal", "prerm"},
		{"post-removal", "postrm"},
		{"preinst", "preinst"}, {"postinst", "postinst"}, {"prerm", "prerm"}, {"postrm", "postrm"},
	} {
		if strings.Contains(message, s.word) {
			return s.step
		}
	}
	return ""
}

func packageStep(message, action string) string {
	if step := scriptStep(message); step != "" {
		return step
	}
	switch {
	case strings.Contains(message, "trigger"):
		return "trigger"
	case strings.Contains(message, "dependency problems"), strings.Contains(message, "dependencies"):
		return "dependency"
	case strings.Contains(message, "overwrite"), strings.Contains(message, ".dpkg-new"),
		strings.Contains(message, "dpkg-deb"), strings.Contains(message, "archive"),
		strings.Contains(message, "tarfile"), strings.Contains(message, "extracted"), strings.Contains(message, "unpack"):
		return "unpack"
	case action != "":
		return action
	}
	return "failed"
}

type packageLog struct {
	action    string // "configure"
	message   string // dpkg's message
	complaint string // the script's message

	found                           bool // the log has dpkg's error
	errorAt, messageAt, complaintAt int  // offsets of these lines
}

// readPackageLog finds the last failure of a package in dpkg's log: "dpkg: error processing package
// NAME (--configure):", the message on the next line, and the output of the package's scripts
// before it.
func readPackageLog(log string, base int, name string) packageLog {
	var found, current packageLog
	last, lastAt, expect := "", 0, false
	for at, line := range linesAt(log, base) {
		text := strings.TrimSpace(line)
		if i := strings.LastIndexByte(text, '\r'); i >= 0 {
			text = text[i+1:]
		}
		if text == "" {
			continue
		}
		if expect {
			found.message, found.messageAt, expect = text, at, false
			continue
		}
		if action, ok := dpkgError(text, name); ok {
			found, expect = packageLog{action: action, complaint: current.complaint, complaintAt: current.complaintAt,
				found: true, errorAt: at}, true
			if found.complaint == "" {
				found.complaint, found.complaintAt = last, lastAt
			}
			current, last = packageLog{}, ""
			continue
		}
		switch {
		case startsStep(text):
			current, last = packageLog{}, ""
		case current.complaint == "" && complains(text):
			current.complaint, current.complaintAt = text, at
		default:
			last, lastAt = text, at
		}
	}
	return found
}

// dpkgError parses "dpkg: error processing package NAME (--configure):" and "dpkg: error processing
// archive /var/cache/apt/archives/NAME_1.2_all.deb (--unpack):". The option follows the name in
// other languages, too.
func dpkgError(text, name string) (action string, ok bool) {
	rest, ok := strings.CutPrefix(text, "dpkg: ")
	if !ok {
		return "", false
	}
	open := strings.LastIndex(rest, "(--")
	if open < 0 {
		return "", false
	}
	what := strings.TrimSpace(rest[:open])
	what = what[strings.LastIndexAny(what, "/ ")+1:]
	what = numberedArchive(what)
	what, _, _ = strings.Cut(what, "_")
	what, _, _ = strings.Cut(what, ":")
	if strings.HasPrefix(what, "linux-") {
		what = normaliseName(what)
	}
	if what != name {
		return "", false
	}
	action, _, _ = strings.Cut(rest[open+len("(--"):], ")")
	return crash.Truncate(action, 20), true
}

// startsStep matches lines by which dpkg starts a new step. Earlier output of scripts belongs to
// another step.
func startsStep(text string) bool {
	return hasAnyPrefix(text, "Setting up ", "Unpacking ", "Preparing to unpack ", "Removing ", "Purging ",
		"Processing triggers for ", "Selecting previously ")
}

// complaints lists words, in lower case, that mark lines in which a script states an error.
var complaints = [...]string{"error", "fail", "cannot", "can't", "unable", "not found", "no such", "denied", "invalid",
	"fatal", "abort", "no space", "segmentation", "exception", "depends on", "missing", "refus", "not permitted",
	"unrecognized", "undefined", "unknown"}

// commonComplaints lists the beginnings of complaints that occur in many logs, even without a
// failure.
var commonComplaints = [...]string{"w:", "debconf:", "locale:", "perl:", "dpkg-preconfigure:", "apt-listchanges:",
	"apt-extracttemplates:", "invoke-rc.d: policy-rc.d", "invoke-rc.d: could not determine", "bash: warning"}

// complains reports whether a line states an error. It returns false for warnings, after which
// scripts continue.
func complains(text string) bool {
	text = strings.ToLower(crash.Truncate(withoutSyslog(text), maxMessage))
	if strings.Contains(text, "warning") || hasAnyPrefix(text, commonComplaints[:]...) {
		return false
	}
	return strings.HasPrefix(text, "e:") ||
		slices.ContainsFunc(complaints[:], func(word string) bool { return strings.Contains(text, word) })
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexAny(s, "\n\r")+1:])
}

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
		// The revision is part of the names of units: "snap-reef-123.mount".
		message = strings.ReplaceAll(normalise(message, rec), "snap-"+name+"-VERSION", "snap-"+name+"-N")
		return join(strings.ToLower(kind), crash.Truncate(name, maxName), message)
	}
	return ""
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
