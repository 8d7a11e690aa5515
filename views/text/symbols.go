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
	SymbolsQueuedMeans  = "The core dump has arrived and will be symbolised soon."
	SymbolsRunningMeans = "The core dump is being symbolised."
	SymbolsDoneMeans    = "mishap worked out the stack from a core dump."
	SymbolsPartialMeans = "Some functions have no name."

	SymbolsAgain   = "Symbolise again"
	SymbolsPressed = "It will be symbolised again soon."

	SymbolsOneModule   = "program or library"
	SymbolsManyModules = "programs and libraries"
	SymbolsHealth      = "Function names of native crashes"
	SymbolsUnknown     = "It is not known whether an instance symbolises core dumps."
	SymbolsCannot      = "No instance can symbolise core dumps, so machines are not asked for any."
	SymbolsNobody      = "No running instance symbolises core dumps, so machines are not asked for any."

	SymbolsModule    = "Program or library"
	SymbolsBuildID   = "Build-id"
	SymbolsProgram   = "Program"
	SymbolsDebugFile = "Debug file"
	SymbolsNoBuildID = "unknown: the core does not hold it"
	SymbolsInProgram = "in the program"
	SymbolsNotSought = "not searched"
	SymbolsNotFound  = "not found"
)

// SymbolsModules is the label of the list of modules.
func SymbolsModules(n string) string { return n + " and where their files were found" }

// SymbolsOf says which cores are symbolised.
func SymbolsOf(architectures string) string {
	return "Core dumps of " + architectures + " are symbolised."
}

// SymbolsNext says when the next try is.
func SymbolsNext(when string) string { return "The next try is " + when + "." }
