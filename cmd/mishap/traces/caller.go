package traces

import (
	"runtime"
	"strings"
)

const (
	ourModule = "mishap/"
	thisFile  = ourModule + "cmd/mishap/traces."
	river     = "github.com/riverqueue/river"
)

// helpers are functions that run the statements of others, whose callers say more.
var helpers = map[string]bool{"db.(*Handle).InTx": true}

// caller returns the name of the function that runs a statement, such as "db/bugs.(*Store).Filing".
// Statements are constants of such functions, and have no names of their own. It ignores the text of
// the statement.
func caller(string) string {
	var counters [40]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		name, ours := strings.CutPrefix(frame.Function, ourModule)
		switch {
		case ours && !strings.HasPrefix(frame.Function, thisFile) && !helpers[named(name)]:
			return named(name)
		case strings.HasPrefix(frame.Function, river):
			return "job queue"
		case !more:
			return "statement"
		}
	}
}

// named returns the name of a function without the numbers of functions inside it.
func named(function string) string {
	name, _, _ := strings.Cut(function, ".func")
	return name
}
