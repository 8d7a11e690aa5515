package tracker

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// DefaultTemplate is the template of bugs without one of their own.
const DefaultTemplate = `{what_happened} {how_often}

Current numbers and all reports: {problem_url}

{facts}
{?versions_table}

Reports by version and release:

{versions_table}
{/versions_table}
{?reproduce}

How to reproduce, in the words of a report:

{reproduce}
{/reproduce}
{?trace}

{trace}
{/trace}
`

// maxTemplate is the longest template, in characters.
const maxTemplate = 20_000

// TemplateName is the name of a value in templates.
type TemplateName struct {
	Name  string
	Means string
}

// TemplateNames returns all names. Values are redacted; an unknown value is empty, and its block is
// left out.
func TemplateNames() []TemplateName {
	return []TemplateName{
		{"problem_url", "the permanent address of the problem; required in every bug"},
		{"title", "the title of the bug, at any length"},
		{"whole_title", "the same, only if it is too long for a bug title"},
		{"what_happened", "the title as a full sentence"},
		{"how_often", "one sentence: number of reports and machines, and since when"},
		{"reports", "number of reports"}, {"machines", "number of machines"},
		{"first_day", "day of the first report"}, {"last_day", "day of the newest report"},
		{"facts", "program, package, versions and so on, as an aligned list"},
		{"program", "path of the program"}, {"package", "binary package"}, {"source_package", "source package"},
		{"first_version", "version of the oldest report, and its release"},
		{"last_version", "version of the newest report, and its release"},
		{"highest_version", "highest version with the problem, and its release"},
		{"architecture", "of the report with the trace"},
		{"architectures", "all architectures, with the number of reports"},
		{"problem_type", "Crash, KernelOops, Package, …"}, {"signature", "the signature of the problem"},
		{"versions_table", "versions × releases as an aligned table"},
		{"trace", "assertion, traceback, stack and the text used for grouping " +
			"(panic, kernel message, package log), with headings"},
		{"reproduce", "steps to reproduce, if a report has them"},
		{"report_version", "version and release of the report with the trace"},
		{"frames", "the top of the stack"}, {"traceback", "the Python traceback"}, {"assertion", "the assertion that failed"},
		{"kernel_message", "the kernel message"}, {"error_message", "the package manager's error message"},
	}
}

// values returns the values of the names for one bug.
func (w writer) values(title string) map[string]string {
	full := w.title()
	values := map[string]string{
		"problem_url": w.marker, "title": full, "what_happened": w.whatHappened(), "how_often": w.howOften(),
		"facts": w.facts(), "trace": w.trace(), "reproduce": w.reproduce(),
		"frames": w.stack(), "traceback": w.traceback(), "kernel_message": w.oops(),
		"assertion":      w.line(w.report.Fields["AssertionMessage"], 1000),
		"error_message":  w.line(w.report.Fields["ErrorMessage"], 1000),
		"report_version": versionIn(w.report.Version, w.report.Release),
		"program":        Clean(w.redact.Path(w.bucket.Executable), 200),
		"package":        Clean(w.bucket.Package, 100), "source_package": Clean(w.bucket.SourcePackage, 100),
		"first_version":   versionIn(w.bucket.FirstSeenVersion, w.bucket.FirstSeenRelease),
		"last_version":    versionIn(w.bucket.LastSeenVersion, w.bucket.LastSeenRelease),
		"highest_version": versionIn(w.bucket.HighestVersion, w.bucket.HighestVersionRelease),
		"architecture":    Clean(w.report.Architecture, 20), "architectures": w.seenOn(),
		"problem_type": Clean(w.bucket.ProblemType, 50),
		"signature":    Clean(w.redact.Signature(w.bucket.Signature), 300),
	}
	if full != title {
		values["whole_title"] = crash.Shorten(full, 2000)
	}
	if w.bucket.Reports > 0 {
		values["reports"], values["machines"] = itoa(w.bucket.Reports), itoa(w.bucket.Systems)
		values["first_day"], values["last_day"] = day(w.bucket.FirstSeen), day(w.bucket.LastSeen)
	}
	if len(w.versions) > 0 && (w.section == nil || w.template != DefaultTemplate) { // else the section has the table
		values["versions_table"] = versionTable(w.versions)
	}
	for name, value := range values {
		values[name] = strings.TrimRight(value, "\n")
	}
	return values
}

