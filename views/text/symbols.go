package text

// Texts about the function names of native crashes.
const (
	SymbolsTitle   = "Function names"
	SymbolsAsked   = "waiting for a core"
	SymbolsQueued  = "queued"
	SymbolsRunning = "running"
	SymbolsDone    = "done"
	SymbolsPartial = "partial"
	SymbolsWaiting = "waiting"
	SymbolsFailed  = "failed"
	SymbolsExpired = "expired"

	SymbolsAskedMeans   = "A machine was asked for the core dump of this crash and has not sent it yet."
	SymbolsQueuedMeans  = "It will be symbolised soon."
	SymbolsRunningMeans = "It is being symbolised."
	SymbolsDoneMeans    = "mishap has worked out the stack."
	SymbolsPartialMeans = "Some functions have no name."

	SymbolsNothing = "mishap has no core dump of this crash."

	CoreAsk       = "Ask for a core"
	CoreAskMeans  = "The next machine that reports this problem is asked for its core dump, in any version."
	CoreWithdraw  = "Withdraw"
	CoreAsked     = "The next machine that reports this problem will be asked for its core dump."
	CoreWithdrawn = "Your request is withdrawn."
	CoreNever     = "No machine is asked for a core dump: the configuration says cores = \"never\"."
	CoreExcluded  = "No machine is asked for a core dump of this program: cores_packages excludes it."
	CoreNamed     = "This problem needs no core dump: it is not a native crash without function names."

	SymbolsAgain   = "Symbolise again"
	SymbolsPressed = "It will be symbolised again soon."

	SymbolsOneModule   = "program or library"
	SymbolsManyModules = "programs and libraries"
	SymbolsCannot      = "No instance can symbolise core dumps, so machines are not asked for any."
	SymbolsNobody      = "No running instance symbolises core dumps, so machines are not asked for any."

	SymbolsModule    = "Program or library"
	SymbolsBuildID   = "Build-id"
	SymbolsProgram   = "Program"
	SymbolsDebugFile = "Debug file"
	SymbolsNoBuildID = "unknown"
	SymbolsInProgram = "in the program"
	SymbolsNotSought = "not searched"
	SymbolsNotFound  = "not found"
)

// SymbolsModules is the label of the list of modules.
func SymbolsModules(n string) string { return n + " and where their files were found" }

// CoreWantedBy says who asked for a core, and when.
func CoreWantedBy(person, when string) string {
	return "Asked for a core by " + person + ", at " + when + "; the next machine that reports it will be asked."
}

// CoreArchitecture says that no instance can symbolise the cores of a problem.
func CoreArchitecture(names string) string {
	return "No instance can symbolise core dumps of " + names + ", so machines are not asked for any."
}

// SymbolsNext says when the next try is.
func SymbolsNext(when string) string { return "The next try is " + when + "." }
