package tracker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/redact"
)

// Proposal is the bug that would be filed for a bucket, for a person to go over.
type Proposal struct {
	crash.Draft
	Marker string             // the permanent address of the problem, which stays in the description
	Report crash.StoredReport // what the text was made from; zero: none is left
	Kept   bool               // the text is what a person made of it before

	title, text string // as they were written here, whatever a person made of them later
	redact      redact.Redactor
}

// Propose writes the bug for a bucket as one click would file it; or, when a person has gone over its text before and it
// was not filed then, gives that text back. It returns Unprocessable when no bug can be filed for the bucket at all.
func (f *Filer) Propose(ctx context.Context, b crash.Bucket) (Proposal, error) {
	if reason := b.NoDraft(); reason != "" {
		return Proposal{}, crash.Errorf(crash.Unprocessable, "cannot_be_filed", "%s", reason)
	}
	w, err := f.writer(ctx, b)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Marker: w.marker, Report: w.report, redact: w.redact}
	p.Draft = crash.Draft{Tags: releaseTags(w.versions, w.redact), Package: b.SourcePackage, Information: crash.InformationPublic, Subscribe: true}
	p.Title, p.Description = w.bug()
	p.title, p.text = p.Title, p.Description
	kept, err := f.kept(ctx, b)
	if err == nil && kept.Edited {
		p.Draft, p.Kept = f.draftOf(kept), true
	}
	return p, err
}

// Distribution is the name of what bugs are filed under, "ubuntu".
func (f *Filer) Distribution() string { return f.cfg.Target }

// kept is the intent of an earlier try that may be made again; zero when there was none.
func (f *Filer) kept(ctx context.Context, b crash.Bucket) (crash.Intent, error) {
	if b.Filing.ID == 0 || !needsIntent(b.Filing) {
		return crash.Intent{}, nil
	}
	filing, err := f.store.Filing(ctx, b.Filing.ID)
	return filing.Intent, err
}

// draftOf reads an intent back into the draft that it was made from.
func (f *Filer) draftOf(in crash.Intent) crash.Draft {
	d := crash.Draft{
		Title: in.Title, Description: in.Description, Tags: in.Tags, Information: in.InformationType, Subscribe: in.Subscribe,
	}
	var found bool
	if d.Package, found = strings.CutPrefix(in.Target, "/"+escape(f.cfg.Target)+"/+source/"); !found {
		d.Package, d.OnDistribution = "", true
	}
	return d
}

// intent is what will be sent: the draft of a person, the text that a person went over before, or our own.
func (f *Filer) intent(ctx context.Context, b crash.Bucket, opts Options) (crash.Intent, error) {
	if opts.Draft == nil {
		kept, err := f.kept(ctx, b)
		if err != nil {
			return crash.Intent{}, err
		}
		if kept.Edited {
			kept.Person = opts.Person
			return kept, nil
		}
		return f.compose(ctx, b, opts)
	}
	d := *opts.Draft
	problems := f.CheckDraft(b.ID, d)
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		return crash.Intent{}, crash.Errorf(crash.Unprocessable, "bad_draft", "%s", problems[field])
	}
	place := b
	if place.SourcePackage = d.Package; d.OnDistribution {
		place.SourcePackage = ""
	}
	target, err := f.target(place, Options{Distribution: d.OnDistribution})
	if err != nil {
		return crash.Intent{}, err
	}
	marker := f.Marker(b.ID)
	return crash.Intent{
		Bucket: b.ID, Person: opts.Person, Target: target, Title: d.Title, Tags: d.Tags, Marker: marker,
		Description: WithMarker(d.Description, marker), Edited: true, InformationType: d.Information, Subscribe: d.Subscribe,
	}, nil
}

// CheckDraft says what the tracker would refuse of a draft, or what cannot be kept, before anything is sent: the rules are
// the tracker's own (a title of one line with at most 200 characters, a description of at most 50,000 with the problem's
// address in it, the form of tags and of package names), and nothing may be blank. That a package exists only the tracker
// knows; see Client.HasSource. The map is empty when everything is in order.
func (f *Filer) CheckDraft(id crash.BucketID, d crash.Draft) crash.DraftProblems {
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
	whole := WithMarker(d.Description, f.Marker(id))
	switch n := utf8.RuneCountInString(whole); {
	case strings.TrimSpace(d.Description) == "":
		add(crash.DraftDescription, "A bug needs a description.")
	case n > maxDescription && whole != d.Description:
		add(crash.DraftDescription, "The description has %d characters with the problem's address; the tracker takes at most %d.", n, maxDescription)
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

// noTags names those that the tracker does not take: "“Foo”, “a_b” are no tags"; empty: it takes all.
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

// storable reports whether a text can be kept and sent as it is.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// TidyDraft makes of what a browser sent what the tracker will store: lines end as they do there, and the title has no
// blanks around it. Nothing that a person sees is changed.
func TidyDraft(d crash.Draft) crash.Draft {
	d.Title = strings.Trim(d.Title, " \t")
	d.Description = strings.ReplaceAll(strings.ReplaceAll(d.Description, "\r\n", "\n"), "\r", "\n")
	d.Package = strings.TrimSpace(d.Package)
	return d
}

// WithMarker returns the description with the problem's address in it: when it is missing it is added as the last line.
// A bug without it could not be found again, should the tracker's answer get lost.
func WithMarker(description, marker string) string {
	if strings.Contains(description, marker) {
		return description
	}
	return strings.TrimRight(description, " \t\r\n") + "\n\n" + marker + "\n"
}

// withMarker is WithMarker for our own texts, which are cut to what the tracker takes without losing the address.
func withMarker(description, marker string) string {
	out := crash.Shorten(description, maxDescription)
	if strings.Contains(out, marker) {
		return out
	}
	return WithMarker(crash.Shorten(description, maxDescription-utf8.RuneCountInString(marker)-3), marker)
}

// ByTemplate writes the bug of a bucket by a template that is being tried, which CheckTemplate has no problem with. It
// returns Unprocessable otherwise.
func (f *Filer) ByTemplate(ctx context.Context, b crash.Bucket, template string) (crash.Draft, error) {
	if problems := CheckTemplate(template); len(problems) > 0 {
		return crash.Draft{}, crash.Errorf(crash.Unprocessable, "bad_template", "%s", problems[0])
	}
	w, err := f.writer(ctx, b)
	if err != nil {
		return crash.Draft{}, err
	}
	w.template = template
	d := crash.Draft{Tags: releaseTags(w.versions, w.redact), Package: b.SourcePackage, OnDistribution: b.SourcePackage == "", Information: crash.InformationPublic}
	d.Title, d.Description = w.bug()
	return d, nil
}
