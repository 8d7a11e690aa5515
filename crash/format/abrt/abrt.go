// Package abrt reads µReports, the reports of ABRT (Fedora, RHEL), in version 2 of the format and, as FAF does, in
// version 1. It turns them into reports as apport would write them, so that the same rules group them.
package abrt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/format/jsonlimit"
	"mishap/crash/grouping"
)

// The limits of a µReport. ABRT sends at most 256 frames of a thread, and the packages of their files.
const (
	maxValues  = 50_000
	maxFrames  = 500 // that are stored
	maxRelated = 500 // packages that are stored
	maxText    = 4096
)

var limits = jsonlimit.Limits{Depth: 16, Values: maxValues, Members: 200}

// MemoryFor returns the largest number of bytes that [Parse] needs for a µReport: for its texts, which are short or
// copied once more, and for its structure.
func MemoryFor(body []byte) int64 {
	const perValue, perByte = 400, 4
	values := bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("["))
	return int64(min(values, maxValues))*perValue + int64(len(body))*perByte
}

// document is a µReport of version 2, with the members of version 1 that differ.
type document struct {
	Version  *int    `json:"ureport_version"`
	Reason   string  `json:"reason"`
	OS       system  `json:"os"`
	Problem  problem `json:"problem"`
	Packages []rpm   `json:"packages"`
	Auth     auth    `json:"auth"`
}

type system struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Architecture string `json:"architecture"`
	Desktop      string `json:"desktop"`
}

type auth struct {
	Hostname  string `json:"hostname"`
	MachineID string `json:"machineid"`
}

type rpm struct {
	Name         string `json:"name"`
	Epoch        uint64 `json:"epoch"`
	Version      string `json:"version"`
	Release      string `json:"release"`
	Architecture string `json:"architecture"`
	Role         string `json:"package_role"`
}

type problem struct {
	Type       string `json:"type"`
	Component  string `json:"component"`
	Executable string `json:"executable"`
	Signal     *int   `json:"signal"`
	User       user   `json:"user"`
	Exception  string `json:"exception_name"`

	Stack   []stackEntry  `json:"stacktrace"` // core, python, ruby
	Threads []javaThread  `json:"threads"`    // java
	Frames  []kernelFrame `json:"frames"`     // kerneloops
	Oops    string        `json:"raw_oops"`
	Version string        `json:"version"` // of the kernel
}

type user struct {
	Root  *bool `json:"root"`
	Local *bool `json:"local"`
}

// stackEntry is a thread of a core, or else a frame.
type stackEntry struct {
	frame

	Crashed bool    `json:"crash_thread"`
	Frames  []frame `json:"frames"`
}

type frame struct {
	Address  uint64  `json:"address"`
	BuildID  string  `json:"build_id"`
	Offset   *uint64 `json:"build_id_offset"`
	Function string  `json:"function_name"`
	Special  string  `json:"special_function"` // "module": code outside functions
	File     string  `json:"file_name"`
	Line     uint64  `json:"file_line"`
	Code     string  `json:"line_contents"`
}

type javaThread struct {
	Name   string      `json:"name"`
	Frames []javaFrame `json:"frames"`
}

type javaFrame struct {
	Name      string `json:"name"`
	File      string `json:"file_name"`
	Line      uint64 `json:"file_line"`
	Native    bool   `json:"is_native"`
	Exception bool   `json:"is_exception"`
	Message   string `json:"message"`
}

type kernelFrame struct {
	Reliable bool   `json:"reliable"`
	Function string `json:"function_name"`
	Offset   uint64 `json:"function_offset"`
	Length   uint64 `json:"function_length"`
	Module   string `json:"module_name"`
}

func invalid(format string, args ...any) *crash.Error {
	return crash.Errorf(crash.Invalid, "invalid_ureport", format, args...)
}

// Parse reads a µReport. Its System is a hash of the machine's id; a µReport without that id becomes an Anonymous
// report. Errors are of type *crash.Error, kind Invalid, with a sentence for the sender. Invalid UTF-8 and NUL
// become U+FFFD.
func Parse(body []byte) (crash.Report, error) {
	var d document
	if err := decode(body, &d); err != nil {
		return crash.Report{}, err
	}
	if d.Version == nil {
		return crash.Report{}, invalid("The µReport has no ureport_version.")
	}
	switch *d.Version {
	case 1:
		var old oldDocument
		if err := decode(body, &old); err != nil {
			return crash.Report{}, err
		}
		old.convert(&d)
	case 2:
	default:
		return crash.Report{}, invalid("µReports of version %d are not supported; send version 2.", *d.Version)
	}
	fields, err := d.fields()
	if err != nil {
		return crash.Report{}, err
	}
	r := crash.Report{Fields: fields, Anonymous: true}
	if id := strings.TrimSpace(d.Auth.MachineID); id != "" {
		r.System, r.Anonymous = crash.HashedSystemID(id), false
	}
	return r, nil
}

