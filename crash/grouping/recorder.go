package grouping

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// recorder notes what a rule did with a report, for [Explain]. The nil recorder, with which [SignatureOf] works, notes
// nothing; so both go the same way through the same rules.
type recorder struct {
	field    string
	passages []Passage
	frames   []FrameUse
	changes  []Change
}

// So much of an explanation is kept.
const (
	maxExplained = 200 // frames
	maxChanges   = 50
	maxExcerpt   = 300 // code points of one text
)

func (to *recorder) reset() {
	if to != nil {
		*to = recorder{}
	}
}

// read names the field that the rule goes by.
func (to *recorder) read(field string) {
	if to != nil {
		to.field = field
		to.see(field)
	}
}

// use notes a frame that went into the signature, as which text.
func (to *recorder) use(frame, as string) { to.frame(FrameUse{Text: frame, Used: true, As: as}) }

// skip notes a frame that was left out, and why.
func (to *recorder) skip(frame, why string) { to.frame(FrameUse{Text: frame, Why: why}) }

func (to *recorder) frame(u FrameUse) {
	if to == nil || len(to.frames) == maxExplained {
		return
	}
	u.Text, u.As = excerpt(u.Text), excerpt(u.As)
	to.frames = append(to.frames, u)
}

// change notes that a text was replaced, and returns the new one.
func (to *recorder) change(from, into string) string {
	if to == nil || from == into || len(to.changes) == maxChanges {
		return into
	}
	c := Change{From: excerpt(from), To: excerpt(into)}
	if !slices.Contains(to.changes, c) {
		to.changes = append(to.changes, c)
	}
	return into
}

// recursion notes that instead of the frames from the n-th on, the functions of an endless recursion went into the
// signature, and returns the parts for it.
func (to *recorder) recursion(n int, circle []string) []string {
	if to != nil {
		for i := n; i < len(to.frames); i++ {
			to.frames[i] = FrameUse{Text: to.frames[i].Text, Why: "the stack overflowed: only what recurs counts"}
		}
		for _, name := range circle {
			to.use(name, name)
		}
	}
	return append([]string{"recursion"}, circle...)
}

// count is how many frames are noted.
func (to *recorder) count() int {
	if to == nil {
		return 0
	}
	return len(to.frames)
}

// excerpt is a text on one line, cut visibly.
func excerpt(s string) string {
	return plain(crash.Shorten(strings.TrimSpace(s), maxExcerpt))
}

func sortedCopy(s []string, most int) []string {
	s = slices.Sorted(slices.Values(s))
	return s[:min(len(s), most)]
}

// addresses notes what an address signature is made of.
func (to *recorder) addresses(f crash.Fields, signature string) {
	if to == nil {
		return
	}
	to.field = "StacktraceAddressSignature"
	if f["StacktraceAddressSignature"] == "" {
		to.field = "Stacktrace"
	}
	start := f["ExecutablePath"] + ":" + f["Signal"] + ":"
	for place := range strings.SplitSeq(strings.TrimPrefix(signature, start), ":") {
		to.use(place, place)
	}
}

// unwound notes the frames of the whole stack that are not in its top, when the top was made of this stack.
func (to *recorder) unwound(stacktrace, top string) {
	if to == nil || stacktrace == "" || StacktraceTop(stacktrace) != top {
		return
	}
	used := to.frames
	to.frames = nil
	began := false
	for line := range pytext.Lines(stacktrace) {
		frame, _, ok := topFrame(line)
		switch {
		case !ok:
		case len(used) > 0 && used[0].Text == excerpt(frame):
			to.frame(used[0])
			used, began = used[1:], true
		case isJitter(pytext.FirstWord(frame)):
			to.skip(frame, "it differs from machine to machine")
		case !began:
			to.skip(frame, "it is how the program ended, not why")
		default:
			to.skip(frame, "the first five frames are enough")
		}
	}
	for _, u := range used {
		to.frame(u)
	}
}
