// Package grouping determines the problem that a report belongs to. It parses stacks, tracebacks
// and messages, and applies apport's signature rules and rules of mishap's own. It explains which
// lines of which field a rule used, and derives titles and summaries. All functions are pure and
// limit the amount of text that they read.
package grouping

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// SignatureOf returns the bucket of a report, by the first of: its DuplicateSignature, unchanged; rules
// for stacks that mishap has worked out, else apport's; mishap's own rules (see [crash.RuleKernel] and
// those after it); for a native crash or hang without function names, its address signature, which
// is provisional until the report is symbolised; without an address signature, the names that there
// are. Signatures are truncated to [crash.MaxSignature] code points. A report that no rule groups
// gets a Reason. [Explain] shows the steps.
func SignatureOf(f crash.Fields) crash.Grouping { return group(f, nil) }

func group(f crash.Fields, rec *recorder) crash.Grouping {
	if own := f["DuplicateSignature"]; own != "" {
		rec.read("DuplicateSignature")
		return crash.Grouping{Signature: crash.Truncate(own, crash.MaxSignature), Rule: crash.RuleDuplicateSignature}
	}
	rule := crash.RuleStacktrace
	if namedHere(f) {
		if g := sign(namedRules[:], f, rec); g.Signature != "" {
			return g
		}
	} else {
		var signature string
		if signature, rule = crashSignature(f, rec); signature != "" {
			return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: rule}
		}
	}
	if g := sign(ownRules[:], f, rec); g.Signature != "" {
		return g
	}
	if address := AddressSignature(f); address != "" {
		rec.addresses(f, address)
		return crash.Grouping{Signature: crash.Truncate(address, crash.MaxSignature), Rule: crash.RuleAddress,
			Provisional: true}
	}
	if g := sign(lastRules[:], f, rec); g.Signature != "" {
		return g
	}
	return crash.Grouping{Reason: whyNone(f, rule)}
}

// whyNone says why a report has no signature; rule is the apport rule that applied but gave none.
func whyNone(f crash.Fields, rule crash.GroupingRule) string {
	kind := f["ProblemType"]
	_, oops := f["OopsText"]
	switch {
	case rule == crash.RuleStacktrace && f["ExecutablePath"] != "":
		return whyNoStacktrace(f)
	case rule == crash.RuleTraceback && f["ExecutablePath"] != "":
		return "The traceback has no exception and frames in a known form."
	case kind == "KernelOops" && oops:
		return "The kernel's text names no function in a known form."
	case kind == "KernelOops", kind == "KernelCrash":
		return "The kernel report holds no text and no stack to group by."
	case kind == "Package", kind == "RecoverableProblem", kind == "Snap", kind == "Repair":
		return "Reports of this type are grouped by DuplicateSignature, and this one has none."
	case f["ExecutablePath"] == "":
		return "The report names no program."
	case f["Signal"] != "":
		return "The crash has no stack with function names and no address signature."
	default:
		return "The report has no stack, no traceback and no DuplicateSignature to group by."
	}
}

func whyNoStacktrace(f crash.Fields) string {
	if namedHere(f) && f["StacktraceTop"] == "" {
		return "The stack has only functions that end the program or belong to a runtime, and there is no address signature."
	}
	n := 0
	for line := range pytext.Lines(f["StacktraceTop"]) {
		n++
		if strings.HasPrefix(line, "??") {
			return "Not every frame of the stack has a name, and there is no address signature."
		}
	}
	if n < 2 {
		return "The stack has fewer than two frames, and there is no address signature."
	}
	return "A frame of the stack has a name in an unknown form, and there is no address signature."
}

// RulesVersion is the version of the grouping rules, that is, of [SignatureOf]. Each report is
// stored with the version that grouped it. Raise it when a change of the rules changes the
// signature of any report; stored reports of lower versions are then regrouped.
//
// Version 1: apport's rules and address signatures. 2: our own rules, where apport has none. 3:
// oopses without offsets, network addresses, full disks, Rust executors, Flatpaks and AppImages. 4:
// stacks that mishap works out, calls of wrong pointers.
const RulesVersion = 4

