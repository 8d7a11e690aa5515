package similar_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/similar"
)

func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule      crash.GroupingRule
		signature string
		want      []string
	}{
		{crash.RuleStacktrace, "/usr/bin/a:11:f:A::g:h", []string{"f", "A::g", "h"}},
		{crash.RuleStacktrace, "/usr/bin/a:11:give_up:<signal handler called>:spin", []string{"give_up", "spin"}},
		{crash.RuleStackNames, "/usr/bin/a:11:<T as Trait>::f:operator()", []string{"<T as Trait>::f", "operator()"}},
		{crash.RuleDuplicateSignature, "/usr/bin/a:11:f:g", []string{"f", "g"}},
		{crash.RuleTraceback, "/usr/bin/a:ValueError:/usr/bin/a@20:main:load", []string{"load", "main"}},
		{crash.RulePython, "harbor:KeyError:main:read", []string{"read", "main"}},
		{crash.RuleJava, "/usr/bin/chartroom:java.lang.IllegalStateException:chartroom.Store.open:chartroom.Main.main:" +
			"caused by java.io.FileNotFoundException:chartroom.Index.read",
			[]string{"chartroom.Store.open", "chartroom.Main.main", "chartroom.Index.read"}},
		{crash.RuleGoPanic, "/usr/bin/keeld:panic:index out of range [N] with length N:main.load:main.main",
			[]string{"main.load", "main.main"}},
		{crash.RuleRustPanic, "/usr/bin/rustle:panic:src/index.rs:called `Option::unwrap()` on a `None` value:" +
			"rustle::index::load:rustle::main", []string{"rustle::index::load", "rustle::main"}},
		{crash.RuleRustPanic, "/usr/bin/rustle:panic:src/index.rs:42:called `Option::unwrap()` on a `None` value", nil},
		{crash.RuleCompiler, "cc1plus:internal compiler error:in fold:fold_stmt:execute", []string{"fold_stmt", "execute"}},
		{crash.RuleKernel, "kernel:KASAN:slab-use-after-free:tx_done [brigwifi]:irq [brigwifi]",
			[]string{"tx_done", "irq"}},
		{crash.RuleKernel, "kernel:NULL pointer dereference:tx_done [brigwifi]", []string{"tx_done"}},
		{crash.RuleKernelCrash, "kernel:panic:oops_end", []string{"panic", "oops_end"}},
		{crash.RuleOops, "kernel NULL pointer dereference:tx_done+0x62/0x110 [brigwifi]", []string{"tx_done"}},
		{crash.RuleStackPartial, "/usr/bin/a:6:[libgobject-2.0.so]:f:??", []string{"f"}},
		{crash.RuleAssertion, "/usr/bin/quillpad:ERROR:buffer.c:120:buffer_take: assertion failed (buf->ref > 0)", nil},
		{crash.RuleAddress, "/usr/bin/a:11:/usr/lib/libc.so.6+1f", nil},
		{crash.RulePackage, "package:brigwifi:2.0-1:failed", nil},
		{crash.RuleStacktrace, "", nil},
		{crash.RuleStacktrace, "/usr/bin/a:" + strings.Repeat("f:", 999), slices.Repeat([]string{"f"}, 40)},
	} {
		if got := similar.Functions(tt.rule, tt.signature); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.signature, got, tt.want)
		}
	}
}

func TestInOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want string }{
		{"a b c", "a b c", "the same 3 functions in the same order"},
		{"a", "a", "the same function"},
		{"a b c", "a x c", "2 of 3 functions in the same order, differs from b"},
		{"a b", "a b c", "2 of 3 functions in the same order, differs from c"},
		{"a b c", "c b a", "1 of 3 functions in the same order, differs from a"},
		{"a", "b", "no function in the same order, differs from a"},
		{"a b c d e f g h i", "a b c d e f g x y", "7 of 9 functions in the same order, differs from h"},
	} {
		got := similar.InOrder(strings.Fields(tt.a), strings.Fields(tt.b)).Reason()
		checktest.Equal(t, tt.a+" and "+tt.b, got, tt.want)
	}
	hidden := similar.InOrder([]string{"a", "b"}, []string{"a", "c"})
	hidden.Differs = ""
	checktest.Equal(t, "without a name", hidden.Reason(), "1 of 2 functions in the same order")
}

