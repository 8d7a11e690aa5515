package tracker

import "strings"

// reproduceFields are where a report may say how to make the fault happen again. No program of apport fills them by itself:
// hooks of packages ask the person and put the answer there.
var reproduceFields = []string{"StepsToReproduce", "HowToReproduce"}

const (
	maxSteps     = 40 // lines
	maxStepsLine = 300
)

// reproduce is what a report says about how to make the fault happen again, line by line; empty when it does not.
func (w writer) reproduce() string {
	for _, field := range reproduceFields {
		var kept []string
		for line := range strings.Lines(w.report.Fields[field]) {
			if line = w.line(line, maxStepsLine); line == "" {
				continue
			}
			if len(kept) == maxSteps {
				kept = append(kept, "…")
				break
			}
			kept = append(kept, line)
		}
		if len(kept) > 0 {
			return strings.Join(kept, "\n")
		}
	}
	return ""
}
