package layout

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
)

// Size formats a number of bytes: "812 B", "4.2 kB", "1.3 MB".
func Size(bytes int) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
}

// Ago formats how long before now t was, in decreasing precision: "just now", "3 min ago", "5 h
// ago", "2 d ago", then the date, with the year if it differs from now's.
func Ago(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < -time.Minute:
		return Date(t, now) // the machine's clock is ahead
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 14*24*time.Hour:
		return fmt.Sprintf("%d d ago", int(d.Hours()/24))
	default:
		return Date(t, now)
	}
}

// Date formats a day: "2 Sep", or "2 Sep 2025" if the year differs from now's.
func Date(t, now time.Time) string {
	if t.UTC().Year() == now.UTC().Year() {
		return t.UTC().Format("2 Jan")
	}
	return t.UTC().Format("2 Jan 2006")
}

// Exact formats a time to the second: "2026-09-02 14:03:07 UTC".
func Exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// MachineTime returns the value of a datetime attribute.
func MachineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Machines returns the number of distinct machines that sent some reports. Reports through some doors name no machine:
// if none does, the number is unknown.
func Machines(machines, reports int64) string {
	if machines == 0 && reports > 0 {
		return "unknown"
	}
	return crash.Count(machines)
}

// ShortRelease returns the release without "Ubuntu", from which most reports come: "Ubuntu 24.04" →
// "24.04", but "Debian 13" unchanged.
func ShortRelease(r crash.Release) string {
	return strings.TrimPrefix(string(r), "Ubuntu ")
}

// FullRelease returns the release with its code name: "Ubuntu 24.04 (noble)".
func FullRelease(r crash.Release) string {
	switch codename := r.Codename(); {
	case r == "":
		return "unknown release"
	case codename == "":
		return string(r)
	default:
		return fmt.Sprintf("%s (%s)", r, codename)
	}
}

// OrUnknown returns s, or "unknown" if it is empty.
func OrUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Cut shortens a text to n characters.
func Cut(s string, n int) string { return crash.Shorten(s, n) }

// PreText returns text for a pre element, of which browsers drop the first line break.
func PreText(s string) string { return "\n" + s }

// unreadWords is the number of unread notices in the header, cut at 99.
func unreadWords(n int64) string {
	const most = 99
	if n > most {
		return strconv.Itoa(most) + "+"
	}
	return strconv.FormatInt(n, 10)
}

// Sparkline is a small chart in a line of text: one bar per day, all in one SVG path.
type Sparkline struct {
	Path  string // SVG path, in a box of sparkWidth by sparkHeight
	Label string // its description: "most on 3 May: 14"
	Any   bool
}

// The box of a sparkline. Each bar is a line two units wide, with one unit of space beside it.
const (
	sparkStep   = 3
	sparkHeight = 16
)

// NewSparkline returns the chart of counts by day, of which the last is until.
func NewSparkline(days []int64, until time.Time) Sparkline {
	var most, at int64
	for i, n := range days {
		if n > 0 && n >= most {
			most, at = n, int64(i)
		}
	}
	if most == 0 {
		return Sparkline{Label: fmt.Sprintf("none in the past %d days", len(days))}
	}
	const bytesPerBar = len("M100 16v-16")
	var path strings.Builder
	path.Grow(bytesPerBar * len(days))
	number := func(before string, n int64) {
		path.WriteString(before)
		path.WriteString(strconv.FormatInt(n, 10)) // numbers below 100 need no memory
	}
	for i, n := range days {
		if n <= 0 {
			continue
		}
		height := max(int64(1), (n*sparkHeight+most/2)/most)
		number("M", int64(i*sparkStep+1))
		number(" ", sparkHeight)
		number("v-", height)
	}
	day := until.AddDate(0, 0, int(at)-len(days)+1)
	return Sparkline{Path: path.String(), Any: true,
		Label: fmt.Sprintf("at most %s a day in the past %d days, on %s", crash.Count(most), len(days), Date(day, until))}
}

// StatusClass returns the class of a status mark.
func StatusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietStates are the states that lists do not mark, because most problems have them.
var quietStates = []crash.StateWord{crash.StateNone, crash.StateUnknown, crash.StateNew, crash.StateUnfiled,
	crash.StateNameless, crash.StateTests}

func marked(w crash.StateWord) bool { return !slices.Contains(quietStates, w) }

// The part of a page with the status of a problem, and how htmx replaces it.
const (
	StatusID     = "status"
	StatusTarget = "#" + StatusID
	Morph        = "outerMorph" // htmx replaces an element but leaves equal descendants in place
)

// Via is the query parameter that holds the list from which a page was opened.
const Via = "via"

// WithVia adds the list to the address of a page. An empty list changes nothing.
func WithVia(path, list string) string {
	if list == "" {
		return path
	}
	return path + "?" + url.Values{Via: {list}}.Encode()
}

