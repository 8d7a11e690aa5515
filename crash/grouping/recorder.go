package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// recorder records the steps of a rule, for [Explain]. [SignatureOf] uses the nil recorder, which
// records nothing, so both run the same rules.
type recorder struct {
	field    string
	passages []Passage
	frames   []FrameUse
	changes  []Change
}

// The limits of an explanation.
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

// read sets the field that decides.
func (rec *recorder) read(field string) {
	if rec != nil {
		rec.field = field
		rec.addPassage(field)
	}
}

// use records a frame that the signature contains, as the given text.
func (rec *recorder) use(frame, as string) { rec.frame(FrameUse{Text: frame, Used: true, As: as}) }

// skip records a frame that the signature omits, and why.
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

// recursion records that the functions of an infinite recursion replace the frames from the n-th
// on. It returns the parts of the signature.
func (rec *recorder) recursion(n int, circle []string) []string {
	if rec != nil {
		for i := n; i < len(rec.frames); i++ {
			rec.frames[i] = FrameUse{Text: rec.frames[i].Text, Why: "the stack overflowed: only what recurs counts"}
		}
		for _, name := range circle {
			rec.use(name, name)
		}
	}
	return append([]string{"recursion"}, circle...)
}

// count returns the number of recorded frames.
func (rec *recorder) count() int {
	if rec == nil {
		return 0
	}
	return len(rec.frames)
}

// excerpt returns s on one line, truncated with an ellipsis.
func excerpt(s string) string {
	return withoutControl(crash.Shorten(strings.TrimSpace(s), maxExcerpt))
}

func sortedCopy(s []string, most int) []string {
	s = slices.Sorted(slices.Values(s))
	return s[:min(len(s), most)]
}

// addresses records the parts of an address signature.
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