// textPart is a part of a template: text, a name, or a block that is left out if its name has no
// value.
type textPart struct {
	text  string
	name  string
	block []textPart // parts of a block; nil: not a block
}

var (
	templateMark = regexp.MustCompile(`\{\{|\{([?/]?)([A-Za-z0-9_]*)\}|\{`)
	blockLine    = regexp.MustCompile(`(?m)^[ \t]*(\{[?/][a-z_]+\})[ \t]*(?:\n|\z)`)
)

// parseTemplate parses a template. The problems are sentences for its author.
func parseTemplate(text string) (parts []textPart, problems []string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lineOf := func(at int) int { return strings.Count(text[:at], "\n") + 1 }
	known := map[string]bool{}
	for _, n := range TemplateNames() {
		known[n.Name] = true
	}
	add := func(at int, format string, args ...any) {
		if len(problems) < 20 {
			problems = append(problems, fmt.Sprintf("Line %d: ", lineOf(at))+fmt.Sprintf(format, args...))
		}
	}
	// A line that contains only the mark of a block does not appear in the bug.
	alone := map[int]int{} // start of the mark → start of the next line
	lineStart := map[int]int{}
	for _, m := range blockLine.FindAllStringSubmatchIndex(text, -1) {
		alone[m[2]], lineStart[m[2]] = m[1], m[0]
	}
	type open struct {
		name  string
		at    int
		outer []textPart
	}
	var stack []open
	last := 0
	for _, m := range templateMark.FindAllStringSubmatchIndex(text, -1) {
		end, from := m[1], m[0]
		if after, ok := alone[m[0]]; ok {
			end, from = after, lineStart[m[0]]
		}
		if from > last {
			parts = append(parts, textPart{text: text[last:from]})
		}
		last = end
		mark := text[m[0]:m[1]]
		switch mark {
		case "{{":
			parts = append(parts, textPart{text: "{"})
			continue
		case "{":
			add(m[0], "“{” does not begin a name here; write {{ for a brace.")
			continue
		}
		kind, name := text[m[2]:m[3]], text[m[4]:m[5]]
		if !known[name] {
			add(m[0], "there is no value with the name “%s”.", Clean(name, 50))
		}
		switch kind {
		case "?":
			stack = append(stack, open{name, m[0], parts})
			parts = []textPart{}
		case "/":
			if len(stack) == 0 || stack[len(stack)-1].name != name {
				add(m[0], "{/%s} does not end an open block.", Clean(name, 50))
				continue
			}
			block := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			parts = append(block.outer, textPart{name: name, block: parts})
		default:
			parts = append(parts, textPart{name: name})
		}
	}
	if last < len(text) {
		parts = append(parts, textPart{text: text[last:]})
	}
	for _, block := range stack {
		add(block.at, "the block {?%s} is never ended; add {/%s}.", Clean(block.name, 50), Clean(block.name, 50))
	}
	return parts, problems
}

// CheckTemplate returns the problems of a template as sentences, or nil.
func CheckTemplate(text string) []string {
	parts, problems := parseTemplate(text)
	if !slices.ContainsFunc(parts, func(p textPart) bool { return p.name == "problem_url" && p.block == nil }) {
		problems = append(problems,
			"{problem_url} is missing, or only in a block: every bug needs the permanent address of its problem.")
	}
	if n := utf8.RuneCountInString(text); n > maxTemplate {
		problems = append(problems, fmt.Sprintf("The template has %d characters; the limit is %d.", n, maxTemplate))
	}
	if !storable(text) {
		problems = append(problems, "The template contains invalid characters.")
	}
	return problems
}

// fill replaces the names in a template with their values.
func fill(parts []textPart, values map[string]string) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.block != nil:
			if values[p.name] != "" {
				b.WriteString(fill(p.block, values))
			}
		case p.name != "":
			b.WriteString(values[p.name])
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}
