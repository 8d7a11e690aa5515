package sentry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
)

const (
	maxFrames     = 250 // of an exception
	maxExceptions = 20
	maxPackages   = 500
	maxImages     = 1000
	maxText       = 4096
	maxNote       = 16 << 10 // bytes of a text of a person, of breadcrumbs and of extra data
	inSignature   = 10       // functions
)

// event is an event, as far as it is read. Local variables of frames, the user, the request and headers are not, so
// they are never stored.
type event struct {
	ID          string          `json:"event_id"`
	Type        string          `json:"type"`
	Timestamp   json.RawMessage `json:"timestamp"`
	Platform    string          `json:"platform"`
	Level       string          `json:"level"`
	Transaction string          `json:"transaction"`
	Culprit     string          `json:"culprit"`
	Release     string          `json:"release"`
	Dist        string          `json:"dist"`
	Environment string          `json:"environment"`
	ServerName  string          `json:"server_name"`
	Message     message         `json:"message"`
	LogEntry    message         `json:"logentry"`
	Exceptions  list[exception] `json:"exception"`
	Threads     list[thread]    `json:"threads"`
	Stack       stacktrace      `json:"stacktrace"`
	Fingerprint []string        `json:"fingerprint"`
	Contexts    contexts        `json:"contexts"`
	Tags        tags            `json:"tags"`
	SDK         named           `json:"sdk"`
	Debug       debugMeta       `json:"debug_meta"`
	Modules     tags            `json:"modules"`
	Breadcrumbs json.RawMessage `json:"breadcrumbs"`
	Extra       json.RawMessage `json:"extra"`
}

type exception struct {
	Type      string     `json:"type"`
	Value     string     `json:"value"`
	Module    string     `json:"module"`
	Stack     stacktrace `json:"stacktrace"`
	Mechanism mechanism  `json:"mechanism"`
}

type mechanism struct {
	Handled   *bool `json:"handled"`
	Synthetic bool  `json:"synthetic"`
	ID        *int  `json:"exception_id"`
	Meta      struct {
		Signal struct {
			Number int    `json:"number"`
			Name   string `json:"name"`
		} `json:"signal"`
	} `json:"meta"`
}

type thread struct {
	Crashed bool       `json:"crashed"`
	Current bool       `json:"current"`
	Stack   stacktrace `json:"stacktrace"`
}

type stacktrace struct {
	Frames []frame `json:"frames"`
}