// Pager holds the links from a page to its neighbours in the list from which it was opened.
type Pager struct {
	Via            string // address of the list; empty: the page was opened otherwise
	List           string // contents of the list, in words
	Chosen         string // filter within the list; empty: all
	Previous, Next string // addresses; empty: there is none
	Place, Of      int    // position of the problem in the list; Place 0: it is no longer in the list

	PreviousProblem, NextProblem bool // the neighbour belongs to another problem
}

// Any reports whether there is anything to show.
func (p Pager) Any() bool { return p.Via != "" || p.Previous != "" || p.Next != "" }

// FilterText describes the reports that pass a filter; empty: all.
func FilterText(f index.Filter) string {
	var parts []string
	if f.Version != "" {
		parts = append(parts, "version "+Cut(f.Version, 60))
	}
	for _, part := range []string{string(f.Release), f.Architecture} {
		if part != "" {
			parts = append(parts, Cut(part, 60))
		}
	}
	if f.Complete {
		parts = append(parts, "with a trace")
	}
	return strings.Join(parts, ", ")
}

// Signature is a signature split into parts for display: "tidewatch SIGSEGV tide_parse_row →
// tide_load".
type Signature struct {
	Program string   // base name of the executable; empty: the text does not begin with one
	Signal  string   // "SIGSEGV", or the name of an exception
	Frames  []string // function names, or other parts, in the order of the signature
}

// maxFrames is the number of parts that a short signature shows.
const maxFrames = 12

// ReadSignature splits the signature of a bucket. Text that it cannot parse stays in one piece, so
// nothing is lost.
func ReadSignature(b crash.Bucket) Signature {
	text := strings.TrimPrefix(b.Signature, "failed:") // errors.ubuntu.com marks crashes without symbols
	var s Signature
	rest := text
	if after, ok := strings.CutPrefix(text, b.Executable+":"); ok && b.Executable != "" {
		s.Program, rest = path.Base(b.Executable), after
	} else if strings.HasPrefix(text, "/") {
		exe, after, _ := cutPart(text)
		s.Program, rest = path.Base(exe), after
	}
	if s.Program == "" && withProgram(b.Rule) {
		s.Program, rest, _ = cutPart(rest) // a package takes the place of the program
	}
	switch b.Rule {
	case crash.RuleAssertion:
		s.Signal, s.Frames = "SIGABRT", []string{rest}
	case crash.RuleStacktrace, crash.RuleAddress, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		signal, after, _ := cutPart(rest)
		s.Signal, rest = signalName(signal), after
		s.Frames = frames(rest)
	case crash.RuleTraceback, crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic,
		crash.RuleCompiler, crash.RuleRecoverable:
		s.Signal, rest, _ = cutPart(rest)
		s.Frames = frames(rest)
	case crash.RuleOops, crash.RuleKernelCrash, crash.RuleKernel:
		text = strings.TrimPrefix(strings.TrimPrefix(text, "kernel:"), "kernel ")
		s.Program, s.Frames = "kernel", frames(text)
	case crash.RulePackage, crash.RuleSnap:
		_, rest, _ = cutPart(text) // "package", "snap"
		s.Program, rest, _ = cutPart(rest)
		if b.Rule == crash.RulePackage {
			s.Signal, rest, _ = cutPart(rest)
		}
		s.Frames = []string{rest}
	case crash.RuleSuspendResume:
		s.Frames = frames(text)
	default:
		signal, after, more := cutPart(rest)
		if name, known := signals[signal]; known && more && s.Program != "" {
			s.Signal, s.Frames = name, frames(after)
		} else {
			s.Frames = []string{rest}
		}
	}
	s.Program, s.Signal, s.Frames = Cut(s.Program, 100), Cut(s.Signal, 100), tidy(s.Frames)
	return s
}

// withProgram reports whether signatures of the rule begin with a program or package.
func withProgram(r crash.GroupingRule) bool {
	switch r {
	case crash.RuleJava, crash.RulePython, crash.RuleGoPanic, crash.RuleRustPanic, crash.RuleCompiler,
		crash.RuleRecoverable, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleHang:
		return true
	default:
		return false
	}
}

// String returns the short form in one line: "tidewatch (SIGSEGV) tide_parse_row → tide_load".
func (s Signature) String() string {
	var parts []string
	if s.Program != "" {
		parts = append(parts, s.Program)
	}
	if s.Signal != "" {
		parts = append(parts, "("+s.Signal+")")
	}
	if len(s.Frames) > 0 {
		parts = append(parts, strings.Join(s.Frames, " → "))
	}
	if len(parts) == 0 {
		return "(blank signature)"
	}
	return strings.Join(parts, " ")
}

