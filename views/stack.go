package views

import "mishap/crash"

// Stack is the evidence of the one report that stands for its bucket.
type Stack struct {
	Report    crash.OopsID
	Traceback string // Python's
	Text      string // the stack, or what the kernel printed, as the report has it
}

// NewStack picks the evidence out of a report.
func NewStack(report crash.StoredReport) *Stack {
	s := &Stack{Report: report.ID, Traceback: report.Fields["Traceback"]}
	for _, name := range []string{"Stacktrace", "StacktraceTop", "OopsText", "StackTrace"} {
		if text := report.Fields[name]; text != "" {
			s.Text = text
			break
		}
	}
	return s
}