// CurrentRules returns the grouping rules of this program.
func CurrentRules() crash.GroupingRules {
	return crash.GroupingRules{Version: RulesVersion, Group: SignatureOf}
}

// The rules of mishap's own, for reports to which apport gives no signature. The comment of each function has its
// rationale.
//
// Their signatures begin with the program, the package or "kernel", followed by names that locate
// the fault, separated by colons. They omit addresses, process ids, temporary names, line numbers
// and versions, which vary between machines and updates. A rule that cannot distinguish faults
// gives no signature: people can merge buckets, but they cannot use a bucket of many faults.

// ownRule is one of these rules. sign returns "" if the rule does not apply; it records what it
// used and omitted.
type ownRule struct {
	rule crash.GroupingRule
	sign func(f crash.Fields, rec *recorder) string
}

// ownRules are tried before the address signature, because they use names. The first one that gives
// a signature decides.
var ownRules = [...]ownRule{
	{crash.RuleKernel, kernelSignature},
	{crash.RulePackage, packageSignature},
	{crash.RuleJava, javaSignature},
	{crash.RuleGoPanic, goPanicSignature},
	{crash.RuleRustPanic, rustPanicSignature},
	{crash.RuleCompiler, compilerSignature},
	{crash.RuleStackNames, stackNamesSignature},
	{crash.RulePython, pythonSignature},
	{crash.RuleSnap, snapSignature},
	{crash.RuleRecoverable, recoverableSignature},
}

// namedRules apply, instead of apport's, to crashes whose stack mishap has worked out. What a panic
// says is better than the stack that the debugger shows.
var namedRules = [...]ownRule{
	{crash.RuleGoPanic, goPanicSignature},
	{crash.RuleRustPanic, rustPanicSignature},
	{crash.RuleAssertion, assertionSignature},
	{crash.RuleStacktrace, namedStackSignature},
}

// namedHere reports whether mishap has worked out the stack of a native crash.
func namedHere(f crash.Fields) bool { return f[crash.SymbolisedBy] != "" && f["Signal"] != "" }

// lastRules apply to reports without an address signature.
var lastRules = [...]ownRule{
	{crash.RuleStackPartial, stackPartialSignature},
	{crash.RuleHang, hangSignature},
}

const (
	maxRead            = 1 << 20 // bytes of one field that a rule reads
	maxMessage         = 500     // code points of a message in a signature
	maxSymbol          = 1000    // code points of a name in a signature
	maxSignatureFrames = 5       // frames of one stack, as in apport
)

func sign(rules []ownRule, f crash.Fields, rec *recorder) crash.Grouping {
	for _, r := range rules {
		rec.reset()
		if signature := r.sign(f, rec); signature != "" {
			return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: r.rule}
		}
	}
	rec.reset()
	return crash.Grouping{}
}

// subject returns the beginning of a signature: the program, else the package. It omits the
// directories that Snap, Flatpak and AppImage name after a revision or a run:
// "/snap/reef/123/bin/reef", "/tmp/.mount_reefAb3xY9/usr/bin/reef".
func subject(f crash.Fields) string {
	if path := f["ExecutablePath"]; path != "" {
		for _, r := range revisions {
			path = r.directory.ReplaceAllString(path, r.current)
		}
		return crash.Truncate(path, maxExecutable)
	}
	return crash.Truncate(pytext.FirstWord(crash.Truncate(f["Package"], maxWords)), maxName)
}

// revisions match the directories of [subject], with their replacements.
var revisions = []struct {
	directory *regexp.Regexp
	current   string
}{
	{regexp.MustCompile(`^(/tmp/\.mount_[^/]+)[^/]{6}/`), "${1}/"},
	{regexp.MustCompile(`(/flatpak/app/[^/]*/[^/]*/[^/]*/)[0-9a-fA-F]{64}/`), "${1}active/"},
	{regexp.MustCompile(`^((?:/snap|/var/lib/snapd/snap)/[^/]*)/x?[0-9]+/`), "${1}/current/"},
}

