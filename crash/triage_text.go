package crash

import (
	"strings"
	"time"
)

// String describes the end of a mute: "until 1 December 2026 or 50 more reports within 7 days".
func (u MuteUntil) String() string {
	var parts []string
	if !u.Date.IsZero() {
		parts = append(parts, u.Date.UTC().Format("2 January 2006"))
	}
	if u.Reports > 0 {
		parts = append(parts, Counted(u.Reports, "more report", "more reports")+u.inDays())
	}
	if u.Machines > 0 {
		parts = append(parts, Counted(u.Machines, "machine reports it", "machines report it")+u.inDays())
	}
	if u.Version != "" {
		where := ""
		if u.Release != "" {
			where = " (" + string(u.Release) + ")"
		}
		parts = append(parts, "it is seen in "+u.Version+where+" or later")
	}
	if u.Newer {
		parts = append(parts, "it is seen in a newer version")
	}
	if u.Regression {
		parts = append(parts, "it regresses")
	}
	if len(parts) == 0 {
		return "until somebody unmutes it"
	}
	return "until " + strings.Join(parts, " or ")
}

// String describes the version: "1.4-2 (Ubuntu 24.04)".
func (f FixedIn) String() string {
	if f.Release == "" {
		return f.Version
	}
	return f.Version + " (" + string(f.Release) + ")"
}

func (r Release) orEvery() string {
	if r == "" {
		return "every release"
	}
	return string(r)
}

// Text describes the entry: "Muted by anna until it regresses: waits for upstream". Without
// signedIn, it names neither the person nor the reason.
func (t Mark) Text(signedIn bool) string {
	out := ""
	by := ""
	if signedIn && t.Person != "" {
		by = " by " + t.Person
	}
	switch t.Kind {
	case MarkMuted:
		out = "Muted" + by + " " + t.Until.String()
	case MarkWontFix:
		out = "Marked won't fix" + by
	case MarkFixed:
		versions := make([]string, len(t.Fixes))
		for i, f := range t.Fixes {
			versions[i] = f.String()
		}
		out = "Marked fixed in " + strings.Join(versions, ", ") + by
	case MarkEmbargo:
		out = "Embargoed" + by
	case MarkHold:
		out = "Held" + by
	}
	if signedIn && t.Reason != "" {
		out += ": " + t.Reason
	}
	return out
}

// Text describes the fix and what was seen since: "Marked fixed in 1.4-2 (Ubuntu 24.04) by anna;
// seen again in 1.4-3: 12 reports since".
func (f ManualFix) Text(signedIn bool) string {
	one := f.By
	one.Fixes = []FixedIn{f.FixedIn}
	out := one.Text(signedIn)
	if f.Again > 0 {
		out += "; seen again in " + f.SeenAt() + ": " + Counted(f.Again, "report", "reports") + " since"
	}
	return out
}

// SeenAt names the highest version in which the problem was seen again, with its release if the fix
// is for every release.
func (f ManualFix) SeenAt() string {
	if f.Release == "" {
		return FixedIn{f.AgainIn, f.AgainAt}.String()
	}
	return f.AgainAt
}

// Text describes the manual status in sentences. It is empty if nothing was decided.
func (m ManualStatus) Text(signedIn bool) string {
	var parts []string
	if m.Muted != nil {
		parts = append(parts, m.Muted.Text(signedIn)+".")
	}
	if m.WontFix != nil {
		parts = append(parts, m.WontFix.Text(signedIn)+".")
	}
	for _, f := range m.Fixes {
		parts = append(parts, f.Text(signedIn)+".")
	}
	if m.Returned != nil {
		parts = append(parts, m.Returned.ReturnedText())
	}
	return strings.Join(parts, " ")
}

// Words names the decisions for programs: muted, wontfix, fixed-by-hand, and seen-again if a
// problem marked as fixed is still seen. Blanks separate them.
func (m ManualStatus) Words() string {
	var words []string
	if m.Muted != nil {
		words = append(words, "muted")
	}
	if m.WontFix != nil {
		words = append(words, "wontfix")
	}
	if len(m.Fixes) > 0 {
		words = append(words, "fixed-by-hand")
	}
	if m.SeenAgain() {
		words = append(words, "seen-again")
	}
	return strings.Join(words, " ")
}

// ReturnedText says when and why a muted problem returned, such as "Returned on 22 November 2026: 50
// more reports arrived within 7 days.".
func (t Mark) ReturnedText() string {
	return "Returned on " + t.EndedAt.UTC().Format("2 January 2006") + ": " + t.EndedWhy
}

// ReachedDate says that the day of the mute has come.
func (u MuteUntil) ReachedDate() string {
	return "it was muted until " + u.Date.UTC().Format("2 January 2006") + "."
}

// ReachedReports says that enough reports have arrived.
func (u MuteUntil) ReachedReports() string {
	return Counted(u.Reports, "more report", "more reports") + " arrived" + u.inDays() + "."
}

// ReachedMachines says that enough machines have reported the problem.
func (u MuteUntil) ReachedMachines() string {
	return Counted(u.Machines, "machine", "machines") + " reported it" + u.inDays() + "."
}

func (u MuteUntil) inDays() string {
	if u.Days <= 0 {
		return ""
	}
	return " within " + Counted(int64(u.Days), "day", "days")
}

// SeenIn says that the problem was seen in a version.
func SeenIn(release Release, version string) string {
	if version == "" {
		return "it was seen in " + release.orEvery() + "."
	}
	return "it was seen in " + FixedIn{release, version}.String() + "."
}

// Regressed says that the problem was seen in a version that has the fix.
func Regressed(release Release, version string) string {
	if version == "" {
		return "it regressed."
	}
	return "it regressed: seen in " + FixedIn{release, version}.String() + "."
}

// ReturnedDays is the number of days for which pages say that a muted problem has returned.
const ReturnedDays = 30

// RecentlyReturned reports whether the entry is a mute that ended by itself within the past
// ReturnedDays.
func (t Mark) RecentlyReturned(now time.Time) bool {
	since, _ := LastDays(now, ReturnedDays)
	return t.Returned() && !t.EndedAt.Before(since)
}