type frame struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"filename"`
	Path     string `json:"abs_path"`
	Line     int64  `json:"lineno"`
	Code     string `json:"context_line"`
	InApp    *bool  `json:"in_app"`
	Package  string `json:"package"`
	Address  string `json:"instruction_addr"`
}

type contexts struct {
	OS struct {
		Name                string `json:"name"`
		Version             string `json:"version"`
		DistributionName    string `json:"distribution_name"`
		DistributionVersion string `json:"distribution_version"`
	} `json:"os"`
	Device struct {
		Arch string `json:"arch"`
	} `json:"device"`
	Runtime  named `json:"runtime"`
	Feedback struct {
		Message string `json:"message"`
	} `json:"feedback"`
}

type named struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type debugMeta struct {
	Images []image `json:"images"`
}

type image struct {
	File    string `json:"code_file"`
	CodeID  string `json:"code_id"`
	Address string `json:"image_addr"`
	Size    int64  `json:"image_size"`
}

// The decoder has checked the syntax of what it passes to UnmarshalJSON. Other errors, of members with other types,
// would end decoding, so they are ignored: these members stay empty.

// list is an array, on its own or as the member "values" of an object. A single value is a list, too.
type list[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		_ = json.Unmarshal(text, (*[]T)(l))
		return nil
	}
	var object struct{ Values []T }
	_ = json.Unmarshal(text, &object)
	if *l = object.Values; object.Values == nil && text[0] == '{' {
		var one T
		_ = json.Unmarshal(text, &one)
		*l = []T{one}
	}
	return nil
}

// message is a text, with or without its template.
type message struct{ template, text string }

// UnmarshalJSON implements [json.Unmarshaler].
func (m *message) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		_ = json.Unmarshal(text, &m.text)
		return nil
	}
	var object struct{ Message, Formatted string }
	_ = json.Unmarshal(text, &object)
	m.template, m.text = object.Message, cmp.Or(object.Formatted, object.Message)
	return nil
}

// tags are pairs of texts, as an object or as an array of arrays, in the order of their names.
type tags [][2]string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *tags) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		_ = json.Unmarshal(text, (*[][2]string)(t))
		return nil
	}
	var object map[string]string
	_ = json.Unmarshal(text, &object)
	for name, value := range object {
		if value != "" {
			*t = append(*t, [2]string{name, value})
		}
	}
	slices.SortFunc(*t, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return nil
}

func (t tags) get(name string) string {
	for _, pair := range t {
		if pair[0] == name {
			return line(pair[1])
		}
	}
	return ""
}

// text returns the pairs that have texts, one a line.
func (t tags) text(between string) string {
	var b strings.Builder
	for _, pair := range t[:min(len(t), maxPackages)] {
		if name := line(pair[0]); name != "" {
			b.WriteString(name + between + line(pair[1]) + "\n")
		}
	}
	return b.String()
}

// Report returns the report of the event in the envelope, and the id of the event, 32 hex digits or empty. It returns
// false if the envelope has no event that is stored: one of an error. The project must be that of the event.
func (e Envelope) Report(p Project) (r crash.Report, id string, stored bool, err error) {
	id = EventID(e.ID)
	if e.event == nil {
		return r, id, false, nil
	}
	var d event
	if err := decode(e.event, &d); err != nil {
		return r, id, false, err
	}
	id = cmp.Or(EventID(d.ID), id)
	if d.Type == "transaction" || !isError(d.Level) {
		return r, id, false, nil
	}
	r = crash.Report{Fields: d.fields(p)}
	r.Fields["EventID"], r.Fields["UserComment"] = id, e.comment()
	if r.Anonymous = id == "" || r.Fields["Date"] == ""; !r.Anonymous {
		r.Number = "sentry/" + p.event(id)
	}
	if d.ServerName != "" {
		// The same name in two projects may be of two machines.
		r.System = crash.HashedSystemID("sentry/" + p.event(d.ServerName))
	}
	for name, text := range r.Fields {
		if text == "" {
			delete(r.Fields, name)
		}
	}
	return r, id, true, nil
}

// isError reports whether events of a level are stored. Those without a level are errors.
func isError(level string) bool {
	return !slices.Contains([]string{"debug", "info", "warning", "log", "sample"}, level)
}

// comment returns what a person wrote about the event, without name and address of the person.
func (e Envelope) comment() string {
	var feedback struct {
		Comments string   `json:"comments"`
		Contexts contexts `json:"contexts"`
	}
	if e.feedback == nil || decode(e.feedback, &feedback) != nil {
		return ""
	}
	return note(cmp.Or(feedback.Comments, feedback.Contexts.Feedback.Message))
}

func (d *event) fields(p Project) crash.Fields {
	name, version := d.release()
	f := crash.Fields{
		"Package":          strings.TrimSpace(word(p.Source) + " " + version),
		"SourcePackage":    p.Source,
		"DistroRelease":    d.distribution(),
		"Architecture":     word(d.Contexts.Device.Arch),
		"Date":             d.date(),
		"EventRelease":     line(d.Release),
		"EventDist":        line(d.Dist),
		"EventEnvironment": line(d.Environment),
		"EventPlatform":    line(d.Platform),
		"EventRuntime":     d.Contexts.Runtime.text(),
		"EventLibrary":     d.SDK.text(),
		"EventTags":        d.Tags.text("="),
		"EventExtra":       compact(d.Extra),
		"EventBreadcrumbs": compact(d.Breadcrumbs),
		"Dependencies":     d.Modules.text(" "),
	}
	if !d.native(f, p, cmp.Or(d.Tags.get("binary"), name)) {
		d.managed(f, p)
	}
	return f
}

func (n named) text() string { return strings.TrimSpace(line(n.Name) + " " + line(n.Version)) }

// release returns the name and the version in a release such as name@version+build. A release that is only a hash of a
// commit has no version: hashes have no order.
func (d *event) release() (name, version string) {
	name, version, ok := strings.Cut(line(d.Release), "@")
	if !ok {
		name, version = "", name
	}
	if version = word(version); version == "unknown" || len(version) >= 7 && isHex(version) {
		version = ""
	}
	return name, version
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// distribution returns the release of the operating system, such as "Debian 13". The version of a bare Linux is that of
// its kernel, which is none.
func (d *event) distribution() string {
	system := d.Contexts.OS
	name, version := line(system.DistributionName), line(system.DistributionVersion)
	if name == "" {
		name, version = line(system.Name), line(system.Version)
	}
	if name == "" || strings.EqualFold(name, "linux") {
		return ""
	}
	os := crash.OS{ID: name}
	if name != strings.ToLower(name) {
		os.Name = name
	}
	os.Version, _, _ = strings.Cut(version, " ")
	return string(os.Release())
}

// date returns the time of the event as apport writes it. It may be seconds, or a text with or without a time zone.
func (d *event) date() string {
	const layout = "Mon Jan _2 15:04:05 2006"
	text := strings.Trim(string(d.Timestamp), `"`)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds <= 0 || seconds > math.MaxInt32*10 {
			return ""
		}
		return time.Unix(int64(seconds), 0).UTC().Format(layout)
	}
	for _, known := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(known, text); err == nil {
			return at.UTC().Format(layout)
		}
	}
	return ""
}