// TestScores checks the score by hand: with no function in common in other stacks, weights are 1, 1/√2 and 1/√3.
func TestScores(t *testing.T) {
	t.Parallel()
	s := new(similar.Stacks)
	for range 950 {
		s.Add([]string{"other"})
	}
	s.Add([]string{"f", "g", "h"})
	s.Add([]string{"f", "x", "h"})
	s.Add([]string{"g", "f"})
	s.Add(nil)
	found := s.Like([]string{"f", "g", "h"}, similar.Weights{Position: 0.5, Missing: 0.5}, -1)
	const g, h = 0.70711, 0.57735
	want := []float64{
		1,
		(2*(1+h) - 0.5*(g+g)) / (2 * (1 + g + h)),
		((1 + g + g + 1) - 0.5*h) / (1 + g + h + 1 + g),
	}
	for i, m := range found {
		if i >= len(want) || m.Number != 950+i || m.Score < want[i]-1e-4 || m.Score > want[i]+1e-4 {
			t.Errorf("match %d: got %+v, want stack %d and %v", i, m, 950+i, want)
		}
	}
	checktest.Equal(t, "matches", len(found), len(want))
	far := s.Like([]string{"f", "g", "h"}, similar.Weights{Position: 0.5, Missing: 0.5, Distance: 1}, -1)
	if far[2].Score >= found[2].Score {
		t.Errorf("functions at other places: got %v, want less than %v", far[2].Score, found[2].Score)
	}
	if found := s.Like([]string{"other"}, similar.Builtin, -1); len(found) != 0 {
		t.Errorf("a function of most stacks: got %d matches, want none", len(found))
	}
	if found := s.Like([]string{"f", "f", "f"}, similar.Builtin, 0.3); len(found) != 0 {
		t.Errorf("recursion: got %v, want no match by one call", found)
	}
	if found := s.Like(nil, similar.Builtin, -1); found != nil {
		t.Errorf("no functions: got %v, want none", found)
	}
}

// fleet is a generated database of stacks of which it is known which are of one fault.
type fleet struct {
	random *rand.Rand
	stacks [][]string
	fault  []int // by stack
}

// newFleet generates programs of functions that call each other, above common libraries. Each fault is a path to a
// function. Its stacks differ as they do in practice: by recursion, inlined functions, functions renamed by a new
// version, callers, and frames without a name.
func newFleet(seed uint64, programs, faultsEach int) *fleet {
	f := &fleet{random: rand.New(rand.NewPCG(seed, 1))}
	common := make([]string, 60)
	for i := range common {
		common[i] = fmt.Sprintf("lib_%d", i)
	}
	for program := range programs {
		functions := make([]string, 120)
		for i := range functions {
			functions[i] = fmt.Sprintf("p%d_f%d", program, i)
		}
		for range faultsEach {
			path := f.path(functions, common)
			id := len(f.stacks)
			for range 1 + f.random.IntN(4) {
				f.stacks, f.fault = append(f.stacks, f.vary(path, functions)), append(f.fault, id)
			}
		}
	}
	return f
}

// path returns the stack of a new fault: perhaps functions of a library on top, then some of the program, then those
// that most stacks of it have.
func (f *fleet) path(functions, common []string) []string {
	var path []string
	for range f.random.IntN(3) {
		path = append(path, common[int(float64(len(common))*f.random.Float64()*f.random.Float64())])
	}
	for range 3 + f.random.IntN(6) {
		path = append(path, functions[int(float64(len(functions))*f.random.Float64()*f.random.Float64())])
	}
	return append(path, "g_main_loop_run", "main")
}

// vary returns a stack of a fault, cut to five functions as signatures are.
func (f *fleet) vary(path, functions []string) []string {
	var stack []string
	for _, name := range path {
		switch p := f.random.Float64(); {
		case p < 0.06: // inlined, or without a name
		case p < 0.10:
			stack = append(stack, name+"_v2") // renamed
		case p < 0.15: // recursion
			for range 2 + f.random.IntN(3) {
				stack = append(stack, name)
			}
		case p < 0.20: // another caller
			stack = append(stack, name, functions[f.random.IntN(len(functions))])
		default:
			stack = append(stack, name)
		}
	}
	return stack[:min(len(stack), 5)]
}

// beginning returns how many functions two stacks have in common from the top, as a share of the longer one.
func beginning(a, b []string) float64 {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return float64(n) / float64(max(len(a), len(b), 1))
}

// ranking says how well scores tell stacks of one fault from others.
type ranking struct {
	first float64 // share of stacks whose best match is of their fault
	area  float64 // probability that a pair of one fault scores higher than another pair
}

// rank computes a ranking of the stacks whose fault has another stack.
func (f *fleet) rank(scores func(i int) []float64) ranking {
	of := map[int]int{}
	for _, id := range f.fault {
		of[id]++
	}
	right, asked := 0.0, 0
	var same, other []float64
	for i, id := range f.fault {
		if of[id] == 1 {
			continue
		}
		asked++
		s := scores(i)
		best, ties, good := 0.0, 0, 0
		for j, score := range s {
			switch {
			case j == i:
				continue
			case f.fault[j] == id:
				same = append(same, score)
			case f.random.IntN(20) == 0:
				other = append(other, score)
			}
			if score > best {
				best, ties, good = score, 0, 0
			}
			if score == best && score > 0 {
				ties++
				if f.fault[j] == id {
					good++
				}
			}
		}
		if ties > 0 {
			right += float64(good) / float64(ties)
		}
	}
	slices.Sort(other)
	sum := 0.0
	for _, s := range same {
		below, _ := slices.BinarySearch(other, s)
		upTo, _ := slices.BinarySearchFunc(other, s, func(o, s float64) int {
			if o <= s {
				return -1
			}
			return 1
		})
		sum += float64(below+upTo) / 2 / float64(len(other))
	}
	return ranking{right / float64(asked), sum / float64(len(same))}
}

