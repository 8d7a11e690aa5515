// Package similar finds problems whose signatures name similar functions in a similar order, to suggest
// them to a person. The method is FaST (Rodrigues et al., 2022): a function weighs less the deeper it is in
// the stack and the more problems have it; equal functions are aligned in their order, others subtract.
// It takes time linear in the number of functions.
package similar

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Weights are the parameters of a comparison, and the scores that matter.
type Weights struct {
	Position float64 `json:"position"` // function i, from 0 at the top, weighs (1+i)^-Position
	Share    float64 `json:"share"`    // times e^(-Share × the share of stacks that have it)
	Distance float64 `json:"distance"` // a pair counts e^(-Distance × the difference of its positions)
	Missing  float64 `json:"missing"`  // part of its weight that a function subtracts if only one stack has it
	Least    float64 `json:"least"`    // below this score, similar problems are not shown
	Likely   float64 `json:"likely"`   // from this score on, mishap says that it may be the same
}

// Builtin are the weights that apply until others are learned. They were chosen on generated stacks, where the best
// match of at least Least is right in 96 of 100 cases, and of at least Likely in 97.
var Builtin = Weights{Position: 0.5, Share: 10, Distance: 0.1, Missing: 0.5, Least: 0.2, Likely: 0.4}

const (
	maxFunctions = 40  // of a stack, from the top
	commonShare  = 0.2 // stacks that share only functions of so many stacks are not similar
	smooth       = 50  // stacks that a new database is thought to have, so that its first functions are not common
)

// Stacks are the functions of many stacks, numbered from 0 in the order in which they were added.
type Stacks struct {
	functions []uint32         // hashes of names, one stack after the other
	ends      []uint32         // by number: where the stack ends in functions
	marks     []uint64         // by number: a bit for each hash, to skip stacks without a common function
	in        map[uint32]int32 // by function: number of stacks that have it
	count     int              // stacks that have functions
}

// Add adds a stack, given its functions from the top. It can have none.
func (s *Stacks) Add(functions []string) {
	if s.in == nil {
		s.in = map[uint32]int32{}
	}
	from := len(s.functions)
	var mark uint64
	for _, name := range functions[:min(len(functions), maxFunctions)] {
		h := hash(name)
		if mark |= bitOf(h); !slices.Contains(s.functions[from:], h) {
			s.in[h]++
		}
		s.functions = append(s.functions, h)
	}
	if len(functions) > 0 {
		s.count++
	}
	s.ends = append(s.ends, uint32(len(s.functions))) //nolint:gosec // at most 40 of each stack
	s.marks = append(s.marks, mark)
}

