package layout

import (
	"slices"
	"strings"

	"mishap/crash"
)

// StatusClass returns the class of a status mark.
func StatusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietStates are the states that lists do not mark, because most problems have them.
var quietStates = []crash.StateWord{crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled,
	crash.StateNameless, crash.StateTests}

// marked reports whether lists mark a problem with this status.
func marked(w crash.StateWord) bool { return !slices.Contains(quietStates, w) }

// The part of a page with the status of a problem, and how htmx replaces it.
const (
	StatusID     = "status"
	StatusTarget = "#" + StatusID
	Morph        = "outerMorph" // htmx replaces an element but leaves equal descendants in place
)