// managed adds an exception with function names, or a message.
func (d *event) managed(f crash.Fields, p Project) {
	exceptions := d.Exceptions[:min(len(d.Exceptions), maxExceptions)]
	if slices.ContainsFunc(exceptions, func(e exception) bool { return e.Mechanism.ID != nil }) {
		// The outermost one has the number 0.
		exceptions = slices.Clone(exceptions)
		slices.SortStableFunc(exceptions, func(a, b exception) int { return b.number() - a.number() })
	}
	outermost := exception{}
	if n := len(exceptions); n > 0 {
		outermost = exceptions[n-1]
	}
	if len(outermost.Stack.Frames) == 0 {
		outermost.Stack = d.otherStack()
		if n := len(exceptions); n > 0 {
			exceptions = append(slices.Clone(exceptions[:n-1]), outermost)
		}
	}
	f["ProblemType"] = "Crash"
	handled := outermost.Mechanism.Handled
	if d.Level != "fatal" && (len(exceptions) == 0 || handled != nil && *handled) {
		f["ProblemType"] = "RecoverableProblem"
	}
	names := d.functions(outermost.Stack.Frames)
	usual := d.usualSignature(outermost, names)
	f["DuplicateSignature"] = line(p.Name) + ":" + d.signature(usual)
	f["Title"] = d.title(p, outermost, names)
	if d.Platform == "python" {
		f["Traceback"] = traceback(exceptions)
	} else {
		f["StackTrace"] = d.javaTrace(exceptions, outermost.Stack)
	}
	if len(exceptions) == 0 {
		f["ErrorMessage"] = note(d.text())
	}
}

func (e exception) number() int {
	if e.Mechanism.ID == nil {
		return 0
	}
	return *e.Mechanism.ID
}

// otherStack returns the stack of an event whose exception has none.
func (d *event) otherStack() stacktrace {
	for _, thread := range d.Threads {
		if (thread.Crashed || thread.Current) && len(thread.Stack.Frames) > 0 {
			return thread.Stack
		}
	}
	return d.Stack
}

// text returns the message of the event.
func (d *event) text() string { return cmp.Or(d.LogEntry.text, d.Message.text) }

// template returns the message without its arguments, as far as the event knows it.
func (d *event) template() string {
	return cmp.Or(d.LogEntry.template, d.Message.template, d.LogEntry.text, d.Message.text)
}

