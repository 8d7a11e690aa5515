package grouping

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Explanation is the grouping of a report, as [SignatureOf] returns it, with the reasons.
type Explanation struct {
	crash.Grouping
	Description string // of the rule, one sentence; empty if no rule applied
	Field       string // the field that decided; empty: several, or none
	Frames      []FrameUse
	Changes     []Change

	// Passages are the fields that the rule ReadBy read. ReadBy equals Rule, unless the report has its
	// own signature: then it is the rule that would group the report without that.
	Passages []Passage
	ReadBy   crash.GroupingRule
}

// FrameUse is one frame, or line, that the rule considered. The texts come from the report and may
// be private.
type FrameUse struct {
	Text string
	Used bool
	As   string // if used: its part of the signature
	Why  string // if not used: the reason, "it only reports the fault"
}

// Change is a text that varies between machines or versions, and its replacement.
type Change struct{ From, To string }

// Bucket returns the bucket that the present rules choose. It returns false if they choose none.
func (e Explanation) Bucket() (crash.BucketID, bool) {
	if e.Signature == "" {
		return crash.BucketID{}, false
	}
	return crash.BucketIDOf(e.Signature), true
}

// Explain explains how [SignatureOf] groups a report. Both run the same code; Explain also records
// each step.
func Explain(f crash.Fields) Explanation {
	var rec recorder
	e := Explanation{Grouping: group(f, &rec)}
	e.Description = e.Rule.Description()
	e.Field, e.Frames, e.Changes, e.Passages, e.ReadBy = rec.field, rec.frames, rec.changes, rec.passages, e.Rule
	if e.Rule == crash.RuleDuplicateSignature {
		var other recorder
		e.ReadBy = group(withoutOwnSignature(f), &other).Rule
		e.Passages = other.passages
	}
	return e
}

// recorder records the steps of a rule, for [Explain]. [SignatureOf] uses the nil recorder, which
// records nothing, so both run the same rules.
type recorder struct {
	field    string
	passages []Passage
	frames   []FrameUse
	changes  []Change
}

const (
	maxExplained = 200 // frames
	maxChanges   = 50
	maxExcerpt   = 300 // code points of one text
)

func (rec *recorder) reset() {
	if rec != nil {
		*rec = recorder{}
	}
}

func (rec *recorder) read(field string) {
	if rec != nil {
		rec.field = field
		rec.addPassage(field)
	}
}

func (rec *recorder) use(frame, as string) { rec.frame(FrameUse{Text: frame, Used: true, As: as}) }

func (rec *recorder) skip(frame, why string) { rec.frame(FrameUse{Text: frame, Why: why}) }

// decide records a frame: as omitted if why gives a reason, else as contained. It reports whether the
// signature contains it.
func (rec *recorder) decide(frame, as, why string) bool {
	if why != "" {
		rec.skip(frame, why)
		return false
	}
	rec.use(frame, as)
	return true
}

func (rec *recorder) frame(u FrameUse) {
	if rec == nil || len(rec.frames) == maxExplained {
		return
	}
	u.Text, u.As = excerpt(u.Text), excerpt(u.As)
	rec.frames = append(rec.frames, u)
}

// change records the replacement of a text, and returns the new text.
func (rec *recorder) change(from, into string) string {
	if rec == nil || from == into || len(rec.changes) == maxChanges {
		return into
	}
	c := Change{From: excerpt(from), To: excerpt(into)}
	if !slices.Contains(rec.changes, c) {
		rec.changes = append(rec.changes, c)
	}
	return into
}

func excerpt(s string) string {
	return withoutControl(crash.Shorten(strings.TrimSpace(s), maxExcerpt))
}

func (rec *recorder) addresses(f crash.Fields, signature string) {
	if rec == nil {
		return
	}
	rec.field = "StacktraceAddressSignature"
	if f["StacktraceAddressSignature"] == "" {
		rec.field = "Stacktrace"
	}
	start := f["ExecutablePath"] + ":" + f["Signal"] + ":"
	for place := range strings.SplitSeq(strings.TrimPrefix(signature, start), ":") {
		rec.use(place, place)
	}
}

