package tracker

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/redact"
)

// maxFindings is how many private-looking pieces are pointed out.
const maxFindings = 20

// Private points out what looks private in a draft: paths below homes, names of people and machines that the report gives
// away, addresses, tokens and the like. Nothing is changed; a person decides. Lines that were written here are not looked
// at again: they were redacted when they were made.
func (p Proposal) Private(d crash.Draft) []string {
	ours := map[string]bool{}
	for line := range strings.Lines(p.text) {
		ours[strings.TrimSpace(line)] = true
	}
	var found []string
	look := func(text string) {
		for line := range strings.Lines(strings.ReplaceAll(text, p.Marker, "")) {
			line = strings.TrimSpace(line)
			if ours[line] {
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

// privatePieces returns the pieces of one line that r would take out.
func privatePieces(r redact.Redactor, line string) []string {
	redacted := r.Text(line)
	if redacted == line {
		return nil
	}
	var found []string
	rest := line
	pieces := strings.Split(redacted, redact.Removed)
	for i, kept := range pieces {
		// A kept piece may itself hold shortened memory addresses, which are nobody's; the parts between them stand in the line.
		at, end := find(rest, strings.Split(kept, "0x…"))
		if i == len(pieces)-1 && strings.HasSuffix(rest, kept) {
			at, end = len(rest)-len(kept), len(rest)
		}
		if at < 0 {
			return append(found, Clean(line, 200)) // overlapping rules: the whole line is shown instead
		}
		if i > 0 && at > 0 {
			found = append(found, Clean(rest[:at], 200))
		}
		rest = rest[end:]
	}
	return found
}

// find returns where the parts stand in s, one after the other: the start of the first and the end of the last; -1 when
// they do not.
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
