package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
)

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
			text.WriteString("\nReports by version and release:\n\n" + versionTableOf(p.Versions, rows))
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

// counts returns a sentence with the numbers of reports and machines, and one about the last report.
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
		if text := whole(s); utf8.RuneCountInString(strings.TrimRight(text, " \t\r\n")) <= maxDescription {
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
