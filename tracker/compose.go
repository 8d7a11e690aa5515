package tracker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/privacy"
)

// maxSectioned is the limit of the first tracker for descriptions, in characters. Only there do descriptions have
// sections.
const maxSectioned = 50_000

var (
	validSource = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)        // names of source packages, Debian policy 5.6.1
	anySource   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]*$`) // the same and those of RPM
)

// IsSource reports whether a text can be the name of a source package.
func IsSource(name string) bool { return validSource.MatchString(name) }

type composer struct {
	cfg   Config
	store Store
	sites *Sites
}

// Destination is where the bug of a problem goes.
type Destination struct {
	*Site
	Target string // what the bug is filed against there, in the tracker's form
}

// Where says for people where the bug goes: "tidewatch in Ubuntu", "GNOME/mutter in GNOME".
func (d Destination) Where() string { return Choice{Member: d.Member, Target: d.Target}.Where() }

// SearchURL returns the address of the tracker's own search for bugs with some words, or "" if none is known.
func (d Destination) SearchURL(words string) string {
	if d.Kind.Search == "" || words == "" {
		return ""
	}
	target := d.Target
	if d.Kind.Mail { // "source/version"
		target, _, _ = strings.Cut(target, "/")
	}
	return d.URL + strings.NewReplacer("{target}", target, "{words}", url.QueryEscape(words)).Replace(d.Kind.Search)
}

// Choice is the tracker that gets the bug of a problem, and what decided that.
type Choice struct {
	Member
	Target string      // what the bug is filed against there, in the tracker's form
	Route  crash.Route // zero: no route decided
}

// Where says for people where the bug goes, as Destination.Where does.
func (c Choice) Where() string {
	if c.Kind.Name != crash.FirstTracker {
		return c.Target + " in " + c.Title
	}
	distribution, source, ok := strings.Cut(strings.TrimPrefix(c.Target, "/"), "/+source/")
	if ok {
		return unescape(source) + " in " + unescape(distribution)
	}
	return unescape(distribution)
}

// unescape returns a piece of a path as it was before Escape.
func unescape(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}

// Choose returns where the bug of a problem goes: by the first route that fits, else to the first tracker. For
// upstream, only routes to upstream's trackers count, and there has to be one. It returns Unprocessable if the bug
// cannot go there, with the code no_tracker and the route if that leads to a tracker that is not configured.
func (c *composer) Choose(ctx context.Context, b crash.Bucket, upstream bool) (Choice, error) {
	routes, err := c.store.RoutesFor(ctx, b.SourcePackage)
	if err != nil {
		return Choice{}, err
	}
	var others []string
	for _, m := range c.sites.Members() {
		if m.Upstream != upstream {
			others = append(others, m.Name)
		}
	}
	route, found := routes.First(b.SourcePackage, b.ProblemType, b.LastSeenRelease, others)
	choice, known := Choice{Route: route}, false
	switch {
	case found:
		if choice.Member, known = c.sites.Member(route.Tracker); !known {
			return choice, crash.Errorf(crash.Unprocessable, "no_tracker", "The route “%s” leads to a tracker that is not "+
				"in this instance's configuration. An administrator can change the route at /admin/routes, or add the "+
				"[[tracker]] table.", Clean(route.String(), 200))
		}
	case upstream:
		return choice, crash.Errorf(crash.Unprocessable, "no_upstream", "No route says where bugs of the upstream "+
			"project of %s go. An administrator can add one at /admin/routes.", cmp.Or(b.SourcePackage, "this problem"))
	default:
		if choice.Member, known = c.sites.First(false); !known {
			return choice, errNotConfigured("a tracker for this bug")
		}
	}
	choice.Target = expand(cmp.Or(route.Target, choice.Member.Target), b)
	if choice.Kind.Name == crash.FirstTracker {
		choice.Target = "/" + Escape(choice.Target)
		if b.SourcePackage != "" {
			choice.Target += "/+source/" + Escape(b.SourcePackage)
		}
		return choice, nil
	}
	if !choice.Kind.Targets.MatchString(choice.Target) {
		return choice, crash.Errorf(crash.Unprocessable, "bad_target", "The bug would go to “%s” in %s, which is "+
			"not of the form %s. An administrator can correct it at /admin/routes.", Clean(choice.Target, 200), choice.Title,
			choice.Kind.Form)
	}
	return choice, nil
}

// Destination is Choose with the place that the bug's number has.
func (c *composer) Destination(ctx context.Context, b crash.Bucket, upstream bool) (Destination, error) {
	choice, err := c.Choose(ctx, b, upstream)
	if err != nil {
		return Destination{}, err
	}
	project := ""
	if choice.PerProject() {
		project = choice.Target
	}
	site, err := c.sites.At(ctx, choice.Name, project)
	return Destination{site, choice.Target}, err
}

// CheckRoute says what is wrong with a route: its tracker is not in the configuration, or its target is not of the
// tracker's form. It returns an empty text for a correct one.
func (s *Sites) CheckRoute(r crash.Route) string {
	m, ok := s.Member(r.Tracker)
	if !ok {
		return fmt.Sprintf("there is no tracker %q in the configuration. There is %s.", Clean(r.Tracker, 40),
			strings.Join(s.Names(), ", "))
	}
	sample := crash.Bucket{SourcePackage: r.Package, LastSeenVersion: "1.0-1", LastSeenRelease: "Example 1.0"}
	if strings.ContainsAny(r.Package, `*?[\`) {
		sample.SourcePackage = "package"
	}
	given := cmp.Or(r.Target, m.Target)
	target := expand(given, sample)
	if strings.ContainsAny(target, "{}") {
		return fmt.Sprintf("the target “%s” has an unknown placeholder. There are {source}, {release} and {version}.",
			Clean(given, 200))
	}
	switch {
	case given == "":
		return fmt.Sprintf("the target is missing, and the configuration of %s has none. Its form is %s.", m.Title,
			m.Kind.Form)
	case !m.Kind.Targets.MatchString(target):
		return fmt.Sprintf("“%s” is no target in %s, whose form is %s.", Clean(given, 200), m.Title, m.Kind.Form)
	}
	return ""
}

// compose returns the bug that one click files for a bucket. From the report it uses only the
// redacted location of the fault. It returns Unprocessable if no bug can be filed.
func (c *composer) compose(ctx context.Context, b crash.Bucket, opts Options) (crash.Intent, error) {
	to, err := c.target(ctx, b, opts)
	if err != nil {
		return crash.Intent{}, err
	}
	w, err := c.writer(ctx, b, to.Site)
	if err != nil {
		return crash.Intent{}, err
	}
	in := to.intent(b.ID, opts)
	in.Tags, in.Marker, in.Subscribe = c.releaseTags(to, w.versions, w.redact), w.marker, true
	in.Title, in.Description = w.bug()
	in.Description = w.withSection(in.Description)
	return in, nil
}

// intent returns an intent without its text.
func (d Destination) intent(id crash.BucketID, opts Options) crash.Intent {
	in := crash.Intent{
		Bucket: id, Person: opts.Person, Tracker: d.Name, Project: d.Project, Target: d.Target, Upstream: opts.Upstream,
	}
	if d.Kind.Name == crash.FirstTracker { // people connect accounts of no other tracker
		in.Own = opts.Own
	}
	return in
}

func (c *composer) writer(ctx context.Context, b crash.Bucket, site *Site) (writer, error) {
	versions, err := c.store.BucketVersions(ctx, b.ID)
	if err != nil {
		return writer{}, err
	}
	architectures, _, err := c.store.BucketArchitectures(ctx, b.ID)
	if err != nil {
		return writer{}, err
	}
	report, err := c.store.RepresentativeReport(ctx, b.ID)
	if err != nil && !errors.Is(err, crash.NotFound) {
		return writer{}, err
	}
	template, err := c.store.BugTemplate(ctx, site.Name, b.SourcePackage, b.ProblemType)
	if err != nil {
		return writer{}, err
	}
	whole := report.Fields
	report.Fields = c.cfg.Privacy.ForBugs(whole)
	w := writer{
		kind: site.Kind, bucket: b, report: report, versions: versions, architectures: architectures,
		marker: c.Marker(b.ID), redact: privacy.NewRedactor(whole), whole: whole, // private fields name people and machines
		template: cmp.Or(template.Body, DefaultTemplate),
	}
	if site.Upstream {
		w.downstream, err = c.downstream(ctx, b.ID)
		return w, err
	}
	if site.Editor == nil {
		return w, nil
	}
	policies, err := c.store.UpdatePolicies(ctx)
	if err != nil || !policies.For(b.SourcePackage).Section {
		return w, err
	}
	if err := c.store.Judge(ctx, &b); err != nil {
		return writer{}, err
	}
	w.section = func(rows int) Section {
		return ComposeSection([]SectionProblem{{Bucket: b, Versions: versions, Marker: w.marker}}, c.cfg.Now(), rows)
	}
	return w, nil
}

// downstream returns a line with the address of the distribution's bug of a problem, or "" if it has none that is
// known to be public.
func (c *composer) downstream(ctx context.Context, id crash.BucketID) (string, error) {
	b, err := c.store.Bucket(ctx, id)
	if err != nil || b.Bug.Number == 0 || b.Bug.State.Read.IsZero() || b.Bug.State.Private || b.Bug.State.Hidden {
		return "", err
	}
	return "Downstream bug: " + b.Bug.URL + "\n", nil
}

// Marker returns the permanent address of a problem. Every bug holds it, so that a search finds the
// bug.
func (c *composer) Marker(id crash.BucketID) string { return c.cfg.BaseURL + id.Path() }

// target returns where the bug goes, with the source package in the options, or that of the bucket. The bug goes to
// the distribution as a whole if there is no package and the options permit it.
func (c *composer) target(ctx context.Context, b crash.Bucket, opts Options) (Destination, error) {
	b.SourcePackage = cmp.Or(strings.TrimSpace(opts.Source), b.SourcePackage)
	whole := b.SourcePackage == "" && opts.Distribution
	checked := b
	if whole {
		checked.SourcePackage = "any"
	}
	if reason := checked.NoFiling(); reason != "" {
		return Destination{}, crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
	}
	to, err := c.Destination(ctx, b, opts.Upstream)
	if err == nil && !whole && !to.isSource(b.SourcePackage) {
		return to, crash.Errorf(crash.Unprocessable, "bad_source_package",
			"%q cannot be the name of a source package.", Clean(b.SourcePackage, 100))
	}
	if err == nil && to.Review && opts.Draft == nil {
		return to, crash.Errorf(crash.Unprocessable, "needs_review", "A person has to review each bug before it goes to "+
			"%s. Press Review… instead.", to.Title)
	}
	return to, err
}

// isSource reports whether a name can be that of a source package whose bugs are in the tracker.
func (d Destination) isSource(name string) bool {
	if d.Kind.Name == crash.FirstTracker {
		return validSource.MatchString(name)
	}
	return anySource.MatchString(name)
}

// releaseTags returns tags for the releases of Launchpad's distribution in which the problem was seen,
// oldest first. The tag is the codename of a known release, or the name of another one if that is a valid
// tag. Bugs in other trackers get none, since projects there have their own words.
func (c *composer) releaseTags(to Destination, versions []crash.VersionCount, hide privacy.Redactor) []string {
	var tags []string
	if to.Kind.Name != crash.FirstTracker {
		return nil
	}
	for _, r := range ReleasesOf(versions).Ascending() {
		if r == crash.OtherReleases || r.Distribution() != to.Config.Target {
			continue
		}
		name := Clean(string(r), 40)
		if hide.Text(name) != name {
			continue // a system named after a person or machine
		}
		tag := cmp.Or(r.Codename(), strings.ReplaceAll(strings.ToLower(name), " ", "-"))
		if to.Kind.Tags.MatchString(tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

type writer struct {
	kind          *Kind // of the tracker, which limits the text
	bucket        crash.Bucket
	report        crash.StoredReport // without private fields; zero: there is none any more
	whole         crash.Fields       // of the report, with private ones, which no text may quote
	versions      []crash.VersionCount
	architectures []crash.NameCount
	marker        string
	redact        privacy.Redactor
	template      string
	downstream    string                 // last line of a bug for the upstream project; empty: none
	section       func(rows int) Section // composes the section that mishap will update; nil: there is none
}

func (w writer) title() string {
	title := Clean(w.redact.Text(w.bucket.Title), maxSectioned)
	if title == "" {
		title = "Problem in " + w.subject() + ": " + Clean(w.redact.Signature(w.bucket.Signature), 1000)
	}
	return title
}

func (w writer) subject() string {
	return cmp.Or(Clean(w.bucket.SourcePackage, 100), Clean(w.bucket.Package, 100),
		Clean(w.redact.Path(w.bucket.Executable), 200), "an unknown program")
}

func (w writer) bug() (title, description string) {
	title = crash.Shorten(w.title(), w.kind.MaxTitle)
	return title, withMarker(w.description(title), w.marker, w.kind.MaxDescription)
}

// withSection adds the section to a composed description, which it shortens if necessary.
func (w writer) withSection(description string) string {
	if w.section == nil {
		return description
	}
	if _, out, ok := FitSection(w.section, func(s Section) string { return AppendSection(description, s.Text) }); ok {
		return out
	}
	text := w.section(0).Text
	room := w.kind.MaxDescription - utf8.RuneCountInString(text) - utf8.RuneCountInString(w.marker) - 6
	short := crash.Shorten(description, room)
	return AppendSection(WithMarker(short, w.marker), text)
}

// description fills the template. It uses DefaultTemplate if the template is invalid, although
// invalid templates are never saved.
func (w writer) description(title string) string {
	parts, problems := parseTemplate(w.template)
	if len(problems) > 0 {
		parts, _ = parseTemplate(DefaultTemplate)
	}
	text := strings.TrimSpace(fill(parts, w.values(title))) + "\n"
	if w.downstream != "" {
		text += "\n" + w.downstream
	}
	return text
}

func (w writer) whatHappened() string {
	s := crash.Shorten(w.title(), 2000)
	if strings.HasSuffix(s, "…") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func (w writer) howOften() string {
	b := w.bucket
	if b.Reports == 0 {
		return "This problem has been reported to mishap by test machines only."
	}
	s := "mishap has received " + counted(b.Reports, "report", "reports") + " of this problem"
	if b.Systems > 0 {
		s += " from " + counted(b.Systems, "machine", "machines")
	}
	if first, last := day(b.FirstSeen), day(b.LastSeen); first == last {
		s += ", on " + first
	} else {
		s += " since " + first + ", the latest on " + last
	}
	return s + "."
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (w writer) facts() string {
	b := w.bucket
	highest := ""
	if b.HighestVersion != b.LastSeenVersion {
		highest = versionIn(b.HighestVersion, b.HighestVersionRelease)
	}
	rows := [][2]string{
		{"Program", Clean(w.redact.Path(b.Executable), 200)},
		{"Package", Clean(b.Package, 100)},
		{"Source package", Clean(b.SourcePackage, 100)},
		{"First version seen", versionIn(b.FirstSeenVersion, b.FirstSeenRelease)},
		{"Last version seen", versionIn(b.LastSeenVersion, b.LastSeenRelease)},
		{"Highest version", highest},
		{"Architectures", w.seenOn()},
		{"Kind of problem", Clean(b.ProblemType, 50)},
		{"Signature", Clean(w.redact.Signature(b.Signature), 300)},
	}
	width := 0
	for _, row := range rows {
		if row[1] != "" {
			width = max(width, utf8.RuneCountInString(row[0]))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		if row[1] != "" {
			out.WriteString(row[0] + ":" + strings.Repeat(" ", width-len(row[0])+1) + row[1] + "\n")
		}
	}
	return out.String()
}

func (w writer) seenOn() string {
	if len(w.architectures) < 2 {
		if len(w.architectures) == 1 && w.architectures[0].Name != "" {
			return Clean(w.architectures[0].Name, 20)
		}
		return Clean(w.report.Architecture, 20)
	}
	names := make([]string, len(w.architectures))
	for i, a := range w.architectures {
		names[i] = orUnknown(Clean(a.Name, 20)) + " (" + counted(a.Reports, "report", "reports") + ")"
	}
	return strings.Join(names, ", ")
}

func versionIn(version string, release crash.Release) string {
	version = Clean(version, 100)
	if version != "" && release != "" {
		version += " (" + Clean(string(release), 50) + ")"
	}
	return version
}

// NamesIntro begins each text of NamesComment.
const NamesIntro = "The functions of this crash have names now."

// NamesComment returns the comment for a bug that was filed before the functions of its problem had
// names: the signature and the top of the stack of a report, redacted as in bugs. The report is
// zero if none is stored any more. marker is the address of the problem.
func NamesComment(b crash.Bucket, report crash.StoredReport, fields *privacy.Table, marker string) string {
	w := writer{bucket: b, report: report, redact: privacy.NewRedactor(report.Fields)}
	w.report.Fields = fields.ForBugs(report.Fields)
	var text strings.Builder
	text.WriteString(NamesIntro + "\n\nSignature: " +
		Clean(w.redact.Signature(b.Signature), maxLine) + "\n")
	if stack := w.stack(); stack != "" {
		text.WriteString("\nTop of the stack" + w.from() + ":\n\n" + stack)
	}
	text.WriteString("\nCounts, versions and stacks: " + marker +
		"\n\nThis message is sent once by mishap, which collects crash reports.")
	return text.String()
}

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
		values["versions_table"] = versionTable(w.versions, maxTableRows)
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

const (
	maxTableRows    = 30
	maxTableColumns = 8
)

// ReleasesOf lists the releases of cells that a text names, as [crash.ReleaseList] chooses them.
func ReleasesOf(cells []crash.VersionCount) crash.ReleaseList {
	reports := map[crash.Release]int64{}
	for _, c := range cells {
		reports[c.Release] += c.Reports
	}
	return crash.Releases().List(reports)
}

// versionTable returns the versions × releases table as aligned text with at most rows versions, newest
// first. Lines below it count what does not fit.
func versionTable(cells []crash.VersionCount, rows int) string {
	var versions []string
	count := map[string]map[crash.Release]int64{}
	for _, c := range cells {
		if count[c.Version] == nil {
			versions = append(versions, c.Version)
			count[c.Version] = map[crash.Release]int64{}
		}
		count[c.Version][c.Release] += c.Reports
	}
	list := ReleasesOf(cells)
	others := map[crash.Release]bool{}
	for _, c := range cells {
		others[c.Release] = true
	}
	columns := list.Descending() // known and new ones first
	columns = columns[:min(len(columns), maxTableColumns)]
	releases := slices.DeleteFunc(list.Ascending(), func(r crash.Release) bool {
		return r == crash.OtherReleases || !slices.Contains(columns, r)
	})
	for _, r := range releases {
		delete(others, r)
	}
	olderVersions := max(0, len(versions)-rows)
	versions = versions[:len(versions)-olderVersions]

	table := [][]string{{"Version"}}
	for _, r := range releases {
		table[0] = append(table[0], orUnknown(Clean(string(r), 30)))
	}
	for _, v := range versions {
		row := []string{orUnknown(Clean(v, 60))}
		for _, r := range releases {
			cell := ""
			if n := count[v][r]; n > 0 {
				cell = strconv.FormatInt(n, 10)
			}
			row = append(row, cell)
		}
		table = append(table, row)
	}
	out := align(table)
	if olderVersions > 0 {
		out += "and " + counted(int64(olderVersions), "older version", "older versions") + "\n"
	}
	if len(others) > 0 {
		out += "and " + counted(int64(len(others)), "other release", "other releases") + "\n"
	}
	return out
}

func orUnknown(s string) string { return cmp.Or(s, "(unknown)") }

// align pads the cells of each column to the same width. The first column is aligned to the left,
// the others to the right.
func align(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func counted(n int64, one, many string) string { return itoa(n) + " " + crash.Plural(n, one, many) }

// The first and the last line of the section that mishap updates in the description of a bug. They
// never change, because mishap finds the section by them.
const (
	sectionBegins = "=== Crash reports (updated by mishap; if you change this section, mishap leaves it alone) ==="
	sectionEnds   = "=== End of crash reports ==="
)

const (
	maxSectionProblems = 5
	maxSectionReleases = 12
)

// SectionProblem is a problem that a section describes.
type SectionProblem struct {
	Bucket   crash.Bucket         // with its status
	Versions []crash.VersionCount // versions × releases, newest version first
	Marker   string               // permanent address of the problem
}

// Section is a text for the description of a bug: counts by version and release, the last report and
// probable fixes. It holds nothing of single reports.
type Section struct {
	Text  string // with its first and last line, without a line feed at the end
	Facts crash.SectionFacts
}

// Hash identifies the text of the section. See SectionsIn.
func (s Section) Hash() string { return hashOfSection(s.Text) }

// ComposeSection returns the section for the bug of some problems, the most frequent first. The
// tables have at most rows versions.
func ComposeSection(problems []SectionProblem, today time.Time, rows int) Section {
	var text, shape strings.Builder
	var facts crash.SectionFacts
	others := max(0, len(problems)-maxSectionProblems)
	for i, p := range problems {
		facts.Reports += p.Bucket.Reports
		facts.Last = max(facts.Last, day(p.Bucket.LastSeen))
		shape.WriteString(p.Bucket.ID.String() + "\n")
		if i >= maxSectionProblems {
			continue
		}
		if i > 0 {
			text.WriteString("\n")
		}
		if len(problems) > 1 {
			fmt.Fprintf(&text, "Problem %d: %s\n", i+1, p.Marker)
		}
		lines := releaseLines(p.Bucket.Status)
		for _, c := range p.Versions {
			shape.WriteString(c.Version + " " + string(c.Release) + "\n")
		}
		shape.WriteString(lines)
		text.WriteString(p.counts() + "\n")
		if lines != "" {
			text.WriteString("\n" + lines)
		}
		if len(p.Versions) > 0 && rows > 0 {
			text.WriteString("\nReports by version and release:\n\n" + versionTable(p.Versions, rows))
		}
	}
	if others > 0 {
		fmt.Fprintf(&text, "\nand %s\n", counted(int64(others), "other problem", "other problems"))
	}
	facts.Shape = hashOfSection(shape.String())
	where := ""
	if len(problems) == 1 {
		where = " Current counts: " + problems[0].Marker
	}
	return Section{Facts: facts, Text: sectionBegins + "\n\n" + text.String() + "\nAs of " + day(today) + "." + where +
		"\n" + sectionEnds}
}

func (p SectionProblem) counts() string {
	b := p.Bucket
	if b.Reports == 0 {
		return "Only test machines have reported this problem."
	}
	s := counted(b.Reports, "report", "reports")
	if b.Systems > 0 {
		s += " from " + counted(b.Systems, "machine", "machines")
	}
	s += " since " + day(b.FirstSeen) + ". Last report: " + day(b.LastSeen)
	if v := versionIn(b.LastSeenVersion, b.LastSeenRelease); v != "" {
		s += ", version " + v
	} else if b.LastSeenRelease != "" {
		s += ", " + Clean(string(b.LastSeenRelease), 50)
	}
	return s + "."
}

// releaseLines says which version probably has the fix, and then for each supported release in which
// versions the problem was seen.
func releaseLines(s crash.Status) string {
	var fixes, lines []string
	for _, r := range s.Releases {
		if r.Ended || len(lines) == maxSectionReleases {
			continue
		}
		name := cleanRelease(r.Release)
		switch {
		case r.Word == crash.StateFixed && r.Fix != "":
			fixes = append(fixes, Clean(r.Fix, 60)+" ("+name+")")
		case r.Word == crash.StateGone:
			fixes = append(fixes, "by "+Clean(r.Newer, 60)+" ("+name+")")
		}
		lines = append(lines, name+": "+Clean(r.Verdict(), 400)+"\n")
	}
	if len(lines) == 0 {
		return ""
	}
	fix := "none known"
	if len(fixes) > 0 {
		fix = strings.Join(fixes, ", ")
	}
	return "Probable fix: " + fix + "\n" + strings.Join(lines, "")
}

func cleanRelease(r crash.Release) string {
	if r == "" {
		return r.Short()
	}
	return Clean(string(r), 50)
}

// SectionsIn returns the sections of mishap in the description of a bug, in order. Each begins with
// the first line of a section and ends with the next last line.
func SectionsIn(description string) []FoundSection {
	var found []FoundSection
	at, begin := 0, -1
	for line := range strings.Lines(description) {
		switch strings.TrimSpace(line) {
		case sectionBegins:
			begin = at
		case sectionEnds:
			if begin >= 0 {
				end := at + len(strings.TrimRight(line, " \t\r\n"))
				found = append(found, FoundSection{Begin: begin, End: end, Hash: hashOfSection(description[begin:end])})
			}
			begin = -1
		}
		at += len(line)
	}
	return found
}

// FoundSection is the place of a section in a description.
type FoundSection struct {
	Begin, End int // bytes
	Hash       string
}

// HasSectionLine reports whether a description contains the first or the last line of a section.
func HasSectionLine(description string) bool {
	for line := range strings.Lines(description) {
		if s := strings.TrimSpace(line); s == sectionBegins || s == sectionEnds {
			return true
		}
	}
	return false
}

// hashOfSection returns the hash of a text. Line ends and blanks before them, which browsers and
// trackers change, do not count.
func hashOfSection(text string) string {
	hash := sha256.New()
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		hash.Write([]byte(strings.TrimRight(line, " \t\r") + "\n"))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// sectionRows are the numbers of versions that the tables of a section may have, to be tried in
// order until the description is short enough.
var sectionRows = []int{20, 5, 0}

// FitSection returns the first of the sections that compose returns for fewer and fewer rows with
// which whole returns a description within the tracker's limit. It returns false if none is short
// enough.
func FitSection(compose func(rows int) Section, whole func(Section) string) (Section, string, bool) {
	for _, rows := range sectionRows {
		s := compose(rows)
		if text := whole(s); utf8.RuneCountInString(strings.TrimRight(text, " \t\r\n")) <= maxSectioned {
			return s, text, true
		}
	}
	return Section{}, "", false
}

// AppendSection returns a description with a section at its end. It changes nothing before it.
func AppendSection(description, section string) string {
	switch {
	case description == "" || strings.HasSuffix(description, "\n\n"):
		return description + section + "\n"
	case strings.HasSuffix(description, "\n"):
		return description + "\n" + section + "\n"
	}
	return description + "\n\n" + section + "\n"
}

// WithoutSections returns a description without any sections of mishap.
func WithoutSections(description string) string {
	found := SectionsIn(description)
	for _, s := range slices.Backward(found) {
		before := strings.TrimRight(description[:s.Begin], " \t\r\n")
		after := strings.TrimLeft(description[s.End:], " \t\r\n")
		switch {
		case after == "":
			description = before + "\n"
		case before == "":
			description = after
		default:
			description = before + "\n\n" + after
		}
	}
	return description
}

// Proposal is a bug that a person may edit before it is filed.
type Proposal struct {
	crash.Draft
	Destination Destination
	Marker      string             // the permanent address of the problem, which stays in the description
	Report      crash.StoredReport // the report that the text describes, with private fields; zero: none
	Edited      bool               // the text is a person's, from an earlier attempt

	Section string // what mishap will add to a public bug and update; empty: nothing

	title, text string // as composed, before any editing
	redact      privacy.Redactor
}

// Propose returns the bug that one click would file for a bucket, in upstream's tracker or the distribution's. If a
// person edited an earlier bug that was not filed, it returns that text. It returns Unprocessable if no bug can be
// filed.
func (f *Filer) Propose(ctx context.Context, b crash.Bucket, upstream bool) (Proposal, error) {
	if reason := b.NoDraft(); reason != "" {
		return Proposal{}, crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
	}
	to, err := f.Destination(ctx, b, upstream)
	if err != nil {
		return Proposal{}, err
	}
	w, err := f.writer(ctx, b, to.Site)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Destination: to, Marker: w.marker, Report: w.report, redact: w.redact}
	p.Report.Fields = w.whole
	p.Draft = crash.Draft{
		Tags: f.releaseTags(to, w.versions, w.redact), Package: b.SourcePackage,
		Information: crash.InformationPublic, Subscribe: true,
	}
	p.Title, p.Description = w.bug()
	p.title, p.text = p.Title, p.Description
	if w.section != nil {
		p.Section = w.section(sectionRows[0]).Text
	}
	earlier, err := f.earlierIntent(ctx, b)
	if err == nil && earlier.Edited {
		p.Draft, p.Edited = f.draftOf(earlier, b), true
	}
	return p, err
}

// Distribution returns the name of the distribution that bugs are filed under, such as "ubuntu".
func (c *composer) Distribution() string { return c.cfg.Target }

func (f *Filer) earlierIntent(ctx context.Context, b crash.Bucket) (crash.Intent, error) {
	if b.Filing.ID == 0 || !needsIntent(b.Filing) {
		return crash.Intent{}, nil
	}
	filing, err := f.store.Filing(ctx, b.Filing.ID)
	return filing.Intent, err
}

func (c *composer) draftOf(in crash.Intent, b crash.Bucket) crash.Draft {
	d := crash.Draft{
		Title: in.Title, Description: WithoutSections(in.Description), Tags: in.Tags, Information: in.InformationType,
		Subscribe: in.Subscribe, Package: b.SourcePackage,
	}
	if in.Tracker != crash.FirstTracker {
		return d
	}
	var found bool
	if _, d.Package, found = strings.Cut(in.Target, "/+source/"); !found {
		d.OnDistribution = true
	}
	return d
}

// intent returns the bug to send: the draft in the options, the draft of an earlier attempt, or a
// composed one.
func (f *Filer) intent(ctx context.Context, b crash.Bucket, opts Options) (crash.Intent, error) {
	if opts.Draft == nil {
		earlier, err := f.earlierIntent(ctx, b)
		if err != nil {
			return crash.Intent{}, err
		}
		if earlier.Edited {
			earlier.Person, earlier.Own = opts.Person, opts.Own
			err := f.addSection(ctx, b, &earlier)
			return earlier, err
		}
		return f.compose(ctx, b, opts)
	}
	d := *opts.Draft
	chosen := b
	if chosen.SourcePackage = d.Package; d.OnDistribution {
		chosen.SourcePackage = ""
	}
	opts.Distribution, opts.Source = d.OnDistribution, ""
	to, err := f.target(ctx, chosen, opts)
	if err != nil {
		return crash.Intent{}, err
	}
	problems := f.CheckDraft(b.ID, d, to)
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		return crash.Intent{}, crash.Errorf(crash.Unprocessable, "bad_draft", "%s", problems[field])
	}
	in := to.intent(b.ID, opts)
	in.Marker = f.Marker(b.ID)
	in.Title, in.Tags, in.Description = d.Title, d.Tags, WithMarker(d.Description, in.Marker)
	in.Edited, in.InformationType, in.Subscribe = true, d.Information, d.Subscribe
	err = f.addSection(ctx, b, &in)
	return in, err
}

// addSection adds the section that mishap updates to a bug that a person has edited, if there is room
// for it. It removes an older one. Private bugs get none, because mishap does not update it there.
func (c *composer) addSection(ctx context.Context, b crash.Bucket, in *crash.Intent) error {
	if len(SectionsIn(in.Description)) > 0 {
		in.Description = WithMarker(WithoutSections(in.Description), in.Marker)
	}
	if in.InformationType.Private() {
		return nil
	}
	site, err := c.sites.At(ctx, in.Tracker, in.Project)
	if err != nil {
		return err
	}
	w, err := c.writer(ctx, b, site)
	if err != nil || w.section == nil {
		return err
	}
	_, out, ok := FitSection(w.section, func(s Section) string { return AppendSection(in.Description, s.Text) })
	if ok {
		in.Description = out
	}
	return nil
}

// CheckDraft returns what is wrong with a draft, by field. It applies the rules of the tracker that it goes to: one
// line for the title, the longest title and description with the problem's address, who can see bugs, and the syntax
// of tags and package names. It does not check that a package exists.
func (c *composer) CheckDraft(id crash.BucketID, d crash.Draft, to Destination) crash.DraftProblems {
	maxTitle, maxDescription := to.Kind.MaxTitle, to.Kind.MaxDescription
	problems := crash.DraftProblems{}
	add := func(field crash.DraftField, format string, args ...any) {
		if problems[field] == "" {
			problems[field] = fmt.Sprintf(format, args...)
		}
	}
	switch n := utf8.RuneCountInString(d.Title); {
	case strings.TrimSpace(d.Title) == "":
		add(crash.DraftTitle, "A bug needs a title.")
	case strings.ContainsAny(d.Title, "\r\n"):
		add(crash.DraftTitle, "The title must be one line.")
	case n > maxTitle:
		add(crash.DraftTitle, "The title has %d characters; %s takes at most %d.", n, to.Title, maxTitle)
	case !storable(d.Title):
		add(crash.DraftTitle, "The title contains invalid characters.")
	}
	whole := WithMarker(d.Description, c.Marker(id))
	switch n := utf8.RuneCountInString(whole); {
	case strings.TrimSpace(d.Description) == "":
		add(crash.DraftDescription, "A bug needs a description.")
	case n > maxDescription && whole != d.Description:
		add(crash.DraftDescription,
			"The description has %d characters with the problem's address; %s takes at most %d.", n, to.Title, maxDescription)
	case n > maxDescription:
		add(crash.DraftDescription, "The description has %d characters; %s takes at most %d.", n, to.Title, maxDescription)
	case !storable(d.Description):
		add(crash.DraftDescription, "The description contains invalid characters.")
	}
	switch wrong := noTags(d.Tags, to.Kind.Tags); {
	case wrong == "":
	case to.Kind.Tags == nil:
		add(crash.DraftTags, "Bugs in %s have no tags.", to.Title)
	case to.Kind.Name == crash.FirstTracker:
		add(crash.DraftTags, "%s: tags begin with a lower-case letter or a digit, and have two or more of these and "+
			"of + . -", wrong)
	default:
		add(crash.DraftTags, "%s: tags have at most 100 characters and no commas.", wrong)
	}
	switch {
	case d.OnDistribution:
	case d.Package == "":
		add(crash.DraftPackage, "Enter the source package, or choose the distribution.")
	case !to.isSource(d.Package):
		add(crash.DraftPackage, "“%s” cannot be the name of a source package.", Clean(d.Package, 100))
	}
	if d.Information != crash.InformationPublic && d.Information != crash.InformationPrivate {
		add(crash.DraftInformation, "Choose who will see the bug.")
	}
	if d.Information.Private() && to.Kind.Private == "" {
		add(crash.DraftInformation, "Everyone sees bugs in %s. Tell the project in private instead.", to.Title)
	}
	return problems
}

// noTags returns a sentence that names the invalid tags: "“Foo”, “a_b” are no tags". It returns an
// empty string if there are none.
func noTags(tags []string, valid *regexp.Regexp) string {
	var wrong []string
	for _, tag := range tags {
		if valid == nil || !valid.MatchString(tag) {
			wrong = append(wrong, "“"+Clean(tag, 50)+"”")
		}
	}
	switch n := len(wrong); {
	case n == 0:
		return ""
	case n == 1:
		return wrong[0] + " is not a tag"
	case n > 10:
		wrong = append(wrong[:10], "…")
	}
	return strings.Join(wrong, ", ") + " are not tags"
}

// storable reports whether a text can be stored and sent unchanged.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// TidyDraft returns a draft as the tracker will store it: with its line ends, and without blanks
// around the title and hidden characters in it.
func TidyDraft(d crash.Draft) crash.Draft {
	if storable(d.Title) { // else it is refused
		d.Title = crash.WithoutHidden(d.Title)
	}
	d.Title = strings.Trim(d.Title, " \t")
	d.Description = strings.ReplaceAll(strings.ReplaceAll(d.Description, "\r\n", "\n"), "\r", "\n")
	d.Package = strings.TrimSpace(d.Package)
	return d
}

// WithMarker returns the description with the problem's address, added as the last line if it is
// missing. Without it, no search could find a bug whose answer was lost.
func WithMarker(description, marker string) string {
	if strings.Contains(description, marker) {
		return description
	}
	return strings.TrimRight(description, " \t\r\n") + "\n\n" + marker + "\n"
}

// withMarker is like WithMarker for composed texts, and shortens the description to the tracker's
// limit.
func withMarker(description, marker string, limit int) string {
	out := crash.Shorten(description, limit)
	if strings.Contains(out, marker) {
		return out
	}
	return WithMarker(crash.Shorten(description, limit-utf8.RuneCountInString(marker)-3), marker)
}

// ByTemplate returns the bug of a bucket by another template, as a preview, and where it would go. With the name of a
// tracker, it is a bug for that one, wherever the routes lead. It returns Unprocessable if CheckTemplate finds a
// problem.
func (c *composer) ByTemplate(
	ctx context.Context, b crash.Bucket, template, name string,
) (crash.Draft, string, error) {
	if problems := CheckTemplate(template); len(problems) > 0 {
		return crash.Draft{}, "", crash.Errorf(crash.Unprocessable, "bad_template", "%s", problems[0])
	}
	to, where := Destination{}, ""
	if m, ok := c.sites.Member(name); ok {
		to.Site, where = &Site{Member: m}, m.Title
	} else {
		var err error
		if to, err = c.Destination(ctx, b, false); err != nil {
			return crash.Draft{}, "", err
		}
		where = to.Where()
	}
	w, err := c.writer(ctx, b, to.Site)
	if err != nil {
		return crash.Draft{}, "", err
	}
	w.template = template
	d := crash.Draft{
		Tags: c.releaseTags(to, w.versions, w.redact), Package: b.SourcePackage, OnDistribution: b.SourcePackage == "",
		Information: crash.InformationPublic,
	}
	d.Title, d.Description = w.bug()
	return d, where, nil
}

const maxFindings = 20

// Private returns the pieces of a draft that look private, such as home directories, names,
// addresses and tokens. A person decides what to change. It skips composed lines, because they are
// already redacted.
func (p Proposal) Private(d crash.Draft) []string {
	composed := map[string]bool{}
	for line := range strings.Lines(p.text) {
		composed[strings.TrimSpace(line)] = true
	}
	var found []string
	look := func(text string) {
		for line := range strings.Lines(strings.ReplaceAll(text, p.Marker, "")) {
			line = strings.TrimSpace(line)
			if composed[line] {
				continue
			}
			for _, piece := range privatePieces(p.redact, line) {
				if !slices.Contains(found, piece) && len(found) < maxFindings {
					found = append(found, piece)
				}
			}
		}
	}
	if d.Title != p.title {
		look(d.Title)
	}
	look(d.Description)
	return found
}

// privatePieces returns the pieces of one line that r would remove.
func privatePieces(r privacy.Redactor, line string) []string {
	redacted := r.Text(line)
	if redacted == line {
		return nil
	}
	var found []string
	rest := line
	pieces := strings.Split(redacted, privacy.Removed)
	for i, public := range pieces {
		// A public piece may contain shortened memory addresses. Only the parts between them occur in the
		// line.
		at, end := find(rest, strings.Split(public, "0x…"))
		if i == len(pieces)-1 && strings.HasSuffix(rest, public) {
			at, end = len(rest)-len(public), len(rest)
		}
		if at < 0 {
			return append(found, Clean(line, 200)) // rules overlap, so return the whole line
		}
		if i > 0 && at > 0 {
			found = append(found, Clean(rest[:at], 200))
		}
		rest = rest[end:]
	}
	return found
}

// find finds the parts in s, one after the other. It returns the start of the first and the end of
// the last part, or -1.
func find(s string, parts []string) (start, end int) {
	start = -1
	for i, part := range parts {
		at := strings.Index(s[end:], part)
		if at < 0 {
			return -1, 0
		}
		if i == 0 {
			start = at
		}
		end += at + len(part)
	}
	return start, end
}

// stopWords are words of titles that say nothing about a fault. The tracker finds only bugs with
// every word of a search.
var stopWords = map[string]bool{
	"crashed": true, "with": true, "in": true, "assert": true, "failure": true, "failed": true, "to": true, "the": true,
	"problem": true, "package": true, "install": true, "upgrade": true, "error": true, "signal": true,
}

// maxSearchWords bounds the words of a search, since more words find fewer bugs.
const maxSearchWords = 3

// SearchWords returns the words of a title that identify its fault. It prefers the name of a
// function, which other reports of the fault would contain. Otherwise it returns up to three
// uncommon words.
func SearchWords(title string) string {
	var names, words []string
	for word := range strings.FieldsSeq(title) {
		name, isFunction := strings.CutSuffix(strings.TrimRight(word, ":;,."), "()")
		name = strings.TrimFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		switch {
		case len(name) < 2 || len(name) > 100:
		case isFunction && name != "main":
			names = append(names, name)
		case !stopWords[strings.ToLower(name)] && !strings.HasPrefix(name, "SIG") && len(words) < maxSearchWords:
			words = append(words, name)
		}
	}
	if len(names) > 0 {
		words = names[:1]
	}
	return strings.Join(words, " ")
}
