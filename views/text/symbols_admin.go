package text

// Texts of the page about symbols, for administrators.
const (
	SymbolsHeading    = "Symbols"
	SymbolsAdminMeans = "Native crashes get their function names from core dumps or addresses, and debug files. This " +
		"page shows " +
		"what is missing, and what is being worked on."

	InstancesTitle   = "Instances"
	InstanceSeen     = "seen"
	InstanceWorks    = "symbolises"
	InstanceCannot   = "cannot symbolise"
	InstanceOff      = "symbolises no core dumps, and asks for none (cores is never)"
	InstancesNobody  = "No running instance symbolises. Install gdb on the machine of an instance, or start one with"
	InstancesCommand = "mishap serve --only symbols"

	MissingTitle        = "Missing symbols"
	MissingReports      = "Reports"
	MissingProblems     = "Problems"
	MissingWhat         = "Missing"
	MissingWhere        = "Searched"
	MissingCommand      = "Command that adds it"
	MissingProgram      = "program"
	MissingDebugFile    = "debug file"
	MissingBuild        = "build-id"
	MissingNoPath       = "unknown path"
	MissingBuildID      = "build-id"
	MissingNoPackage    = "unknown package"
	MissingNoVersion    = "unknown version"
	MissingNotSearched  = "nothing to search for: the build-id is unknown"
	MissingNoCommand    = "Find the package that holds this file, and add it with its debug files."
	MissingOtherMachine = "on a machine that has this build"
	MissingNone         = "Nothing is missing: no report waits for symbols."
	MissingNoMore       = "Nothing else is missing."
	MissingFirst        = "Most reports"
	MissingPrevious     = "More reports"
	MissingNext         = "Fewer reports"
	MissingMeans        = "Sorted by the number of reports of the problems that wait for it. Once it is added, mishap " +
		"symbolises these reports again by itself."

	QueueTitle     = "Queue"
	QueueStates    = "States"
	QueueOpen      = "running and next"
	QueueOldest    = "Oldest queued job: created"
	QueueProblem   = "Problem"
	QueueNoProblem = "report in no problem"
	QueueReport    = "Report"
	QueueReports   = "Reports"
	QueueState     = "State"
	QueueWhen      = "When"
	QueueFrom      = "From"
	QueueCore      = "core dump"
	QueueAddresses = "addresses"
	QueueNone      = "Nothing is being symbolised, and nothing is queued."
	QueueNoneState = "No report is in this state."
	QueueShowOpen  = "Show the queue"
	QueuePrevious  = "Previous"
	QueueNext      = "Next"
)

// MissingBounded says that not all waiting reports were ranked.
func MissingBounded(jobs int) string {
	return "There are very many. Only the " + Count(int64(jobs)) + " crashes with the most reports are ranked."
}

// MissingPlace says which rows of the list are shown.
func MissingPlace(first, last, of int64) string {
	return Count(first) + "–" + Count(last) + " of " + Count(of)
}

// QueuePressed says who asked to symbolise a report now.
func QueuePressed(person string) string { return "requested by " + person }
