package text

// Texts of stacks and tracebacks.
const (
	StackTitle      = "Stack"
	StackWentWrong  = "What went wrong"
	StackFrom       = "from"
	StackReport     = "report"
	StackNumber     = "Number"
	StackModule     = "Module"
	StackSource     = "Source"
	StackCode       = "Code"
	StackCalls      = "Calls"
	StackTrace      = "Trace"
	StackText       = "As text"
	StackTextLabel  = "Stack as text"
	StackNoneHere   = "This report has no stack, traceback or other readable text."
	StackNone       = "The reports of this problem have no stack, traceback or other readable text."
	ChosenNewest    = "the newest one"
	ChosenStack     = "the newest one with a stack"
	ChosenTraceback = "the newest one with a traceback"
	ChosenText      = "the newest one with such a text"
	ChosenComplete  = "the newest complete one"
)

// MoreFrames counts the frames that are folded.
func MoreFrames(n int) string { return Counted(int64(n), "more frame", "more frames") }

// MoreFramesInReport counts the frames that only the report shows.
func MoreFramesInReport(n int) string { return MoreFrames(n) + " in the report" }

// OtherThreads counts the threads that did not crash.
func OtherThreads(n int) string { return Counted(int64(n), "other thread", "other threads") }

// MoreThreadsInReport counts the threads that only the report shows.
func MoreThreadsInReport(n int) string {
	return Counted(int64(n), "more thread", "more threads") + " in the report"
}

// Thread is the heading of a thread: "Thread 2, gmain".
func Thread(number int, name string) string {
	heading := "Thread " + Count(int64(number))
	if name != "" {
		heading += ", " + name
	}
	return heading
}

// FramesNameless says that frames have no names, and the debug symbols of which modules are missing.
func FramesNameless(n int, modules string) string {
	text := Counted(int64(n), "frame has", "frames have") + " no function name. Debug symbols are missing"
	if modules != "" {
		text += " for " + modules
	}
	return text + "."
}

// VersionOnRelease describes a report: "(1.4-2 on Ubuntu 24.04)".
func VersionOnRelease(version, release string) string { return "(" + version + " on " + release + ")" }