// decode checks the structure of a JSON text before it decodes it.
func decode(body []byte, into any) error {
	if err := jsonlimit.Check(body, limits); err != nil {
		return err
	}
	err := json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid("The member “%s” has a wrong type: %s.", crash.Shorten(wrong.Field, 100), wrong.Value).
			Because(err)
	}
	if err != nil {
		return crash.Errorf(crash.Invalid, "invalid_json", "Couldn't parse JSON data.").Because(err)
	}
	return nil
}

// fields returns the fields of the report.
func (d *document) fields() (crash.Fields, error) {
	p := &d.Problem
	affected := d.affected()
	f := crash.Fields{
		"Architecture":   line(d.OS.Architecture),
		"SourcePackage":  line(p.Component),
		"ExecutablePath": line(p.Executable),
		"DistroRelease":  string(crash.OS{ID: line(d.OS.Name), Version: line(d.OS.Version)}.Release()),
		"CurrentDesktop": line(d.OS.Desktop),
		"ProblemSummary": line(d.Reason),
		"Dependencies":   d.related(affected),
		"HostName":       line(d.Auth.Hostname),
		"UserKind":       p.User.kind(),
	}
	switch {
	case affected >= 0:
		a := d.Packages[affected]
		f["Package"], f["PackageArchitecture"] = a.text(), line(a.Architecture)
		if a.Architecture == "noarch" {
			f["PackageArchitecture"] = "all"
		}
	case p.Type == "kerneloops" && p.Component != "":
		f["Package"] = strings.TrimSpace(word(p.Component) + " " + word(p.Version))
	default:
		f["Package"] = word(p.Component)
	}
	var err error
	switch p.Type {
	case "core":
		err = p.core(f)
	case "python":
		err = p.python(f)
	case "ruby":
		err = p.ruby(f)
	case "java":
		err = p.java(f)
	case "kerneloops":
		err = p.kernel(f, d.Reason)
	default:
		err = crash.Errorf(crash.Invalid, "problem_type", "Problems of the type “%s” are not supported.",
			crash.Shorten(line(p.Type), 50))
	}
	for name, text := range f {
		if text == "" {
			delete(f, name)
		}
	}
	return f, err
}

// affected returns the index of the package that crashed, or -1.
func (d *document) affected() int {
	i := slices.IndexFunc(d.Packages, func(p rpm) bool { return p.Role == "affected" && p.Name != "" })
	if i < 0 {
		i = slices.IndexFunc(d.Packages, func(p rpm) bool { return p.Role == "" && p.Name == d.Problem.Component })
	}
	return i
}

// related lists the other packages, one in each line.
func (d *document) related(affected int) string {
	var b strings.Builder
	for i, p := range d.Packages[:min(len(d.Packages), maxRelated)] {
		if i != affected && p.Name != "" {
			b.WriteString(p.text() + "\n")
		}
	}
	return b.String()
}

// text returns the name and the version as RPM writes it: an epoch of 0 is left out.
func (p rpm) text() string {
	version := word(p.Version)
	if release := word(p.Release); release != "" {
		version += "-" + release
	}
	if p.Epoch != 0 {
		version = strconv.FormatUint(p.Epoch, 10) + ":" + version
	}
	return strings.TrimSpace(word(p.Name) + " " + version)
}

func (u user) kind() string {
	switch {
	case u.Root != nil && *u.Root:
		return "root"
	case u.Local != nil && *u.Local:
		return "local"
	case u.Local != nil:
		return "remote"
	}
	return ""
}

var errNoFrames = invalid("The stack trace has no frames.")

// core adds a native crash: the stack of the thread that crashed, and its address signature.
func (p *problem) core(f crash.Fields) error {
	f["ProblemType"] = "Crash"
	if p.Signal != nil {
		f["Signal"] = strconv.Itoa(*p.Signal)
	}
	thread := slices.IndexFunc(p.Stack, func(e stackEntry) bool { return e.Crashed })
	if thread < 0 {
		thread = 0 // as satyr does
	}
	if len(p.Stack) == 0 || len(p.Stack[thread].Frames) == 0 {
		return errNoFrames
	}
	frames := make([]grouping.ModuleFrame, 0, min(len(p.Stack[thread].Frames), maxFrames))
	for _, frame := range p.Stack[thread].Frames[:cap(frames)] {
		placed := grouping.ModuleFrame{Address: frame.Address, Function: line(frame.Function), Module: line(frame.File)}
		if frame.Offset != nil {
			placed.BuildID, placed.Offset = frame.BuildID, *frame.Offset
		}
		frames = append(frames, placed)
	}
	grouping.SetStack(f, frames)
	return nil
}

// python adds an exception. The program is the file of the outermost frame that has one.
func (p *problem) python(f crash.Fields) error {
	f["ProblemType"] = "Crash"
	if err := p.exception(f); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("Traceback (most recent call last):\n")
	for _, e := range slices.Backward(p.Stack[:min(len(p.Stack), maxFrames)]) {
		text.WriteString("  File \"" + line(e.File) + "\", line " + strconv.FormatUint(e.Line, 10) + ", in " +
			e.name("module") + "\n")
		if code := line(e.Code); code != "" {
			text.WriteString("    " + code + "\n")
		}
	}
	text.WriteString(line(p.Exception))
	f["Traceback"] = text.String()
	return nil
}

