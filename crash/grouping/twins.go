package grouping

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mishap/crash"
)

// A compiler decides what a stack looks like: which calls it inlines and how well it records that,
// which it turns into jumps, how it names lambdas. And recursion is as deep as the data. So one fault
// can have several signatures. Such problems are twins. Signatures stay as they are, because their
// addresses are permanent; but [Compare] recognises twins, and people or rules can merge them.
//
// Merging different faults is worse than leaving twins apart. So each difference needs evidence: a
// place in the source, or a record in the stack. Compilers do not explain differences between crashes of
// one build: these can only come from recursion.

// Shape is a stack without what differs from build to build and from run to run.
type Shape struct {
	program, signal string
	source          string // version of the source, by which lines can be compared
	frames          []shapeFrame
	thrown          bool // an exception ended the program where it was thrown
	unwound         bool // an exception ended the program after the functions below were left
	endless         bool // the stack overflowed, and only its top is known
}

type shapeFrame struct {
	name    string // empty: unknown
	lambda  bool   // the name is that of the function that contains it, or empty
	library bool   // of the standard library, at the top
	file    string // without folders
	line    int
	module  string
	times   int // it occurs, by recursion
}

func (f shapeFrame) named() bool { return f.name != "" || f.lambda }

// isCommon reports whether all programs have the function, so that it says nothing.
func (f shapeFrame) isCommon() bool { return !f.lambda && (f.name == "main" || isCommon(f.name)) }

// called returns the name of a function in a sentence.
func (f shapeFrame) called() string {
	switch {
	case f.lambda && f.name != "":
		return "the lambda in " + f.name
	case f.lambda:
		return "a lambda"
	}
	return f.name
}

const (
	maxShape   = 64  // frames of a shape
	endless    = 190 // frames from which a stack without its end overflowed; gdb is asked for 200
	maxPeriod  = 12  // functions of one recursion
	enoughSame = 8   // functions after which the rest of two stacks does not matter
)

// NewShape returns the shape of the stack of a native crash. ok is false if the report has none with
// names.
func NewShape(f crash.Fields) (s Shape, ok bool) {
	if f["Signal"] == "" || f["Traceback"] != "" {
		return s, false
	}
	field := "Stacktrace"
	if f[field] == "" {
		field = "StacktraceTop"
	}
	stack := causeIn(field, f)
	if stack.isGo {
		return s, false // inlined functions and goroutines are complete there
	}
	s = Shape{program: subject(f), signal: ending(f), source: sourceVersion(f["Package"])}
	whole := false
	top := true
	for i, line := range stack.lines {
		name := stack.functionName(line.Function)
		switch {
		case name == "__cxa_throw" || name == "__cxa_rethrow":
			s.thrown = true
		case name == "__clang_call_terminate" || name == "__cxa_call_terminate":
			s.unwound = true
			continue
		case isStart(name):
			whole = true
			continue
		}
		if stack.why[i] != "" || endsProgram(line.Function, false) {
			continue
		}
		frame := newShapeFrame(name, line.Frame)
		if isLibrary(frame) {
			if !top {
				continue // called by the program, and it calls the program
			}
			frame.library = true
			if n := len(s.frames); n > 0 && s.frames[n-1].library {
				s.frames = s.frames[:n-1]
			}
		} else if frame.named() {
			top = false
		}
		if n := len(s.frames); !frame.named() && n > 0 && !s.frames[n-1].named() {
			continue
		}
		s.frames = append(s.frames, frame)
		if name == "main" {
			whole = true
			break
		}
	}
	s.endless = !whole && len(stack.lines) >= endless
	s.frames = foldRecursion(s.frames)
	s.frames = s.frames[:min(len(s.frames), maxShape)]
	return s, s.program != "" && slices.ContainsFunc(s.frames, shapeFrame.named)
}

// Functions returns the functions at the top that say something, at most as many as a signature has.
func (s Shape) Functions() (names []string) {
	for _, f := range s.frames {
		if f.name != "" && !f.lambda && Telling(f.name) && len(names) < maxSignatureFrames {
			names = append(names, f.name)
		}
	}
	return names
}

