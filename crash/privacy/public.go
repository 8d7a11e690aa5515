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

// RedactLabels returns the names that Label does not change.
func RedactLabels[T ~string](names []T) []T {
	var kept []T
	for _, name := range names {
		if RedactLabel(name) == name {
			kept = append(kept, name)
		}
	}
	return kept
}