// TestRanking compares the ranking with that of comparing beginnings, in a generated database with known answers.
func TestRanking(t *testing.T) {
	t.Parallel()
	f := newFleet(7, 30, 20)
	s := new(similar.Stacks)
	for _, stack := range f.stacks {
		s.Add(stack)
	}
	got := f.rank(func(i int) []float64 {
		scores := make([]float64, len(f.stacks))
		for _, m := range s.Like(f.stacks[i], similar.Builtin, 0) {
			scores[m.Number] = m.Score
		}
		return scores
	})
	plain := f.rank(func(i int) []float64 {
		scores := make([]float64, len(f.stacks))
		for j := range f.stacks {
			scores[j] = beginning(f.stacks[i], f.stacks[j])
		}
		return scores
	})
	t.Logf("%d stacks: first place right in %.3f, area under the curve %.3f; comparing beginnings: %.3f, %.3f",
		len(f.stacks), got.first, got.area, plain.first, plain.area)
	if got.first < 0.70 || got.area < 0.78 {
		t.Errorf("got %.3f and %.3f, want at least 0.70 and 0.78", got.first, got.area)
	}
	if got.first < plain.first+0.07 || got.area < plain.area {
		t.Errorf("got %.3f and %.3f, want more than comparing beginnings: %.3f and %.3f", got.first, got.area,
			plain.first, plain.area)
	}
	checkThresholds(t, f, s)
}

// checkThresholds checks what the constants say of the best match.
func checkThresholds(t *testing.T, f *fleet, s *similar.Stacks) {
	t.Helper()
	for _, tt := range []struct{ least, want float64 }{{similar.Builtin.Least, 0.96}, {similar.Builtin.Likely, 0.97}} {
		right, all := 0, 0
		for i, stack := range f.stacks {
			best := similar.Match{Number: -1}
			for _, m := range s.Like(stack, similar.Builtin, tt.least) {
				if m.Number != i && m.Score > best.Score {
					best = m
				}
			}
			if best.Number >= 0 {
				all++
				if f.fault[best.Number] == f.fault[i] {
					right++
				}
			}
		}
		share := float64(right) / float64(all)
		t.Logf("best match of at least %.1f: right in %.3f of %d", tt.least, share, all)
		if share < tt.want || all < len(f.stacks)/3 {
			t.Errorf("best match of at least %.1f: right in %d of %d, want %.2f, and of a third of all stacks", tt.least, right,
				all, tt.want)
		}
	}
}

func BenchmarkLike(b *testing.B) {
	f := newFleet(3, 600, 67)
	s := new(similar.Stacks)
	for _, stack := range f.stacks[:100_000] {
		s.Add(stack)
	}
	for i := 0; b.Loop(); i++ {
		s.Like(f.stacks[i%100_000], similar.Builtin, similar.Builtin.Least)
	}
}

// TestLearn checks that learning improves bad weights on problems that it did not learn from, keeps good ones, and
// keeps the number of wrong suggestions.
func TestLearn(t *testing.T) {
	t.Parallel()
	f := newFleet(11, 12, 20)
	j := new(similar.Judged)
	last := map[int]int{} // stack of a fault
	for i, stack := range f.stacks {
		number := j.Add(f.fault[i], stack)
		if other, ok := last[f.fault[i]]; ok {
			j.Together = append(j.Together, [2]int{number, other})
		} else if i > 0 && i%5 == 0 {
			j.Apart = append(j.Apart, [2]int{number, i - 1})
		}
		last[f.fault[i]] = number
	}
	bad := similar.Weights{Position: 4, Share: 1, Distance: 2, Missing: 2, Least: 0.2, Likely: 0.4}
	got := j.Learn(bad)
	t.Logf("%d merges, %d apart: before %+v, after %+v by %+v", got.Merges, got.Apart, got.Before, got.After, got.Weights)
	if !got.Better || got.After.First < got.Before.First+0.02 || got.After.Area < got.Before.Area {
		t.Errorf("bad weights: got %+v, want better ones", got)
	}
	wrong := func(w similar.Weights, least float64) (n int) {
		for i, stack := range f.stacks {
			for _, m := range j.Like(stack, w, least) {
				if f.fault[m.Number] != f.fault[i] {
					n++
					break
				}
			}
		}
		return n
	}
	for what, of := range map[string][2]int{
		"shown":  {wrong(bad, bad.Least), wrong(got.Weights, got.Least)},
		"likely": {wrong(bad, bad.Likely), wrong(got.Weights, got.Likely)},
	} {
		if limit := len(f.stacks) / 50; of[1] > of[0]+limit {
			t.Errorf("stacks with a wrong one that is %s: got %d, want at most %d more than %d", what, of[1], limit, of[0])
		}
	}
	kept := j.Learn(similar.Builtin)
	if kept.After.First < kept.Before.First || !kept.Better && kept.Weights != similar.Builtin {
		t.Errorf("good weights: got %+v, want none that are worse", kept)
	}
	none := new(similar.Judged).Learn(similar.Builtin)
	if none.Better || none.Weights != similar.Builtin {
		t.Errorf("no decisions: got %+v, want the same weights", none)
	}
}