// sourceVersion returns the version of the source of a package, without that of the packaging:
// "1:2.4.1" for "quay 1:2.4.1-3+b1".
func sourceVersion(pkg string) string {
	words := strings.Fields(pkg)
	if len(words) < 2 {
		return ""
	}
	version := words[1]
	if i := strings.LastIndexByte(version, '-'); i > 0 {
		version = version[:i]
	}
	return version
}

func newShapeFrame(name string, f Frame) shapeFrame {
	s := shapeFrame{name: name, module: f.Module, line: f.Line, times: 1}
	if f.File != "" {
		s.file = path.Base(f.File)
	}
	if within, ok := lambdaIn(name, f); ok {
		s.name, s.lambda = within, true
	}
	return s
}

// lambdaIn reports whether a function is a lambda, and the function that contains it, if the name
// says that: GCC's debug information has only "operator()"; its
// symbols have "f(int)::{lambda(int)#1}::operator()", those of Clang "f(int)::$_0::operator()".
func lambdaIn(name string, f Frame) (within string, ok bool) {
	if name == "operator()" && !strings.HasPrefix(f.Args, "this=") {
		return "", true
	}
	for _, end := range [...]string{"::operator()", "::_FUN", "::__invoke"} {
		if rest, found := strings.CutSuffix(name, end); found {
			i := strings.LastIndex(rest, "::")
			if i < 0 {
				continue
			}
			last := rest[i+2:]
			if last == "{lambda}" || strings.HasPrefix(last, "$_") || strings.HasPrefix(last, "'lambda") {
				return rest[:i], true
			}
		}
	}
	return "", false
}

func isLibrary(f shapeFrame) bool {
	return !f.lambda && hasAnyPrefix(f.name, "std::", "__gnu_cxx::", "__cxxabiv1::")
}

// isStart matches functions in which a program or a thread begins.
func isStart(name string) bool {
	return name == "_start" || name == "start_thread" || name == "clone" || name == "clone3" || name == "__clone3" ||
		name == "execute_native_thread_routine" || strings.HasPrefix(name, "__libc_start_")
}

// foldRecursion removes the repetitions of functions that call each other, innermost ones stay.
func foldRecursion(frames []shapeFrame) []shapeFrame {
	frames = slices.Clone(frames)
	for period := 1; period <= maxPeriod; period++ {
		for i := 0; i+2*period <= len(frames); {
			if !slices.EqualFunc(frames[i:i+period], frames[i+period:i+2*period], recurs) {
				i++
				continue
			}
			for k := range period {
				frames[i+k].times += frames[i+period+k].times
				if frames[i+k].name == "" {
					frames[i+k].name = frames[i+period+k].name
				}
			}
			frames = slices.Delete(frames, i+period, i+2*period)
		}
	}
	return frames
}

func recurs(a, b shapeFrame) bool { return a.named() && b.named() && sameName(a, b) }

func sameName(a, b shapeFrame) bool {
	if a.lambda || b.lambda {
		return a.lambda && b.lambda && (a.name == b.name || a.name == "" || b.name == "")
	}
	return a.name == b.name
}

// Kinship says how two stacks are related.
type Kinship struct {
	Twins  bool
	Reason string // why twins differ, as a clause for people: "walk recurs 3 and 5 times"

	// FirstLacks and SecondLacks say that one of two twins lacks functions that the other one has.
	FirstLacks, SecondLacks bool
	// Contradict says that both name functions at one place, and different ones.
	Contradict bool
}

// Compare reports whether two stacks are of one fault, although their signatures differ. If oneBuild, the same
// build of the program has crashed with both, and only recursion explains a difference.
func Compare(a, b Shape, oneBuild bool) Kinship {
	if a.program != b.program || a.signal != b.signal || a.signal == "" {
		return Kinship{Contradict: true}
	}
	if a.endless || b.endless {
		return bothEndless(a, b)
	}
	c := comparison{a: a, b: b, lines: a.source == b.source && a.source != "", oneBuild: oneBuild}
	c.align()
	var k Kinship
	c.judge(&k)
	return k
}