// usualSignature returns the signature without the project: the exception and the functions of the program from the
// crash outwards, without files, lines and values. Without functions, it is the message, or where it happened.
func (d *event) usualSignature(e exception, names []string) string {
	kind := e.kind()
	if kind != "" && len(names) > 0 {
		return strings.Join(append([]string{kind}, names...), ":")
	}
	if text := grouping.Normalise(d.template()); text != "" {
		return "message:" + text
	}
	return strings.Trim(kind+":"+cmp.Or(d.place(), grouping.Normalise(firstLine(e.Value))), ":")
}

// place returns where the event happened, if it says so apart from the stack.
func (d *event) place() string {
	return grouping.Normalise(firstLine(cmp.Or(d.Culprit, d.Transaction)))
}

// kind returns the type of an exception. A synthetic one has no type that says anything.
func (e exception) kind() string {
	if e.Mechanism.Synthetic {
		return ""
	}
	return line(e.Type)
}

// signature returns the fingerprint of the client, in which {{ default }} stands for the usual signature.
func (d *event) signature(usual string) string {
	var parts []string
	for _, part := range d.Fingerprint[:min(len(d.Fingerprint), inSignature)] {
		part = line(part)
		if strings.ReplaceAll(part, " ", "") == "{{default}}" {
			part = usual
		}
		parts = append(parts, part)
	}
	if s := strings.Join(parts, ":"); strings.Trim(s, ":") != "" {
		return s
	}
	return usual
}

// title returns the title without values, which may be private.
func (d *event) title(p Project, e exception, names []string) string {
	where := ""
	if len(names) > 0 {
		where = " in " + names[0] + "()"
	} else if place := d.place(); place != "" {
		where = " in " + place
	}
	switch kind := e.kind(); {
	case kind != "":
		return line(p.Name) + " crashed with " + kind + where
	case d.template() != "":
		return line(p.Name) + ": " + firstLine(grouping.Normalise(d.template()))
	default:
		return line(p.Name) + " reported an error" + where
	}
}

// functions returns the names for the signature: those of the program or, without one, all, from the crash outwards.
// A recursion counts once.
func (d *event) functions(frames []frame) []string {
	own := slices.ContainsFunc(frames, func(f frame) bool { return f.InApp != nil && *f.InApp && d.name(f) != "" })
	var names []string
	for _, f := range slices.Backward(frames) {
		name := d.name(f)
		if name == "" || own && (f.InApp == nil || !*f.InApp) || len(names) > 0 && names[len(names)-1] == name {
			continue
		}
		if names = append(names, name); len(names) == inSignature {
			break
		}
	}
	return names
}

// name returns the function, with its package or class in languages whose functions have short names, or "" if nobody
// knows it.
func (d *event) name(f frame) string {
	function, module := line(f.Function), line(f.Module)
	switch {
	case slices.Contains([]string{"", "?", "<unknown>", "<anonymous>"}, function), strings.HasSuffix(function, ".?"):
		return ""
	case module == "" || !slices.Contains([]string{"go", "java", "csharp"}, d.Platform):
		return function
	}
	return module + "." + function
}

func (f frame) file() string { return line(cmp.Or(f.Path, f.File, f.Package)) }

// traceback returns exceptions as Python writes them.
func traceback(exceptions []exception) string {
	var b strings.Builder
	for i, e := range exceptions {
		if i > 0 {
			b.WriteString("\nDuring handling of the above exception, another exception occurred:\n\n")
		}
		if frames := e.Stack.Frames; len(frames) > 0 {
			b.WriteString("Traceback (most recent call last):\n")
			for _, f := range frames[max(0, len(frames)-maxFrames):] {
				b.WriteString("  File \"" + cmp.Or(f.file(), "?") + "\", line " + strconv.FormatInt(f.Line, 10) +
					", in " + cmp.Or(line(f.Function), "<unknown>") + "\n")
				if code := line(f.Code); code != "" {
					b.WriteString("    " + code + "\n")
				}
			}
		}
		b.WriteString(e.head() + "\n")
	}
	return b.String()
}