// unwound records the frames that StacktraceTop omits, if top was derived from this stack.
func (rec *recorder) unwound(stacktrace, top string) {
	if rec == nil || stacktrace == "" || StacktraceTop(stacktrace) != top {
		return
	}
	used := rec.frames
	rec.frames = nil
	began := false
	for line := range pytext.Lines(stacktrace) {
		frame, _, ok := topFrame(line)
		switch {
		case !ok:
		case len(used) > 0 && used[0].Text == excerpt(frame):
			rec.frame(used[0])
			used, began = used[1:], true
		case isJitter(pytext.FirstWord(frame)):
			rec.skip(frame, whyMachine)
		case !began:
			rec.skip(frame, "it is how the program ended, not why")
		default:
			rec.skip(frame, "the first five frames are enough")
		}
	}
	for _, u := range used {
		rec.frame(u)
	}
}

// Passage is a field of a report that a grouping rule read, with the lines that it used for the
// signature.
type Passage struct {
	Field string
	Used  []int // byte offsets in the field, one within each used line; ascending, without duplicates
}

// IsStack reports whether the field contains a stack or a traceback, which pages show as a table.
func (p Passage) IsStack() bool {
	switch p.Field {
	case "Stacktrace", "StacktraceTop", "StacktraceAddressSignature", "Traceback", "ThreadStacktrace":
		return true
	}
	return false
}

// Excerpt is a part of a text: the used lines with context.
type Excerpt []ExcerptLine

// ExcerptLine is one line of an [Excerpt], or a gap.
type ExcerptLine struct {
	Text    string // without its line end; empty in a gap
	Used    bool   // the rule used it for the signature
	Skipped int    // number of lines omitted in a gap; otherwise 0
}

const (
	maxContext     = 8   // lines before and after a used line
	maxExcerptText = 501 // code points of one line, including the ellipsis of a truncated one
)

// Excerpt returns at most limit lines of text: the used lines, with as much context as fits. Gaps
// state the number of omitted lines. If no line was used, it returns the end of the text, where
// logs have the most recent events.
func (p Passage) Excerpt(text string, limit int) Excerpt {
	var all []ExcerptLine
	next := 0
	for at, line := range linesAt(text, 0) {
		for next < len(p.Used) && p.Used[next] < at {
			next++ // inside a line end
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

// chooseLines selects the lines to show: the used ones, and the widest context that fits.
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
	for context := maxContext; context >= 0; context-- {
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

// linesAt returns the lines of s with the offset of each. The text begins at offset base.
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

func offsetIn(text, rest string) int { return len(text) - len(rest) }

// mark records that the rule used the line at this offset of the field. If field is empty, it does
// nothing.
func (rec *recorder) mark(field string, at int) {
	if rec == nil || field == "" {
		return
	}
	rec.addPassage(field)
	for i := range rec.passages {
		p := &rec.passages[i]
		if j, found := slices.BinarySearch(p.Used, at); p.Field == field && !found && len(p.Used) < maxExplained {
			p.Used = slices.Insert(p.Used, j, at)
		}
	}
}

func (rec *recorder) markAll(field, text string) {
	if rec == nil {
		return
	}
	rec.addPassage(field)
	for at := range linesAt(text, 0) {
		rec.mark(field, at)
	}
}

func (rec *recorder) addPassage(field string) {
	if rec != nil && !slices.ContainsFunc(rec.passages, func(p Passage) bool { return p.Field == field }) {
		rec.passages = append(rec.passages, Passage{Field: field})
	}
}

// HasEvidence reports whether a report grouped as g contains text that shows a person what
// happened.
func HasEvidence(f crash.Fields, g crash.Grouping) bool {
	for _, field := range [...]string{"Stacktrace", "Traceback", "StackTrace", "OopsText", "ErrorMessage",
		"DpkgTerminalLog"} {
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

// Quality returns how much a report says about its crash: 0 if nothing, 1 if it has text that shows what
// happened (complete) but no names of functions, else the percentage of functions that have names, at
// least 2.
func Quality(f crash.Fields, complete bool) int {
	frames := Frames(f)
	if len(frames) == 0 {
		frames = tracebackFrames(f)
	}
	if n := named(frames); n > 0 {
		return max(2, 100*n/len(frames))
	}
	if complete {
		return 1
	}
	return 0
}

func withoutOwnSignature(f crash.Fields) crash.Fields {
	other := maps.Clone(f)
	delete(other, "DuplicateSignature")
	return other
}
