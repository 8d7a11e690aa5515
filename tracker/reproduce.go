package tracker

import "strings"

// reproduceFields are the fields that may say how to reproduce the fault. Apport never fills them;
// hooks of packages ask the person.
var reproduceFields = []string{"StepsToReproduce", "HowToReproduce"}

const (
	maxSteps     = 40 // lines
	maxStepsLine = 300
)

// reproduce returns the lines of the report that say how to reproduce the fault, or an empty
// string.
func (w writer) reproduce() string {
	for _, field := range reproduceFields {
		var lines []string
		for line := range strings.Lines(w.report.Fields[field]) {
			if line = w.line(line, maxStepsLine); line == "" {
				continue
			}
			if len(lines) == maxSteps {
				lines = append(lines, "…")
				break
			}
			lines = append(lines, line)
		}
		if len(lines) > 0 {
			return strings.Join(lines, "\n")
		}
	}
	return ""
}
