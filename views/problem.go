package views

import "mishap/crash"

// ProblemPage is one bucket.
type ProblemPage struct {
	Shell    Shell
	Bucket   crash.Bucket
	Bugs     BugsView
	Advice   crash.Advice // whether filing will help; empty where nobody is asked to file
	Address  string       // permanent address, with the host
	Chart    Chart
	Versions VersionTable
	Stack    *Stack      // nil for visitors, and when no report is stored
	Reports  *ReportList // nil for visitors
	Filing   *FilingPart // who asked for a bug and what became of it; nil: nobody has, or the person may not see it
}

func (p ProblemPage) heading() string { return heading(p.Bucket, p.Shell.SignedIn()) }

// heading is the title of the newest report. Visitors see it only where it says no more than the signature: the title of
// a traceback ends with the message of the exception, which may hold anything.
func heading(b crash.Bucket, signedIn bool) string {
	if b.Title != "" && (signedIn || b.Rule == crash.RuleStacktrace) {
		return b.Title
	}
	return ReadSignature(b).String()
}

// DocumentTitle tells one problem from others in tabs and bookmarks: "tidewatch crashed with SIGSEGV in main()".
func DocumentTitle(b crash.Bucket, signedIn bool) string { return cut(heading(b, signedIn), 120) }

// grouping says in words why reports are in this bucket.
func (p ProblemPage) grouping() string {
	switch p.Bucket.Rule {
	case crash.RuleDuplicateSignature:
		return "The reports themselves brought this signature (DuplicateSignature)."
	case crash.RuleKernelCrash:
		return "Kernel crashes with the same functions on the stack."
	case crash.RuleAssertion:
		return "The same executable and the same failed assertion; memory addresses in the message do not count."
	case crash.RuleStacktrace:
		return "The same executable, the same signal and the same functions on top of the stack."
	case crash.RuleTraceback:
		return "The same executable, the same exception and the same functions in the Python traceback."
	case crash.RuleSuspendResume:
		return "The same failure to sleep or wake up, on the same model with the same firmware."
	case crash.RuleOops:
		return "The same kernel fault in the same functions."
	case crash.RuleAddress:
		return "The same executable, the same signal and the same places in the binaries. The frames have no function names yet; " +
			"once they are symbolised, the reports move to the problem with names."
	default:
		return "The rule is not known."
	}
}
