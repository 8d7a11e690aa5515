package tracker

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/privacy"
)

// maxFindings bounds the result of Private.
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