// javaTrace returns exceptions as Java writes them, the outermost first; without one, it returns the stack.
func (d *event) javaTrace(exceptions []exception, stack stacktrace) string {
	var b strings.Builder
	for i, e := range slices.Backward(exceptions) {
		if i < len(exceptions)-1 {
			b.WriteString("Caused by: ")
		}
		b.WriteString(e.head() + "\n")
		d.writeCalls(&b, e.Stack.Frames)
	}
	if len(exceptions) == 0 {
		d.writeCalls(&b, stack.Frames)
	}
	return b.String()
}

func (d *event) writeCalls(b *strings.Builder, frames []frame) {
	for _, f := range slices.Backward(frames[max(0, len(frames)-maxFrames):]) {
		b.WriteString("\tat " + cmp.Or(d.name(f), "<unknown>") + "(" + cmp.Or(f.file(), "Unknown Source"))
		if f.Line > 0 {
			b.WriteString(":" + strconv.FormatInt(f.Line, 10))
		}
		b.WriteString(")\n")
	}
}

// head returns the first line of an exception, with its value.
func (e exception) head() string {
	kind, value := cmp.Or(line(e.Type), "Error"), line(e.Value)
	if value == "" {
		return kind
	}
	return kind + ": " + value
}

// native adds the crash of a program by a signal, and reports whether the event is one.
func (d *event) native(f crash.Fields, p Project, program string) bool {
	i := slices.IndexFunc(d.Exceptions, func(e exception) bool { return e.Mechanism.Meta.Signal.Number > 0 })
	if i < 0 || d.Platform != "native" && d.Platform != "c" {
		return false
	}
	e := d.Exceptions[i]
	frames := e.Stack.Frames
	if len(frames) == 0 {
		frames = d.otherStack().Frames
	}
	images := d.Debug.Images[:min(len(d.Debug.Images), maxImages)]
	f["ProblemType"] = "Crash"
	f["Signal"] = strconv.Itoa(e.Mechanism.Meta.Signal.Number)
	if len(images) > 0 && line(images[0].File) != "" {
		program = line(images[0].File) // the program is the first module
	}
	f["ExecutablePath"] = cmp.Or(program, f["SourcePackage"])
	var calls []grouping.ModuleFrame
	for _, f := range slices.Backward(frames[max(0, len(frames)-maxFrames):]) {
		calls = append(calls, f.place(images))
	}
	grouping.SetStack(f, calls)
	if len(d.Fingerprint) > 0 {
		if s := d.signature(""); s != "" {
			f["DuplicateSignature"] = line(p.Name) + ":" + s
		}
	}
	return true
}

// place returns the frame with its place in one of the modules.
func (f frame) place(images []image) grouping.ModuleFrame {
	address, _ := number(f.Address)
	call := grouping.ModuleFrame{Address: address, Function: f.Function, Module: f.Package}
	for _, m := range images {
		begin, ok := number(m.Address)
		if ok && m.Size > 0 && address >= begin && address-begin < uint64(m.Size) {
			call.Module, call.BuildID, call.Offset = m.File, m.CodeID, address-begin
			break
		}
	}
	return call
}

// number returns an address in hex, with 0x, or decimal.
func number(text string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 64)
	return n, err == nil
}

// compact returns a JSON value of limited length, or "" if it is empty.
func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if len(value) <= len(`null`) || json.Compact(&b, value) != nil {
		return ""
	}
	return note(b.String())
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line(first)
}

// note returns a text of several lines of limited length.
func note(s string) string {
	if len(s) > maxNote {
		s = strings.ToValidUTF8(s[:maxNote], "")
	}
	return strings.TrimSpace(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

// line returns s as one line of limited length, without control characters.
func line(s string) string { return crash.Line(s, maxText) }

// word returns s without blanks.
func word(s string) string { return strings.Join(strings.Fields(line(s)), "_") }
