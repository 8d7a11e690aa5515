package tracker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Proposal is a bug that a person may edit before it is filed.
type Proposal struct {
	crash.Draft
	Marker string             // the permanent address of the problem, which stays in the description
	Report crash.StoredReport // the report that the text describes, with private fields; zero: none
	Edited bool               // the text is a person's, from an earlier attempt

	Section string // what mishap will add to a public bug and update; empty: nothing

	title, text string // as composed, before any editing
	redact      privacy.Redactor
}

// Propose returns the bug that one click would file for a bucket. If a person edited an earlier bug
// that was not filed, it returns that text. It returns Unprocessable if no bug can be filed.
func (f *Filer) Propose(ctx context.Context, b crash.Bucket) (Proposal, error) {
	if reason := b.NoDraft(); reason != "" {
		return Proposal{}, crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
	}
	w, err := f.writer(ctx, b)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Marker: w.marker, Report: w.report, redact: w.redact}
	p.Report.Fields = w.whole
	p.Draft = crash.Draft{
		Tags: f.releaseTags(w.versions, w.redact), Package: b.SourcePackage,
		Information: crash.InformationPublic, Subscribe: true,
	}
	p.Title, p.Description = w.bug()
	p.title, p.text = p.Title, p.Description
	if w.section != nil {
		p.Section = w.section(sectionRows[0]).Text
	}
	earlier, err := f.earlierIntent(ctx, b)
	if err == nil && earlier.Edited {
		p.Draft, p.Edited = f.draftOf(earlier), true
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

func (c *composer) draftOf(in crash.Intent) crash.Draft {
	d := crash.Draft{
		Title: in.Title, Description: WithoutSections(in.Description), Tags: in.Tags, Information: in.InformationType,
		Subscribe: in.Subscribe,
	}
	var found bool
	if d.Package, found = strings.CutPrefix(in.Target, "/"+escape(c.cfg.Target)+"/+source/"); !found {
		d.Package, d.OnDistribution = "", true
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
	problems := f.CheckDraft(b.ID, d)
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		return crash.Intent{}, crash.Errorf(crash.Unprocessable, "bad_draft", "%s", problems[field])
	}
	chosen := b
	if chosen.SourcePackage = d.Package; d.OnDistribution {
		chosen.SourcePackage = ""
	}
	target, err := f.target(chosen, Options{Distribution: d.OnDistribution})
	if err != nil {
		return crash.Intent{}, err
	}
	marker := f.Marker(b.ID)
	in := crash.Intent{
		Bucket: b.ID, Person: opts.Person, Target: target, Title: d.Title, Tags: d.Tags, Marker: marker,
		Description: WithMarker(d.Description, marker), Edited: true, InformationType: d.Information, Subscribe: d.Subscribe,
		Own: opts.Own,
	}
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
	w, err := c.writer(ctx, b)
	if err != nil || w.section == nil {
		return err
	}
	_, out, ok := FitSection(w.section, func(s Section) string { return AppendSection(in.Description, s.Text) })
	if ok {
		in.Description = out
	}
	return nil
}

// CheckDraft returns what is wrong with a draft, by field. It applies the tracker's rules: one line
// of at most 200 characters for the title, at most 50,000 for the description with the problem's
// address, and the syntax of tags and package names. Client.HasSource checks that a package exists.
func (c *composer) CheckDraft(id crash.BucketID, d crash.Draft) crash.DraftProblems {
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
		add(crash.DraftTitle, "The title has to be one line.")
	case n > maxTitle:
		add(crash.DraftTitle, "The title has %d characters; the tracker takes at most %d.", n, maxTitle)
	case !storable(d.Title):
		add(crash.DraftTitle, "The title holds bytes that are no text.")
	}
	whole := WithMarker(d.Description, c.Marker(id))
	switch n := utf8.RuneCountInString(whole); {
	case strings.TrimSpace(d.Description) == "":
		add(crash.DraftDescription, "A bug needs a description.")
	case n > maxDescription && whole != d.Description:
		add(crash.DraftDescription,
			"The description has %d characters with the problem's address; the tracker takes at most %d.", n, maxDescription)
	case n > maxDescription:
		add(crash.DraftDescription, "The description has %d characters; the tracker takes at most %d.", n, maxDescription)
	case !storable(d.Description):
		add(crash.DraftDescription, "The description holds bytes that are no text.")
	}
	if wrong := noTags(d.Tags); wrong != "" {
		add(crash.DraftTags, "%s: tags begin with a small letter or a digit, have at least two characters, "+
			"and hold only small letters, digits, and + . -", wrong)
	}
	switch {
	case d.OnDistribution:
	case d.Package == "":
		add(crash.DraftPackage, "Name the source package, or choose the distribution as a whole.")
	case !validSource.MatchString(d.Package):
		add(crash.DraftPackage, "“%s” cannot be the name of a source package.", Clean(d.Package, 100))
	}
	if d.Information != crash.InformationPublic && d.Information != crash.InformationPrivate {
		add(crash.DraftInformation, "Choose who will see the bug.")
	}
	return problems
}

// noTags returns a sentence that names the invalid tags: "“Foo”, “a_b” are no tags". It returns an
// empty string if there are none.
func noTags(tags []string) string {
	var wrong []string
	for _, tag := range tags {
		if !validTag.MatchString(tag) {
			wrong = append(wrong, "“"+Clean(tag, 50)+"”")
		}
	}
	switch n := len(wrong); {
	case n == 0:
		return ""
	case n == 1:
		return wrong[0] + " is no tag"
	case n > 10:
		wrong = append(wrong[:10], "…")
	}
	return strings.Join(wrong, ", ") + " are no tags"
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
func withMarker(description, marker string) string {
	out := crash.Shorten(description, maxDescription)
	if strings.Contains(out, marker) {
		return out
	}
	return WithMarker(crash.Shorten(description, maxDescription-utf8.RuneCountInString(marker)-3), marker)
}

// ByTemplate returns the bug of a bucket by another template, as a preview. It returns
// Unprocessable if CheckTemplate finds a problem.
func (c *composer) ByTemplate(ctx context.Context, b crash.Bucket, template string) (crash.Draft, error) {
	if problems := CheckTemplate(template); len(problems) > 0 {
		return crash.Draft{}, crash.Errorf(crash.Unprocessable, "bad_template", "%s", problems[0])
	}
	w, err := c.writer(ctx, b)
	if err != nil {
		return crash.Draft{}, err
	}
	w.template = template
	d := crash.Draft{
		Tags: c.releaseTags(w.versions, w.redact), Package: b.SourcePackage, OnDistribution: b.SourcePackage == "",
		Information: crash.InformationPublic,
	}
	d.Title, d.Description = w.bug()
	return d, nil
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
