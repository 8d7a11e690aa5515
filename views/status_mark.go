package views

import (
	"slices"
	"strings"

	"mishap/crash"
)

// statusClass returns the class of a status mark.
func statusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietStates are the states that lists do not mark, because most problems have them.
var quietStates = []crash.StateWord{crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled,
	crash.StateNameless, crash.StateTests}

// marked reports whether lists mark a problem with this status.
func marked(w crash.StateWord) bool { return !slices.Contains(quietStates, w) }

const (
	statusID     = "status"
	statusTarget = "#" + statusID
	morph        = "outerMorph" // htmx replaces an element but leaves equal descendants in place
)