// exception checks an exception of a script, and adds the program if it is missing.
func (p *problem) exception(f crash.Fields) error {
	if line(p.Exception) == "" {
		return invalid("The problem has no exception_name.")
	}
	if len(p.Stack) == 0 {
		return errNoFrames
	}
	for _, e := range slices.Backward(p.Stack) {
		if f["ExecutablePath"] == "" && strings.HasPrefix(e.File, "/") {
			f["ExecutablePath"] = line(e.File)
		}
	}
	return nil
}

// name returns the function of a script; without one, it is code of the given kind.
func (f frame) name(usual string) string {
	if f.Function != "" {
		return line(f.Function)
	}
	return "<" + strings.Trim(line(cmp.Or(f.Special, usual)), "<>") + ">"
}

// ruby adds an exception of Ruby. No other rule reads these, so it has a signature of its own, which looks like
// those of Python.
func (p *problem) ruby(f crash.Fields) error {
	const inSignature = 5
	f["ProblemType"] = "Crash"
	if err := p.exception(f); err != nil {
		return err
	}
	exception := line(p.Exception)
	signature := []string{cmp.Or(f["ExecutablePath"], f["Package"]), exception}
	var text strings.Builder
	for i, e := range p.Stack[:min(len(p.Stack), maxFrames)] {
		name := e.name("main")
		if i < inSignature {
			signature = append(signature, name)
		}
		if i == 0 {
			program := signature[0]
			f["Title"] = program[strings.LastIndexByte(program, '/')+1:] + " crashed with " + exception + " in " + name
		} else {
			text.WriteString("\tfrom ")
		}
		text.WriteString(line(e.File) + ":" + strconv.FormatUint(e.Line, 10) + ":in `" + name + "'")
		if i == 0 {
			text.WriteString(": (" + exception + ")")
		}
		text.WriteByte('\n')
	}
	f["DuplicateSignature"], f["StackTrace"] = strings.Join(signature, ":"), text.String()
	return nil
}

// java adds the exceptions of the first thread. A µReport begins with the innermost cause, Java with the outermost
// exception.
func (p *problem) java(f crash.Fields) error {
	f["ProblemType"] = "Crash"
	if len(p.Threads) == 0 || len(p.Threads[0].Frames) == 0 {
		return errNoFrames
	}
	frames := p.Threads[0].Frames
	frames = frames[:min(len(frames), maxFrames)]
	if !frames[0].Exception {
		return invalid("The stack trace does not begin with an exception.")
	}
	var text strings.Builder
	for end, i := len(frames), len(frames)-1; i >= 0; i-- {
		if !frames[i].Exception {
			continue
		}
		if end == len(frames) {
			text.WriteString("Exception in thread \"" + strings.ReplaceAll(line(p.Threads[0].Name), `"`, "") + "\" ")
		} else {
			text.WriteString("Caused by: ")
		}
		text.WriteString(line(frames[i].Name))
		if message := line(frames[i].Message); message != "" {
			text.WriteString(": " + message)
		}
		text.WriteByte('\n')
		for _, call := range frames[i+1 : end] {
			text.WriteString("\tat " + line(call.Name) + "(" + call.place() + ")\n")
		}
		end = i
	}
	f["StackTrace"] = text.String()
	return nil
}

func (f javaFrame) place() string {
	switch {
	case f.Native:
		return "Native Method"
	case f.File == "":
		return "Unknown Source"
	case f.Line == 0:
		return line(f.File)
	}
	return line(f.File) + ":" + strconv.FormatUint(f.Line, 10)
}

// kernel adds the text of an oops. Without one, it makes it of the frames.
func (p *problem) kernel(f crash.Fields, reason string) error {
	f["ProblemType"] = "KernelOops"
	if f["OopsText"] = clean(p.Oops); strings.TrimSpace(p.Oops) != "" {
		return nil
	}
	if len(p.Frames) == 0 {
		return errNoFrames
	}
	var text strings.Builder
	text.WriteString(line(reason) + "\nCall Trace:\n")
	for _, frame := range p.Frames[:min(len(p.Frames), maxFrames)] {
		text.WriteByte(' ')
		if !frame.Reliable {
			text.WriteString("? ")
		}
		text.WriteString(word(frame.Function) + "+0x" + strconv.FormatUint(frame.Offset, 16) + "/0x" +
			strconv.FormatUint(frame.Length, 16))
		if module, _, _ := strings.Cut(word(frame.Module), "("); module != "" {
			text.WriteString(" [" + module + "]")
		}
		text.WriteByte('\n')
	}
	f["OopsText"] = text.String()
	return nil
}

// clean replaces NUL, which reports must not contain. The decoder has replaced invalid UTF-8.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// line returns s as one line of limited length, without control characters.
func line(s string) string { return crash.Line(s, maxText) }

// word returns s without blanks.
func word(s string) string { return strings.Join(strings.Fields(line(s)), "_") }