// isRevision reports whether a directory is named after a revision: "123", or "x1" for a snap
// installed from a file.
func isRevision(s string) bool {
	digits := strings.TrimPrefix(s, "x")
	return digits != "" && pytext.Run(digits, pytext.IsDigit) == digits
}

// tailOf returns the last maxRead bytes of s, without an incomplete first line. Logs end with the
// most recent events.
func tailOf(s string) string {
	if len(s) <= maxRead {
		return s
	}
	_, rest, _ := strings.Cut(s[len(s)-maxRead:], "\n")
	return rest
}

func headOf(s string) string { return s[:min(len(s), maxRead)] }

// join joins the parts of a signature. It replaces control characters by blanks and skips empty
// parts.
func join(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		part = strings.TrimSpace(withoutControl(crash.Truncate(part, maxSymbol)))
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(part)
	}
	return b.String()
}

func withoutControl(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

type call struct {
	text string // for explanations
	name string // empty: it is no part of a recursion either
	why  string // the reason for which the signature omits it; empty: none
	at   int    // offset of its line in the field
}

const whyEnough = "the signature has enough frames"

func callNames(calls []call, most int, field string, rec *recorder) []string {
	var names []string
	for _, c := range calls {
		if c.why == "" && len(names) == most {
			c.why = whyEnough
		}
		if rec.decide(c.text, c.name, c.why) {
			rec.mark(field, c.at)
			names = append(names, c.name)
		}
	}
	return names
}

// recursion returns the parts of the signature of a stack that overflowed: the sorted functions of the
// infinite recursion, since which of them is on top varies. It returns nil if none occurs often.
func recursion(calls []call, field string, rec *recorder) []string {
	const often, most = 3, 12
	seen := map[string]int{}
	var circle []string
	for _, c := range calls {
		if seen[c.name]++; c.name != "" && seen[c.name] == often {
			circle = append(circle, c.name)
		}
	}
	if len(circle) == 0 {
		return nil
	}
	slices.Sort(circle)
	circle = circle[:min(len(circle), most)]
	for _, c := range calls {
		rec.skip(c.text, "the stack overflowed: only what recurs counts")
	}
	for _, name := range circle {
		rec.use(name, name)
		rec.mark(field, calls[slices.IndexFunc(calls, func(c call) bool { return c.name == name })].at)
	}
	return append([]string{"recursion"}, circle...)
}

func hasAnyPrefix(s string, starts ...string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(s, start) })
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// Informative reports whether a report helps a developer to locate the fault. It has a stack with
// names, a traceback, an assertion, a message of the kernel or the package manager, or another text
// that a grouping rule reads.
func Informative(f crash.Fields) bool {
	for _, field := range []string{"Traceback", "AssertionMessage", "OopsText", "ErrorMessage"} {
		if f[field] != "" {
			return true
		}
	}
	if HasUsefulStacktrace(f) || named(Frames(f)) > 1 {
		return true
	}
	return informativeRules[group(withoutOwnSignature(f), nil).Rule]
}

var informativeRules = map[crash.GroupingRule]bool{
	crash.RuleKernel: true, crash.RulePackage: true, crash.RuleJava: true, crash.RuleGoPanic: true,
	crash.RuleRustPanic: true, crash.RuleCompiler: true, crash.RulePython: true, crash.RuleSnap: true,
	crash.RuleRecoverable: true, crash.RuleHang: true,
}

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

// Normalise replaces the parts of a message that vary, as signatures do.
func Normalise(message string) string { return normalise(message, nil) }