// cutPart cuts text at its first single colon. Double colons of C++ and Rust names stay inside a
// part, and so does the colon of a sentence, before a space.
func cutPart(text string) (part, rest string, found bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != ':' {
			continue
		}
		if i > 0 && i+2 < len(text) && text[i+1] == ':' && text[i+2] != ':' {
			i++
			continue
		}
		if i+1 < len(text) && text[i+1] == ' ' {
			continue
		}
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// frames splits the rest of a signature into its parts. It shortens paths to their last element.
func frames(text string) []string {
	var parts []string
	for more := text != ""; more && len(parts) <= maxFrames; {
		var part string
		part, text, more = cutPart(text)
		if strings.HasPrefix(part, "/") {
			part = path.Base(part)
		}
		parts = append(parts, part)
	}
	return parts
}

// tidy limits the parts and puts them on one line.
func tidy(parts []string) []string {
	var kept []string
	for _, part := range parts {
		if len(kept) == maxFrames {
			return append(kept, "…")
		}
		if part = strings.Join(strings.Fields(Cut(part, 200)), " "); part != "" {
			kept = append(kept, part)
		}
	}
	return kept
}

// signals maps the numbers of fatal Linux signals to their names.
var signals = map[string]string{
	"3": "SIGQUIT", "4": "SIGILL", "5": "SIGTRAP", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "11": "SIGSEGV",
	"24": "SIGXCPU", "25": "SIGXFSZ", "31": "SIGSYS",
}

func signalName(signal string) string {
	signal = strings.TrimSpace(signal)
	if name, ok := signals[signal]; ok {
		return name
	}
	if signal == "" || strings.Trim(signal, "0123456789") != "" {
		return signal
	}
	return "signal " + signal
}

// HoverText returns the signature as a tooltip, truncated for lists.
func HoverText(signature string) string {
	const most = 1000
	short := Cut(signature, most)
	if short != signature {
		short += " (the rest is on the problem's page)"
	}
	return short
}

// ProblemName returns the name of a problem in a line of text.
func ProblemName(b crash.Bucket) string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Title != "":
		return Cut(b.Title, 200)
	}
	return Cut(b.Signature, 200)
}

// Words holds words of the trade with what they mean, in alphabetical order, for tooltips and for the page of help.
// docs/glossary.md has the same rows.
var Words = [][2]string{
	{"active machine", "a machine that has reported anything in the past 90 days"},
	{"candidate", "a problem that a rule or a person proposes for filing"},
	{"disappeared", "has an open bug, and is probably fixed in every release"},
	{"embargoed", "visible only to people with the private right for the package"},
	{"first seen", "time, release and version of the oldest report"},
	{"fixed in", "the version of a release that has the fix, as a person says"},
	{"gone", "has no bug, and is probably fixed in every release"},
	{"held", "exempt from retention: its reports and core dumps stay, whatever their age"},
	{"interval", "holds the true value with 95% confidence"},
	{"last seen", "time, release and version of the newest report"},
	{"machine", "a computer that sends reports, known only by a hash"},
	{"muted", "hidden from lists until a condition is met"},
	{"new", "first seen in the past week"},
	{"not symbolised", "grouped by addresses, because its functions have no names yet"},
	{"oops", "another name for a report, in addresses"},
	{"problem", "all reports of one fault"},
	{"proposed", "the part of the distribution's package archive where updates are tested"},
	{"rate", "reports per 1,000 active machines a day"},
	{"regression", "seen again in a version that has the fix"},
	{"release", "a version of the distribution, such as Ubuntu 24.04"},
	{"report", "one crash, as a machine sent it"},
	{"representative report", "the report with the most named functions, then a complete one, then the newest"},
	{"rising", "clearly more reports in the past week than in the week before"},
	{"signature", "program, signal and functions: the same for all reports of one fault"},
	{"source package", "the package that bugs are filed against"},
	{"unread", "first reported, or changed, since you last looked"},
	{"won’t fix", "nobody intends to fix it"},
}

// Means returns what a word means, whatever its case and number, or "" if it is not among [Words].
func Means(word string) string {
	word = strings.ToLower(word)
	for _, form := range []string{word, strings.TrimSuffix(word, "s"), strings.TrimPrefix(word, "95% ")} {
		if i := slices.IndexFunc(Words, func(w [2]string) bool { return w[0] == form }); i >= 0 {
			return Words[i][1]
		}
	}
	return ""
}

// WeeklyKind names a kind of weekly report in forms.
func WeeklyKind(k crash.WeeklyKind) string {
	switch k {
	case crash.WeeklyMine:
		return "what I follow"
	case crash.WeeklyPackage:
		return "package"
	case crash.WeeklySet:
		return "package set"
	case crash.WeeklyTeam:
		return "person or team"
	case crash.WeeklyAll:
	}
	return "all packages"
}
