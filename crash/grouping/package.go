package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// packageSignature is the rule for packages that could not be installed, upgraded or removed. Apport has none, since
// Ubuntu's hook puts a DuplicateSignature into such reports, with the whole log of the package in it, so that every
// version, kernel and file name makes another bucket; other distributions' reports have nothing.
//
// "package:", the package, the step that failed (preinst, postinst, prerm, postrm, unpack, trigger, dependency, configure,
// remove), and what went wrong without what differs: dpkg's own message and, where that only says that a script failed,
// the first line by which the script complained. Translated messages of dpkg make buckets of their own.
func packageSignature(f crash.Fields, to *recorder) string {
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
	to.read("ErrorMessage")
	markPackage(f, message, complaint, log, to)
	return join("package", name, step, failure(message, to), normalise(complaint, to))
}

// markPackage marks what the rule took: the last line of the message, and in the log dpkg's error and the complaint.
func markPackage(f crash.Fields, message, complaint string, log packageLog, to *recorder) {
	if head := headOf(f["ErrorMessage"]); message != "" && strings.Contains(head, message) {
		to.mark("ErrorMessage", strings.LastIndex(head, message))
	}
	const field = "DpkgTerminalLog"
	if f[field] != "" {
		to.see(field)
	}
	if log.found {
		to.mark(field, log.errorAt)
		if log.message != "" {
			to.mark(field, log.messageAt)
		}
	}
	if complaint != "" {
		to.read(field)
		to.mark(field, log.complaintAt)
		to.use(complaint, normalise(complaint, nil))
	}
}

// packageName is the name of the package; those of kernels hold a version.
func packageName(f crash.Fields) string {
	name := crash.Truncate(pytext.FirstWord(crash.Truncate(f["Package"], maxWords)), maxName)
	if strings.HasPrefix(name, "linux-") {
		name = normaliseName(name)
	}
	return name
}

// failure is dpkg's message without what differs.
func failure(message string, to *recorder) string {
	if isScriptFailure(message) {
		status := lastNumber(message)
		if _, signal, ok := strings.Cut(message, "killed by signal ("); ok {
			signal, _, _ = strings.Cut(signal, ")")
			return "killed by signal " + signal
		}
		if status != "" {
			return to.change(message, "exit status "+status)
		}
	}
	for _, reason := range anyFile {
		if strings.HasSuffix(strings.TrimSuffix(message, ")"), reason) {
			return to.change(message, reason)
		}
	}
	return normalise(message, to)
}

// anyFile are the ends of messages about a full or broken disk, or an archive that came damaged: which of the package's
// files dpkg was writing just then is chance.
var anyFile = [...]string{
	"No space left on device", "Read-only file system", "Input/output error", "Structure needs cleaning", "Disk quota exceeded",
	"unexpected end of file or stream", "unexpected end of file", "compressed data is corrupt", "data integrity error", "corrupted filesystem tarfile - corrupted package archive",
}

// lastNumber is the last number of at most three digits in a text: dpkg's messages end in the exit status, in whatever
// language.
func lastNumber(s string) string {
	end := strings.LastIndexFunc(s, pytext.IsDigit) + 1
	start := strings.LastIndexFunc(s[:end], func(r rune) bool { return !pytext.IsDigit(r) }) + 1
	if end-start > 3 {
		return ""
	}
	return s[start:end]
}

// isScriptFailure says whether dpkg only reports that a script of the package failed: such messages name the script and
// end in the exit status, in whatever language, or tell the signal.
func isScriptFailure(message string) bool {
	return scriptStep(message) != "" && (strings.Contains(message, "killed by signal") || pytext.IsDigit(pytext.LastRune(message)))
}

func scriptStep(message string) string {
	for _, s := range [...]struct{ word, step string }{
		{"pre-installation", "preinst"}, {"post-installation", "postinst"}, {"pre-removal", "prerm"}, {"post-removal", "postrm"},
		{"preinst", "preinst"}, {"postinst", "postinst"}, {"prerm", "prerm"}, {"postrm", "postrm"},
	} {
		if strings.Contains(message, s.word) {
			return s.step
		}
	}
	return ""
}

// packageStep is what dpkg was doing.
func packageStep(message, action string) string {
	if step := scriptStep(message); step != "" {
		return step
	}
	switch {
	case strings.Contains(message, "trigger"):
		return "trigger"
	case strings.Contains(message, "dependency problems"), strings.Contains(message, "dependencies"):
		return "dependency"
	case strings.Contains(message, "overwrite"), strings.Contains(message, ".dpkg-new"), strings.Contains(message, "dpkg-deb"), strings.Contains(message, "archive"),
		strings.Contains(message, "tarfile"), strings.Contains(message, "extracted"), strings.Contains(message, "unpack"):
		return "unpack"
	case action != "":
		return action
	}
	return "failed"
}

// packageLog is what dpkg's log says about the failure of one package.
type packageLog struct {
	action    string // "configure"
	message   string // dpkg's own
	complaint string // of the script

	found                           bool // dpkg's error
	errorAt, messageAt, complaintAt int  // offsets of these lines
}

// readPackageLog looks for "dpkg: error processing package NAME (--configure):", the message below, and what the package's
// scripts said between their start and that line. The last failure of the package counts.
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
			found, expect = packageLog{action: action, complaint: current.complaint, complaintAt: current.complaintAt, found: true, errorAt: at}, true
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

// dpkgError reads "dpkg: error processing package NAME (--configure):" and "dpkg: error processing archive
// /var/cache/apt/archives/NAME_1.2_all.deb (--unpack):"; in other languages the option stands behind the name too.
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

// startsStep knows the lines by which dpkg begins to do something; what scripts said before belongs to something else.
func startsStep(text string) bool {
	for _, start := range [...]string{"Setting up ", "Unpacking ", "Preparing to unpack ", "Removing ", "Purging ", "Processing triggers for ", "Selecting previously "} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// complaints are words, in small letters, by which lines are known in which a script says what went wrong.
var complaints = [...]string{"error", "fail", "cannot", "can't", "unable", "not found", "no such", "denied", "invalid", "fatal", "abort", "no space", "segmentation", "exception", "depends on", "missing", "refus", "not permitted", "unrecognized", "undefined", "unknown"}

// usual are programs whose complaints stand in many logs, whether a package fails or not.
var usual = [...]string{"w:", "debconf:", "locale:", "perl:", "dpkg-preconfigure:", "apt-listchanges:", "apt-extracttemplates:", "invoke-rc.d: policy-rc.d", "invoke-rc.d: could not determine", "bash: warning"}

// complains is false for warnings: scripts go on behind them.
func complains(text string) bool {
	text = strings.ToLower(crash.Truncate(withoutSyslog(text), maxMessage))
	if strings.Contains(text, "warning") {
		return false
	}
	for _, start := range usual {
		if strings.HasPrefix(text, start) {
			return false
		}
	}
	if strings.HasPrefix(text, "e:") {
		return true
	}
	for _, word := range complaints {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// lastLine is the last line that is not blank.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexAny(s, "\n\r")+1:])
}