// normalise replaces the parts of a message that vary between machines, processes or versions, so
// that one fault gives the same message everywhere:
//
//	addresses         0x7f22100     ADDR
//	hash sums         9f86d081884c  HEX
//	UUIDs                           UUID
//	versions          1:2.3-4ubu1   VERSION
//	other numbers     4711          N        but not after status, code, errno, signal, error
//	temporary names   /tmp/x8Kq     /tmp/TMP
//	people            /home/ines    /home/USER
//	times and dates   12:30:01      TIME, DATE
//
// Names stay, even with digits in them (x86_64, libssl3). It reads the text once, up to
// [maxMessage] code points.
func normalise(message string, rec *recorder) string {
	message = withoutControl(withoutSyslog(crash.Truncate(strings.TrimSpace(message), maxMessage)))
	before := "" // the previous word
	return wordsOrPaths.ReplaceAllStringFunc(message, func(word string) string {
		core := strings.TrimRight(word, ".:-")
		changed := rec.change(core, normaliseWord(core, before)) + word[len(core):]
		before = core
		return changed
	})
}

var (
	words        = regexp.MustCompile(`[\pL\pN_]+`) // as in [pytext.IsWord]
	wordsOrPaths = regexp.MustCompile(`[\pL\pN_./+~%:@-]+`)
)

// withoutNumbers replaces all numbers in a message of a language's runtime: "index out of range [5]
// with length 3".
func withoutNumbers(s string) string {
	return words.ReplaceAllStringFunc(s, func(word string) string {
		if isNumber(word) {
			return "N"
		}
		return word
	})
}

// withoutSyslog removes the prefix that a log adds to a line: "May 18 09:14:02 host ".
func withoutSyslog(line string) string {
	if len(line) < 17 || !clock.MatchString(line[7:15]) || line[3] != ' ' || line[6] != ' ' || line[15] != ' ' {
		return line
	}
	_, rest, ok := strings.Cut(line[16:], " ")
	if !ok {
		return line
	}
	return rest
}

// meaningful matches words before a small number that is significant.
func meaningful(word string) bool {
	switch strings.ToLower(word) {
	case "status", "code", "errno", "signal", "error", "exit", "rc", "exitcode", "retval", "statut", "sortie":
		return true
	}
	return false
}

func normaliseWord(word, before string) string {
	switch {
	case word == "":
		return word
	case uuid.MatchString(word):
		return "UUID"
	case isAddress(word):
		if meaningful(before) && len(word) <= len("0x80070005") {
			return word
		}
		return "ADDR"
	case isNumber(word):
		if meaningful(before) && len(word) <= 3 {
			return word
		}
		return "N"
	case strings.Contains(word, "/"):
		return normalisePath(word)
	case clock.MatchString(word):
		return "TIME"
	case isNetworkAddress(word):
		return "ADDR"
	case date.MatchString(word):
		return "DATE"
	case epochVersion.MatchString(word):
		return "VERSION"
	}
	return normaliseName(word)
}

func normalisePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parent := ""
		if i > 0 {
			parent = parts[i-1]
		}
		switch {
		case part == "":
		case isNumber(part):
			parts[i] = "N"
		case parent == "home" && i == 2 && parts[0] == "":
			parts[i] = "USER"
		case parent == "tmp" && looksRandom(part):
			parts[i] = "TMP"
		case i > 1 && parts[i-2] == "snap" && isRevision(part):
			parts[i] = "REVISION"
		case uuid.MatchString(part):
			parts[i] = "UUID"
		default:
			parts[i] = normaliseName(numberedArchive(part))
		}
	}
	return strings.Join(parts, "/")
}

// numberedArchive removes the number that apt prepends to archives for dpkg: "05-reef_1.2_all.deb".
func numberedArchive(file string) string {
	digits := pytext.Run(file, pytext.IsDigit)
	if digits != "" && strings.HasSuffix(file, ".deb") && strings.HasPrefix(file[len(digits):], "-") {
		return file[len(digits)+1:]
	}
	return file
}

// looksRandom reports whether the name of a temporary file was probably generated: it has a digit
// or a capital letter.
func looksRandom(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' })
}

