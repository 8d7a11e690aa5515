package tracker

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Limits of the tracker, in characters.
const (
	maxTitle       = 200
	maxDescription = 50_000
)

var (
	validSource = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`) // names of source packages, Debian policy 5.6.1
	validTag    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`) // rule of the tracker
)

// composer composes the texts of bugs.
type composer struct {
	cfg      Config
	problems problems
}

// problems reads the problem that a bug describes.
type problems interface {
	// BucketVersions returns the versions × releases table, newest version first.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	// BucketArchitectures returns how often the bucket was seen by architecture, the most first.
	BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error)
	// RepresentativeReport returns the report that says most about the bucket, or NotFound if it
	// has none.
	RepresentativeReport(ctx context.Context, id crash.BucketID) (crash.StoredReport, error)
	// BugTemplate returns the template for bugs of a source package and a problem type. Its body is
	// empty if there is none, and DefaultTemplate applies.
	BugTemplate(ctx context.Context, source, problemType string) (crash.BugTemplate, error)
	// UpdateRules returns what mishap writes to bugs by itself.
	UpdateRules(ctx context.Context) (crash.UpdateRules, error)
	// Judge adds the status to problems.
	Judge(ctx context.Context, buckets ...*crash.Bucket) error
}

// compose returns the bug that one click files for a bucket. From the report it uses only the
// redacted location of the fault. It returns Unprocessable if no bug can be filed.
func (c *composer) compose(ctx context.Context, b crash.Bucket, opts Options) (crash.Intent, error) {
	target, err := c.target(b, opts)
	if err != nil {
		return crash.Intent{}, err
	}
	w, err := c.writer(ctx, b)
	if err != nil {
		return crash.Intent{}, err
	}
	in := crash.Intent{
		Bucket: b.ID, Person: opts.Person, Target: target, Tags: c.releaseTags(w.versions, w.redact), Marker: w.marker,
		Subscribe: true, Own: opts.Own,
	}
	in.Title, in.Description = w.bug()
	in.Description = w.withSection(in.Description)
	return in, nil
}

// writer reads the data for the bug of a bucket.
func (c *composer) writer(ctx context.Context, b crash.Bucket) (writer, error) {
	versions, err := c.problems.BucketVersions(ctx, b.ID)
	if err != nil {
		return writer{}, err
	}
	architectures, _, err := c.problems.BucketArchitectures(ctx, b.ID)
	if err != nil {
		return writer{}, err
	}
	report, err := c.problems.RepresentativeReport(ctx, b.ID)
	if err != nil && !errors.Is(err, crash.NotFound) {
		return writer{}, err
	}
	template, err := c.problems.BugTemplate(ctx, b.SourcePackage, b.ProblemType)
	if err != nil {
		return writer{}, err
	}
	whole := report.Fields
	report.Fields = c.cfg.Privacy.ForBugs(whole)
	w := writer{
		bucket: b, report: report, versions: versions, architectures: architectures,
		marker: c.Marker(b.ID), redact: privacy.NewRedactor(whole), whole: whole, // private fields name people and machines
		template: cmp.Or(template.Body, DefaultTemplate),
	}
	rules, err := c.problems.UpdateRules(ctx)
	if err != nil || !rules.For(b.SourcePackage).Section {
		return w, err
	}
	if err := c.problems.Judge(ctx, &b); err != nil {
		return writer{}, err
	}
	w.section = func(rows int) Section {
		return ComposeSection([]SectionProblem{{Bucket: b, Versions: versions, Marker: w.marker}}, c.cfg.Now(), rows)
	}
	return w, nil
}

// Marker returns the permanent address of a problem. Every bug holds it, so that a search finds the
// bug.
func (c *composer) Marker(id crash.BucketID) string { return c.cfg.BaseURL + id.Path() }

// target returns the path of the source package that the bug is filed against, or of the
// distribution if there is no package and the options permit it.
func (c *composer) target(b crash.Bucket, opts Options) (string, error) {
	b.SourcePackage = cmp.Or(strings.TrimSpace(opts.Source), b.SourcePackage)
	distribution := "/" + escape(c.cfg.Target)
	if b.SourcePackage == "" && opts.Distribution {
		b.SourcePackage = c.cfg.Target
		if reason := b.NoFiling(); reason != "" {
			return "", crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
		}
		return distribution, nil
	}
	if reason := b.NoFiling(); reason != "" {
		return "", crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
	}
	if !validSource.MatchString(b.SourcePackage) {
		return "", crash.Errorf(crash.Unprocessable, "bad_source_package",
			"%q cannot be the name of a source package.", Clean(b.SourcePackage, 100))
	}
	return distribution + "/+source/" + escape(b.SourcePackage), nil
}

// releaseTags returns tags for the releases of the tracker's distribution in which the problem was seen,
// oldest first. The tag is the codename of a known release, or the name of another one if that is a valid
// tag.
func (c *composer) releaseTags(versions []crash.VersionCount, hide privacy.Redactor) []string {
	var tags []string
	for _, r := range ReleasesOf(versions).Ascending() {
		if r == crash.OtherReleases || r.Distribution() != c.cfg.Target {
			continue
		}
		name := Clean(string(r), 40)
		if hide.Text(name) != name {
			continue // a system named after a person or machine
		}
		tag := cmp.Or(r.Codename(), strings.ReplaceAll(strings.ToLower(name), " ", "-"))
		if validTag.MatchString(tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// writer writes title and description of one bug.
type writer struct {
	bucket        crash.Bucket
	report        crash.StoredReport // without private fields; zero: there is none any more
	whole         crash.Fields       // of the report, with private ones, which no text may quote
	versions      []crash.VersionCount
	architectures []crash.NameCount
	marker        string
	redact        privacy.Redactor
	template      string
	section       func(rows int) Section // composes the section that mishap will update; nil: there is none
}

// title returns the title as one line of any length.
func (w writer) title() string {
	title := Clean(w.redact.Text(w.bucket.Title), maxDescription)
	if title == "" {
		title = "Problem in " + w.subject() + ": " + Clean(w.redact.Signature(w.bucket.Signature), 1000)
	}
	return title
}

// subject returns the name of the package, or else of the program.
func (w writer) subject() string {
	return cmp.Or(Clean(w.bucket.SourcePackage, 100), Clean(w.bucket.Package, 100),
		Clean(w.redact.Path(w.bucket.Executable), 200), "an unknown program")
}

// bug returns the title and the description, within the tracker's limits.
func (w writer) bug() (title, description string) {
	title = crash.Shorten(w.title(), maxTitle)
	return title, withMarker(w.description(title), w.marker)
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
	short := crash.Shorten(description, maxDescription-utf8.RuneCountInString(text)-utf8.RuneCountInString(w.marker)-6)
	return AppendSection(WithMarker(short, w.marker), text)
}

// description fills the template. It uses DefaultTemplate if the template is invalid, although
// invalid templates are never saved.
func (w writer) description(title string) string {
	parts, problems := parseTemplate(w.template)
	if len(problems) > 0 {
		parts, _ = parseTemplate(DefaultTemplate)
	}
	return strings.TrimSpace(fill(parts, w.values(title))) + "\n"
}

// whatHappened returns the title as a sentence.
func (w writer) whatHappened() string {
	s := crash.Shorten(w.title(), 2000)
	if strings.HasSuffix(s, "…") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// howOften returns a sentence with the numbers of reports and machines, and the days.
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

// facts returns an aligned list of names and values.
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

// seenOn lists the architectures with their reports, the most frequent first.
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
