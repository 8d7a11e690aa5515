package grouping

import (
	"iter"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Passage is a field of a report that a grouping rule read, with the lines that went into the signature.
type Passage struct {
	Field string
	Used  []int // offset in bytes of each line used, or of a byte within it; ascending, without repetitions
}

// IsStack reports whether the field is one that holds a stack or a traceback, which is shown as such.
func (p Passage) IsStack() bool {
	switch p.Field {
	case "Stacktrace", "StacktraceTop", "StacktraceAddressSignature", "Traceback", "ThreadStacktrace":
		return true
	}
	return false
}

// Excerpt is a part of a text: the lines around those that a rule used.
type Excerpt []ExcerptLine

// ExcerptLine is one line of an [Excerpt], or a gap in it.
type ExcerptLine struct {
	Text    string // without its end; empty in a gap
	Used    bool   // it went into the signature
	Skipped int    // in a gap, how many lines are left out there; otherwise 0
}

// Limits of an excerpt.
const (
	mostContext    = 8   // lines before and after a used one
	maxExcerptText = 501 // characters of one line, with the ellipsis of one that is cut
)

// Excerpt returns at most limit lines of text: those that the rule used and as many around them as there is room for. Gaps say
// how many lines are left out. Without used lines it returns the end of the text, where logs say what happened last.
func (p Passage) Excerpt(text string, limit int) Excerpt {
	var all []ExcerptLine
	next := 0
	for at, line := range linesAt(text, 0) {
		for next < len(p.Used) && p.Used[next] < at {
			next++ // within a line end
		}
		l := ExcerptLine{Text: line}
		for next < len(p.Used) && p.Used[next] <= at+len(line) {
			l.Used = true
			next++
		}
		all = append(all, l)
	}
	for len(all) > 0 && all[len(all)-1].Text == "" {
		all = all[:len(all)-1]
	}
	return gather(all, chooseLines(all, limit))
}

// UsedLines returns the lines of text that the rule used.
func (p Passage) UsedLines(text string) []string {
	used := []string{}
	for _, line := range p.Excerpt(text, len(p.Used)) {
		if line.Used {
			used = append(used, line.Text)
		}
	}
	return used
}

// chooseLines says which lines to show: the used ones, and the widest context around them that fits.
func chooseLines(all []ExcerptLine, limit int) []bool {
	chosen := make([]bool, len(all))
	used := 0
	for i := range all {
		if all[i].Used {
			used++
		}
	}
	if len(all) <= limit || used == 0 {
		for i := max(0, len(all)-limit); i < len(all); i++ {
			chosen[i] = true
		}
		return chosen
	}
	for context := mostContext; context >= 0; context-- {
		n := 0
		clear(chosen)
		for i := range all {
			if !all[i].Used {
				continue
			}
			for j := max(0, i-context); j < min(len(all), i+context+1); j++ {
				if !chosen[j] && (n < limit || context > 0) {
					chosen[j] = true
					n++
				}
			}
		}
		if n <= limit {
			break
		}
	}
	return chosen
}

// gather joins the chosen lines and states what is left out between them.
func gather(all []ExcerptLine, chosen []bool) Excerpt {
	var out Excerpt
	skipped := 0
	for i, line := range all {
		if !chosen[i] {
			skipped++
			continue
		}
		if skipped > 0 {
			out = append(out, ExcerptLine{Skipped: skipped})
			skipped = 0
		}
		line.Text = crash.Shorten(line.Text, maxExcerptText)
		out = append(out, line)
	}
	if skipped > 0 {
		out = append(out, ExcerptLine{Skipped: skipped})
	}
	return out
}

// linesAt is [lines] with the offset of each line. The text begins at the offset base.
func linesAt(s string, base int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for rest := s; rest != ""; {
			at := base + len(s) - len(rest)
			var line string
			if line, rest = pytext.CutLine(rest); !yield(at, line) {
				return
			}
		}
	}
}

// offsetIn returns where the end of a text, rest, begins in it.
func offsetIn(text, rest string) int { return len(text) - len(rest) }

// mark notes that the line of a field at an offset went into the signature. Without a field it does nothing.
func (to *recorder) mark(field string, at int) {
	if to == nil || field == "" {
		return
	}
	to.see(field)
	for i := range to.passages {
		p := &to.passages[i]
		if j, found := slices.BinarySearch(p.Used, at); p.Field == field && !found && len(p.Used) < maxExplained {
			p.Used = slices.Insert(p.Used, j, at)
		}
	}
}

// markAll marks each line of a short field.
func (to *recorder) markAll(field, text string) {
	if to == nil {
		return
	}
	to.see(field)
	for at := range linesAt(text, 0) {
		to.mark(field, at)
	}
}

// see notes that a field was read.
func (to *recorder) see(field string) {
	if to != nil && !slices.ContainsFunc(to.passages, func(p Passage) bool { return p.Field == field }) {
		to.passages = append(to.passages, Passage{Field: field})
	}
}

// HasEvidence reports whether a report grouped as g holds a text from which a person can tell what happened.
func HasEvidence(f crash.Fields, g crash.Grouping) bool {
	for _, field := range [...]string{"Stacktrace", "Traceback", "StackTrace", "OopsText", "ErrorMessage", "DpkgTerminalLog"} {
		if f[field] != "" {
			return true
		}
	}
	if g.Rule == crash.RuleDuplicateSignature {
		g = group(withoutOwnSignature(f), nil)
	}
	switch g.Rule {
	case crash.RuleNone, crash.RuleDuplicateSignature, crash.RuleAddress, crash.RuleSuspendResume:
		return false
	default:
		return true
	}
}

// withoutOwnSignature is a report as it would be without a DuplicateSignature.
func withoutOwnSignature(f crash.Fields) crash.Fields {
	other := make(crash.Fields, len(f))
	for name, value := range f {
		if name != "DuplicateSignature" {
			other[name] = value
		}
	}
	return other
}

// frameMarks says where the frames of a stack stand in a field. It looks for them only when a frame is marked: that is, for
// [Explain].
type frameMarks struct {
	field, text, top string
}

// frameOffsets prepares to mark frames of top, which is the text of the field or was made of it.
func frameOffsets(field string, f crash.Fields, top string) frameMarks {
	return frameMarks{field: field, text: f[field], top: top}
}

// mark marks the n-th line of top in the field.
func (m frameMarks) mark(n int, to *recorder) {
	if to == nil {
		return
	}
	at := 0
	for line := range pytext.Lines(m.top) {
		found := strings.Index(m.text[at:], line)
		if found < 0 {
			return
		}
		at += found
		if n == 0 {
			to.mark(m.field, at)
			return
		}
		at += len(line)
		n--
	}
}