func hash(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

func bitOf(h uint32) uint64 { return 1 << (h % 64) }

// stack returns the functions of a stack.
func (s *Stacks) stack(number int) []uint32 {
	from := uint32(0)
	if number > 0 {
		from = s.ends[number-1]
	}
	return s.functions[from:s.ends[number]]
}

// Match is a stack and how similar it is: 1 if it has the same functions, 0 or less if it has little in common.
type Match struct {
	Number int
	Score  float64
}

// Like returns the stacks that are at least least similar to one, given its functions from the top, in the order of
// their numbers.
func (s *Stacks) Like(functions []string, w Weights, least float64) []Match {
	own := make([]uint32, 0, maxFunctions)
	for _, name := range functions[:min(len(functions), maxFunctions)] {
		own = append(own, hash(name))
	}
	return s.matches(s.comparisonOf(own, w), least)
}

// matches returns the stacks that are at least least similar to that of a comparison.
func (s *Stacks) matches(c *comparison, least float64) (found []Match) {
	if c.telling == 0 {
		return nil
	}
	for i, mark := range s.marks {
		if mark&c.telling == 0 {
			continue
		}
		if score, ok := c.score(s.stack(i)); ok && score >= least {
			found = append(found, Match{i, score})
		}
	}
	return found
}

// comparison compares stacks with one stack.
type comparison struct {
	stacks  *Stacks
	weights Weights
	depth   [maxFunctions]float64 // weight by position
	apart   [maxFunctions]float64 // factor by difference of positions
	own     []uint32              // functions, from the top
	weight  [maxFunctions]float64 // of own
	total   float64               // sum of these
	telling uint64                // bits of the functions that few stacks have
}

func (s *Stacks) comparisonOf(own []uint32, w Weights) *comparison {
	c := &comparison{stacks: s, weights: w, own: own}
	for i := range c.depth {
		c.depth[i] = math.Pow(float64(1+i), -w.Position)
		c.apart[i] = math.Exp(-w.Distance * float64(i))
	}
	for i, h := range c.own {
		share := s.share(h)
		c.weight[i] = c.depth[i] * math.Exp(-w.Share*share)
		c.total += c.weight[i]
		if share <= commonShare {
			c.telling |= bitOf(h)
		}
	}
	return c
}

// share returns the share of stacks that have a function.
func (s *Stacks) share(h uint32) float64 { return float64(s.in[h]) / float64(s.count+smooth) }

// score compares a stack. ok is false if the two share no function that few stacks have.
func (c *comparison) score(other []uint32) (score float64, ok bool) {
	var next [maxFunctions]int // by position of the own stack: 1 + the position that takes the next equal function
	matched, all := 0.0, c.total
	missing := c.total
	for j, h := range other {
		weight := c.depth[j] * math.Exp(-c.weights.Share*c.stacks.share(h))
		all += weight
		i := slices.Index(c.own, h)
		if i < 0 {
			missing += weight
			continue
		}
		first := i
		if next[first] > 0 { // the k-th occurrence is aligned with the k-th
			from := next[first]
			if i = slices.Index(c.own[from:], h); i < 0 {
				missing += weight
				continue
			}
			i += from
		}
		next[first] = i + 1
		matched += (weight + c.weight[i]) * c.apart[max(i-j, j-i)]
		missing -= c.weight[i]
		ok = ok || c.telling&bitOf(h) != 0 && c.stacks.share(h) <= commonShare
	}
	if all == 0 {
		return 0, false
	}
	return (matched - c.weights.Missing*missing) / all, ok
}

// Problem is a problem that is similar to another one.
type Problem struct {
	crash.Bucket
	Score  float64 // as of Match
	Likely bool    // it may be the same
	Order
}

// DuplicateOf returns the most similar problem of which a problem may be a duplicate: an older one that is likely the
// same. It returns nil if there is none among the similar ones.
func DuplicateOf(b crash.Bucket, found []Problem) *Problem {
	for i, p := range found {
		if p.Likely && p.FirstSeen.Before(b.FirstSeen) {
			return &found[i]
		}
	}
	return nil
}

// Shown is the number of similar problems that people see.
const Shown = 5

// Order says how much of two stacks is the same.
type Order struct {
	Same, Of int    // functions that both have in the same order, of those of the longer stack
	Differs  string // the first function of the first stack that is not among these, or of the second; empty: none
}

// InOrder compares the functions of two stacks, from the top.
func InOrder(a, b []string) Order {
	a, b = a[:min(len(a), maxFunctions)], b[:min(len(b), maxFunctions)]
	o := Order{Of: max(len(a), len(b))}
	var onlyInA, onlyInB string
	for _, pair := range grouping.CompareFrames(framesOf(a), framesOf(b)) {
		switch pair.Difference {
		case grouping.OnlyInFirst:
			onlyInA = cmp.Or(onlyInA, pair.First.Function)
		case grouping.OnlyInSecond:
			onlyInB = cmp.Or(onlyInB, pair.Second.Function)
		case grouping.SameFrame, grouping.OtherPlace:
			o.Same++
		}
	}
	o.Differs = cmp.Or(onlyInA, onlyInB)
	return o
}

func framesOf(functions []string) []grouping.Frame {
	frames := make([]grouping.Frame, len(functions))
	for i, name := range functions {
		frames[i].Function = name
	}
	return frames
}

// Reason says what is the same, for people: "7 of 9 functions in the same order, differs from gtk_main".
func (o Order) Reason() string {
	switch {
	case o.Same == o.Of && o.Of == 1:
		return "the same function"
	case o.Same == o.Of:
		return fmt.Sprintf("the same %d functions in the same order", o.Of)
	}
	text := fmt.Sprintf("%d of %d functions in the same order", o.Same, o.Of)
	if o.Of == 1 {
		text = "no function in the same order"
	}
	if o.Differs != "" {
		text += ", differs from " + crash.Shorten(o.Differs, maxName)
	}
	return text
}

const maxName = 60 // code points of a function in a reason

// Functions returns the functions that a signature names, from the top, without parts that change with each build.
// It returns none if the rule makes signatures of other things.
func Functions(rule crash.GroupingRule, signature string) []string {
	_, rest, _ := strings.Cut(signature, ":") // the program
	var parts []string
	for rest != "" && len(parts) < maxParts {
		var part string
		part, rest = NextPart(rest)
		parts = append(parts, part)
	}
	isFunction := func(string) bool { return true }
	switch rule {
	case crash.RuleDuplicateSignature, crash.RuleKernelCrash, crash.RuleOops:
	case crash.RuleStacktrace, crash.RuleStackNames, crash.RuleStackPartial:
		parts = parts[min(1, len(parts)):] // the signal
	case crash.RuleTraceback, crash.RulePython:
		parts = parts[min(1, len(parts)):] // the exception
		slices.Reverse(parts)
		isFunction = func(part string) bool { return !strings.ContainsAny(part, "@/") } // code outside of functions
	case crash.RuleJava:
		parts = parts[min(1, len(parts)):] // the exception
		isFunction = func(part string) bool { return !strings.HasPrefix(part, "caused by ") }
	case crash.RuleGoPanic, crash.RuleCompiler:
		parts = parts[min(2, len(parts)):] // the kind of failure and the message
	case crash.RuleRustPanic:
		parts = slices.DeleteFunc(parts, isNumber)
		parts = parts[min(3, len(parts)):] // the same, and the file
	case crash.RuleKernel:
		isFunction = func(part string) bool { // else it is a word of the problem: "KASAN", "soft lockup"
			return !strings.ContainsAny(part, " -") && part != strings.ToUpper(part)
		}
	default:
		return nil
	}
	var names []string
	for _, part := range parts {
		if part = bare(part); part != "" && isFunction(part) && len(names) < maxFunctions {
			names = append(names, part)
		}
	}
	return names
}

const maxParts = 2 * maxFunctions // of a signature

func isNumber(part string) bool { return strings.Trim(part, "0123456789") == "" }

// NextPart cuts a signature at its next single colon: those of C++ are double.
func NextPart(s string) (part, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] != ':' {
			continue
		}
		if i+1 < len(s) && s[i+1] == ':' {
			i++
			continue
		}
		return s[:i], s[i+1:]
	}
	return s, ""
}

// bare returns a part of a signature without module and offset. It is empty if nothing remains that names a function:
// numbers are signals.
func bare(part string) string {
	if i := strings.LastIndex(part, " ["); i >= 0 && strings.HasSuffix(part, "]") {
		part = part[:i]
	}
	part, _, _ = strings.Cut(part, "+0x")
	part = strings.TrimSpace(part)
	if isNumber(part) || part == "??" || part == "<signal handler called>" || part[0] == '[' {
		return ""
	}
	return part
}
