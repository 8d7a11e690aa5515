// Package faf reads what FAF, the analytics server of ABRT, knows of its problems: the answer of
// [Query], as JSON lines, and what its pages for programs answer. It computes the signatures that reports of these
// problems have here, and the reports to copy.
package faf

import (
	_ "embed" // Query
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Query selects the reports of FAF's database, PostgreSQL, as one JSON object in each row.
//
//go:embed faf.sql
var Query string

// Start is how a file with the answer of [Query] begins.
const Start = `{"faf_report":`

// Report is what FAF calls a report: the crashes with one stack. FAF's problems are groups of
// similar reports.
type Report struct {
	ID          int64    `json:"faf_report"`
	Problem     int64    `json:"problem"`     // 0: FAF has not grouped it
	Type        string   `json:"type"`        // "core", "python", "kerneloops", "java", "ruby"
	Error       string   `json:"error"`       // number of the signal, or name of the exception
	Executables []string `json:"executables"` // most frequent first; of Python, the file of the innermost frame
	Frames      []Frame  `json:"frames"`      // of the thread that crashed, innermost first
	Hashes      []string `json:"hashes"`
	Bugs        []Bug    `json:"bugs"`

	Oops string `json:"-"` // text of a kernel oops, which FAF stores in a file; see [Report.OopsFile]
}

// Frame is a function of a stack.
type Frame struct {
	Function string `json:"function"` // "??": unknown
	File     string `json:"file"`     // library or program; of Python, the source file
	Line     int64  `json:"line"`     // in the source file; for native code without it, the offset in File
}

// Bug is a bug of a tracker that FAF knows, or an address that a person has entered.
type Bug struct {
	Tracker string `json:"tracker"` // FAF's name of the tracker, such as "fedora-bugzilla"
	Number  int64  `json:"number"`
	URL     string `json:"url"` // if there is no tracker
}

// Parse parses one line of the answer of [Query].
func Parse(line []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(line, &r); err != nil || r.ID <= 0 {
		return r, errors.New("the line is not a report of FAF, as its query prints it")
	}
	return r, nil
}

// OopsFile returns the path of the text of an oops below FAF's folder "Report/oops", or "" if the
// report is of another type.
func (r Report) OopsFile() string {
	if r.Type != "kerneloops" {
		return ""
	}
	id := fmt.Sprintf("%05d", r.ID)
	return id[:2] + "/" + id[2:4] + "/" + strconv.FormatInt(r.ID, 10)
}

// Addresses returns the addresses of the report's pages, for [crash.ParseOldAddress].
func (r Report) Addresses() []string {
	paths := []string{fmt.Sprintf("/reports/%d/", r.ID)}
	if r.Problem > 0 {
		paths = append(paths, fmt.Sprintf("/problems/%d/", r.Problem))
	}
	for _, hash := range r.Hashes {
		paths = append(paths, "/reports/bthash/"+hash+"/")
	}
	return paths
}

// Signatures returns the signatures of the problems that the crashes of the report have here, or why
// there are none. There is one for each program. A native crash has two of them if apport's rule,
// for stacks that machines send, and the rule for stacks that mishap has worked out differ.
func (r Report) Signatures() ([]string, error) {
	var all []string
	reports, why := r.reports()
	for _, f := range reports {
		g := grouping.SignatureOf(f)
		switch {
		case g.Rule == crash.RuleStackPartial, strings.Contains(g.Signature, ":_Z"),
			g.Signature == "" && strings.Contains(f["Stacktrace"]+f["StacktraceTop"], "?? ()"):
			why = errors.New("some of its functions have no readable names: FAF has not retraced it")
		case g.Signature == "":
			why = errors.New(g.Reason)
		case !slices.Contains(all, g.Signature):
			all = append(all, g.Signature)
		}
	}
	if len(all) > 0 {
		why = nil
	}
	return all, why
}

// reports returns reports as apport would make them of the crashes, or why there are none.
func (r Report) reports() (all []crash.Fields, why error) {
	switch r.Type {
	case "core":
		all, why = r.nativeCrashes(), errors.New("FAF does not know its program, its signal or its stack")
	case "python":
		all = r.exceptions()
		why = errors.New("FAF does not know its exception, or its traceback does not begin in a program")
	case "kerneloops":
		why = errors.New("the text of the oops is missing; --oopses names FAF's folder with these texts")
		if r.Oops != "" {
			all = []crash.Fields{{"ProblemType": "KernelOops", "OopsText": r.Oops}}
		}
	case "java":
		why = errors.New("FAF does not know the program of a Java exception")
	default:
		why = fmt.Errorf("mishap has no signatures for problems of the type %q", crash.Shorten(r.Type, 20))
	}
	return all, why
}

func (r Report) nativeCrashes() (all []crash.Fields) {
	if signal, err := strconv.Atoi(r.Error); err != nil || signal <= 0 || len(r.Frames) == 0 {
		return nil
	}
	var stack strings.Builder
	for i, f := range r.Frames {
		_, _ = fmt.Fprintf(&stack, "#%d  %s () from %s\n", i, oneLine(f.Function), oneLine(f.File))
	}
	for _, program := range r.Executables {
		if program == "" {
			continue
		}
		here := crash.Fields{"ProblemType": "Crash", "ExecutablePath": program, "Signal": r.Error,
			"Stacktrace": stack.String(), crash.SymbolisedBy: "FAF"}
		sent := crash.Fields{"ProblemType": "Crash", "ExecutablePath": program, "Signal": r.Error,
			"StacktraceTop": grouping.StacktraceTop(stack.String())}
		all = append(all, here, sent)
	}
	return all
}

// exceptions returns the report of a Python exception. The program is the file in which the outermost frame
// is; FAF stores the file of the innermost one.
func (r Report) exceptions() []crash.Fields {
	if len(r.Frames) == 0 {
		return nil
	}
	outermost := r.Frames[len(r.Frames)-1]
	if outermost.Function != "<module>" || !strings.HasPrefix(outermost.File, "/") || !isException(r.Error) {
		return nil
	}
	var text strings.Builder
	text.WriteString("Traceback (most recent call last):\n")
	for _, f := range slices.Backward(r.Frames) {
		_, _ = fmt.Fprintf(&text, "  File \"%s\", line %d, in %s\n", oneLine(f.File), f.Line, oneLine(f.Function))
	}
	text.WriteString(r.Error + ":")
	return []crash.Fields{{"ProblemType": "Crash", "ExecutablePath": outermost.File, "Traceback": text.String()}}
}

// isException reports whether a name is that of an exception. Old versions of ABRT have sent any word.
func isException(name string) bool {
	return name != "" && (name[0] >= 'A' && name[0] <= 'Z' || strings.Contains(name, ".")) && oneLine(name) == name
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