// bothEndless compares stacks that overflowed by the functions of the recursion. Which of them is at
// the top, and what it calls there, is chance.
func bothEndless(a, b Shape) Kinship {
	circle := func(s Shape) (names []string) {
		for _, f := range s.frames {
			if s.endless && f.times > 2 && !slices.Contains(names, f.called()) {
				names = append(names, f.called())
			}
		}
		slices.Sort(names)
		return names
	}
	one, other := circle(a), circle(b)
	if len(one) == 0 || !slices.Equal(one, other) {
		return Kinship{Contradict: true}
	}
	return Kinship{Twins: true, Reason: "both recur without end in " + enumerate(one)}
}

// Twin is a problem of the same fault as another one, see [Compare].
type Twin struct {
	crash.Bucket
	Reason string
	Like   crash.BucketID // the problem that the reason compares it with: another twin, if not the problem itself
}

// Telling reports whether a function in a signature says something about the fault: it is neither of the
// standard library of C++ nor one that all programs have.
func Telling(name string) bool {
	return !isUnnamed(name) && name != "operator()" && !isCommon(name) && !isLibrary(shapeFrame{name: name})
}

// comparison is the alignment of two shapes.
type comparison struct {
	a, b     Shape
	lines    bool // of one source, so lines can be compared
	oneBuild bool
	pairs    [][2]int // frames that correspond to each other
	telling  int      // of these, those that not all programs have
	cut      bool     // enough are the same; the rest does not count
}