// normaliseName normalises a name made of pieces: "brigwifi-dkms_2.0-1ubuntu3_all.deb",
// "main.c:88", "libc.so.6".
func normaliseName(name string) string {
	var b strings.Builder
	inVersion := false
	for name != "" {
		piece := name
		if i := strings.IndexAny(name, "-_:@"); i >= 0 {
			piece = name[:i]
		}
		name = name[len(piece):]
		separator := name[:min(1, len(name))]
		name = name[len(separator):]
		digit := piece != "" && piece[0] >= '0' && piece[0] <= '9'
		switch {
		case inVersion && digit:
			// This piece continues the preceding version.
			s := b.String()
			b.Reset()
			b.WriteString(s[:len(s)-1])
		case version.MatchString(piece):
			inVersion = true
			b.WriteString("VERSION")
		default:
			inVersion = false
			if before := b.String(); !strings.HasSuffix(before, "_") || len(piece) > 2 { // keeps "x86_64"
				piece = normalisePiece(piece)
			}
			b.WriteString(piece)
		}
		inVersion = inVersion && separator == "-"
		b.WriteString(separator)
	}
	return b.String()
}

func normalisePiece(piece string) string {
	switch {
	case isNumber(piece):
		return "N"
	case isHexSum(piece):
		return "HEX"
	case len(piece) == len("tmp")+8 && strings.HasPrefix(piece, "tmp") && looksRandom(piece):
		return "TMP" // Python names temporary files like this
	case isAddress(piece):
		return "ADDR"
	}
	if !strings.Contains(piece, ".") {
		return piece
	}
	parts := strings.Split(piece, ".")
	for i, part := range parts {
		switch {
		case isNumber(part):
			parts[i] = "N"
		case i > 0 && i == len(parts)-1 && isTemporarySuffix(part):
			parts[i] = "TMP"
		}
	}
	return strings.Join(parts, ".")
}

// isTemporarySuffix matches the random endings of mktemp: six or ten characters with small and
// capital letters and digits.
func isTemporarySuffix(s string) bool {
	if len(s) != 6 && len(s) != 10 {
		return false
	}
	small := strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' })
	capital := strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return small && capital && strings.ContainsFunc(s, pytext.IsDigit)
}

var (
	version      = regexp.MustCompile(`^v?[0-9]+\.[0-9]`)                     // "2.0", "1.4.9+dfsg", "v1.2"
	epochVersion = regexp.MustCompile(`^[0-9]+:[0-9][^:]*[.-][^:]*$`)         // "1:2.3-4"
	hardware     = regexp.MustCompile(`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`) // "52:54:00:12:34:56"
	hexSum       = regexp.MustCompile(`^[0-9a-fA-F]{8,}$`)
	uuid         = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	clock        = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}[0-9:.+Z]*$`)            // "12:30", "12:30:01.123"
	date         = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9:.+TZ-]*$`) // alone or with a time
)

func isNumber(s string) bool { return s != "" && pytext.Run(s, pytext.IsDigit) == s }

// isAddress matches "0x" with at least six hexadecimal digits, like apport's rule for assertions.
func isAddress(s string) bool {
	hex, ok := strings.CutPrefix(s, "0x")
	return ok && len(hex) >= 6 && pytext.Run(hex, isHex) == hex
}

// isNetworkAddress matches IPv6 addresses, "fe80::12", "2001:db8:0:0:0:0:0:1", and MAC addresses.
func isNetworkAddress(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF:") == "" && strings.ContainsFunc(s, pytext.IsDigit) &&
		(hardware.MatchString(s) || strings.Count(s, ":") == 7 || strings.Contains(s, "::"))
}

// isHexSum matches eight or more hexadecimal digits, with at least one digit and one letter.
func isHexSum(s string) bool {
	return hexSum.MatchString(s) && !isNumber(s) && strings.ContainsFunc(s, pytext.IsDigit)
}
