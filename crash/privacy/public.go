package privacy

import (
	"slices"
	"strings"

	"mishap/crash"
)

// Texts are the texts of a problem that pages, feeds and the API show.
type Texts struct {
	Title, Signature, Executable, Name string

	Rule crash.Rule // that made the signature
}

// PublicTitle reports whether visitors see the titles of problems of a grouping rule. Those of
// [crash.RuleStacktrace] have a program, a signal and a function. Others can end with a message of
// the program, such as that of an exception, which belongs to a private field.
func PublicTitle(rule crash.Rule) bool { return rule == crash.RuleStacktrace }

// Public returns the texts as visitors see them, redacted like bugs, and without a title that is
// not public. It is fast for texts that contain nothing suspicious; see [Suspicious].
func (t Texts) Public() Texts {
	var r Redactor
	if all := t.Executable + "\n" + t.Signature + "\n" + t.Title + "\n" + t.Name; strings.Contains(all, "/home/") {
		r = NewRedactor(crash.Fields{"Traceback": all})
	}
	out := t
	if !PublicTitle(t.Rule) {
		out.Title = ""
	}
	for _, text := range []*string{&out.Title, &out.Name} {
		if len(r.names) > 0 || Suspicious(*text) {
			*text = r.Text(*text)
		}
	}
	if len(r.names) > 0 || suspiciousSignature(out.Signature) {
		out.Signature = r.Signature(out.Signature)
	}
	if len(r.names) > 0 || suspiciousSignature(out.Executable) {
		out.Executable = r.Path(out.Executable)
	}
	return out
}

// RedactBucket returns b as visitors see it.
func RedactBucket(b crash.Bucket) crash.Bucket {
	t := Texts{Title: b.Title, Signature: b.Signature, Executable: b.Executable, Name: b.Name, Rule: b.Rule}.Public()
	b.Title, b.Signature, b.Executable, b.Name = t.Title, t.Signature, t.Executable, t.Name
	for _, label := range []*string{&b.ProblemType, &b.Package, &b.SourcePackage, &b.LowestVersion, &b.HighestVersion,
		&b.FirstSeenVersion, &b.LastSeenVersion} {
		*label = RedactLabel(*label)
	}
	for _, release := range []*crash.Release{&b.LowestRelease, &b.HighestRelease, &b.LowestVersionRelease,
		&b.HighestVersionRelease, &b.FirstSeenRelease, &b.LastSeenRelease} {
		*release = RedactLabel(*release)
	}
	b.Status = RedactStatus(b.Status)
	return b
}

// RedactSignature returns a signature as visitors see it.
func RedactSignature(s string) string { return Texts{Signature: s}.Public().Signature }

// RedactLabel returns the name of a package, version, release, architecture or problem type as visitors
// see it. Names of ordinary characters stay unchanged, since they cannot be addresses or paths.
func RedactLabel[T ~string](s T) T {
	if strings.ContainsAny(string(s), `/\@%$=`) {
		return T(Redactor{}.Text(string(s)))
	}
	return s
}

// RedactStatus returns a status as visitors see it, without private data in releases and versions.
func RedactStatus(s crash.Status) crash.Status {
	public := slices.Clone(s.Releases) // cached statuses share the slice
	for i := range public {
		r := &public[i]
		r.Release = RedactLabel(r.Release)
		for _, version := range []*string{&r.Highest, &r.Newer, &r.Fix, &r.FixAfter, &r.AgainAt} {
			*version = RedactLabel(*version)
		}
	}
	s.Releases, s.Note = public, RedactLabel(s.Note)
	return s
}

// RedactLabels returns the names that RedactLabel does not change.
func RedactLabels[T ~string](names []T) []T {
	return slices.DeleteFunc(slices.Clone(names), func(name T) bool { return RedactLabel(name) != name })
}

// RedactManual returns a manual status as visitors see it: without persons and reasons, and without
// private data in releases and versions.
func RedactManual(m crash.ManualStatus) crash.ManualStatus {
	m.Muted, m.WontFix, m.Returned = publicEntry(m.Muted), publicEntry(m.WontFix), publicEntry(m.Returned)
	m.Embargo, m.Hold = nil, nil
	m.Fixes = slices.Clone(m.Fixes) // cached statuses share the slice
	for i := range m.Fixes {
		f := &m.Fixes[i]
		f.FixedIn = publicFix(f.FixedIn)
		f.AgainIn, f.AgainAt = RedactLabel(f.AgainIn), RedactLabel(f.AgainAt)
		f.By = *publicEntry(&f.By)
	}
	return m
}

func publicEntry(t *crash.Mark) *crash.Mark {
	if t == nil {
		return nil
	}
	out := crash.Mark{
		ID: t.ID, Bucket: t.Bucket, Kind: t.Kind, Until: t.Until, At: t.At, UndoneAt: t.UndoneAt, EndedAt: t.EndedAt,
		EndedWhy: RedactLabel(t.EndedWhy),
	}
	out.Until.Release, out.Until.Version = RedactLabel(out.Until.Release), RedactLabel(out.Until.Version)
	for _, f := range t.Fixes {
		out.Fixes = append(out.Fixes, publicFix(f))
	}
	return &out
}

func publicFix(f crash.FixedIn) crash.FixedIn {
	return crash.FixedIn{Release: RedactLabel(f.Release), Version: RedactLabel(f.Version)}
}