// align finds the longest common subsequence of the functions, and prefers the same lines.
func (c *comparison) align() {
	n, m := len(c.a.frames), len(c.b.frames)
	best := make([][]int, n+1)
	for i := range best {
		best[i] = make([]int, m+1)
	}
	worth := func(i, j int) int {
		x, y := c.a.frames[i], c.b.frames[j]
		switch same := c.sameLine(x, y); {
		case !x.named() || !y.named():
			return 0
		case sameName(x, y) && same:
			return 5
		case sameName(x, y):
			return 4
		case same && c.folded(x, y):
			return 3
		}
		return 0
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if w := worth(i, j); w > 0 {
				best[i][j] = max(best[i][j], w+best[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch w := worth(i, j); {
		case w > 0 && best[i][j] == w+best[i+1][j+1]:
			c.pairs = append(c.pairs, [2]int{i, j})
			if !c.a.frames[i].isCommon() {
				c.telling++
			}
			if c.telling == enoughSame {
				c.cut = true
				return
			}
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
}

// sameLine reports whether two frames are known to be at the same line.
func (c *comparison) sameLine(x, y shapeFrame) bool {
	return c.lines && x.line > 0 && x.line == y.line && x.file == y.file
}

// otherLine reports whether two frames are known to be at different lines.
func (c *comparison) otherLine(x, y shapeFrame) bool {
	return c.lines && x.line > 0 && y.line > 0 && x.line != y.line && x.file == y.file
}

// folded reports whether two functions of one place in the source have different names because a
// linker has folded functions with equal code: their own names are the same, as in "Crate::mark" and
// "Barrel::mark".
func (c *comparison) folded(x, y shapeFrame) bool {
	own := func(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
	return !c.oneBuild && !x.lambda && !y.lambda && !x.library && !y.library && own(x.name) == own(y.name)
}

// gap is what stands between two pairs of an alignment, or before the first, or after the last.
type gap struct {
	pair         int // the pair after it
	onlyA, onlyB []shapeFrame
}

func (c *comparison) gaps() []gap {
	var all []gap
	i, j := 0, 0
	for k, p := range c.pairs {
		all = append(all, gap{k, c.a.frames[i:p[0]], c.b.frames[j:p[1]]})
		i, j = p[0]+1, p[1]+1
	}
	if !c.cut {
		all = append(all, gap{len(c.pairs), c.a.frames[i:], c.b.frames[j:]})
	}
	return all
}

func anyNamed(frames []shapeFrame) bool { return slices.ContainsFunc(frames, shapeFrame.named) }

// judge decides whether there is evidence for each difference.
func (c *comparison) judge(k *Kinship) {
	proven, placed := true, 0
	var reasons []string
	for _, g := range c.gaps() {
		a, b := anyNamed(g.onlyA), anyNamed(g.onlyB)
		k.FirstLacks, k.SecondLacks = k.FirstLacks || b, k.SecondLacks || a
		k.Contradict = k.Contradict || a && b
		proven = proven && c.explained(g, a, b)
		reasons = append(reasons, c.missing(g)...)
		if g.pair == len(c.pairs) {
			break
		}
		x, y := c.pair(g.pair)
		if c.sameLine(x, y) {
			placed++
		}
		if c.otherLine(x, y) && x.times == 1 && y.times == 1 && !c.mayMove(g.pair) {
			k.Contradict = true
		}
		switch {
		case x.lambda && x.name != y.name && (c.oneBuild || !c.sameLine(x, y)):
			proven = false
		case x.times != y.times:
			reasons = append(reasons, fmt.Sprintf("%s recurs %d and %d times", x.called(), min(x.times, y.times),
				max(x.times, y.times)))
		case x.lambda && x.name != y.name:
			reasons = append(reasons, "a lambda has the name of "+x.name+y.name+" in one")
		case x.name != y.name:
			reasons = append(reasons, min(x.name, y.name)+" and "+max(x.name, y.name)+" have the same code")
		}
	}
	k.Twins = proven && !k.Contradict && (c.telling > 1 || c.telling == 1 && placed > 1)
	if k.Reason = strings.Join(reasons, "; "); k.Reason == "" {
		k.Reason = "the same functions of the program"
	}
}

func (c *comparison) pair(k int) (x, y shapeFrame) {
	return c.a.frames[c.pairs[k][0]], c.b.frames[c.pairs[k][1]]
}

// mayMove reports whether the lines of a pair may differ: that of the function at the top, as in
// signatures; that of the first pair below functions that were inlined without a record, if the line is
// theirs; or that of a function that an exception has left.
func (c *comparison) mayMove(k int) bool {
	if k > 0 {
		return false
	}
	top := c.pairs[0]
	if top == [2]int{} || c.a.unwound || c.b.unwound {
		return true
	}
	x, y := c.pair(0)
	at := func(frames []shapeFrame, f shapeFrame) bool {
		return slices.ContainsFunc(frames, func(g shapeFrame) bool { return c.sameLine(g, f) })
	}
	return at(c.a.frames[:top[0]], y) || at(c.b.frames[:top[1]], x)
}

// explained reports whether there is evidence that functions which only one stack has are a matter of
// the compiler. a and b say which stack has some.
func (c *comparison) explained(g gap, a, b bool) bool {
	switch {
	case !a && !b:
		return true
	case a && b, c.oneBuild:
		return false
	case g.pair == len(c.pairs): // at the outer end
		return c.telling > 2 && !slices.ContainsFunc(slices.Concat(g.onlyA, g.onlyB),
			func(f shapeFrame) bool { return f.named() && !f.isCommon() })
	}
	same := func(k int) bool { return k < len(c.pairs) && c.sameLine(c.pair(k)) }
	if g.pair > 0 {
		x, y := c.pair(g.pair)
		return same(g.pair) || c.telling > 2 && !c.otherLine(x, y) && len(g.onlyA)+len(g.onlyB) <= 2
	}
	if a && c.a.thrown && c.b.unwound || b && c.b.thrown && c.a.unwound {
		return c.telling > 1 && same(1)
	}
	return c.telling > 1 && (same(0) || same(1) && c.mayMove(0))
}

// missing says which functions only one stack has.
func (c *comparison) missing(g gap) []string {
	var names []string
	for _, f := range slices.Concat(g.onlyA, g.onlyB) {
		if f.named() {
			names = append(names, f.called())
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case g.pair == 0 && c.a.unwound != c.b.unwound:
		return []string{"the exception had left " + enumerate(names) + " in one"}
	case len(names) == 1:
		return []string{names[0] + " is missing in one"}
	}
	return []string{enumerate(names) + " are missing in one"}
}

const maxEnumerated = 3

func enumerate(names []string) string {
	if len(names) > maxEnumerated {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxEnumerated], ", "), len(names)-maxEnumerated)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
