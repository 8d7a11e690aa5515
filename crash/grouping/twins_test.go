package grouping_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// twinStack writes a stack: functions from the crash outwards, each with its line, as "quay::walk@136", and with its
// arguments, as "operator()(__closure)@201".
func twinStack(functions string) string {
	var b strings.Builder
	for i, word := range strings.Fields(functions) {
		name, line, placed := strings.Cut(word, "@")
		args := "n=..."
		if rest, found := strings.CutSuffix(name, "(__closure)"); found {
			name, args = rest, "__closure=..., n=..."
		}
		fmt.Fprintf(&b, "#%-2d 0x%016x in %s (%s)", i, 0x401000+i*16, name, args)
		if placed {
			fmt.Fprintf(&b, " at quay.cc:%s", line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	thrown = "__GI_abort __verbose_terminate_handler __gxx_personality_v0 _Unwind_RaiseException __cxa_throw "
	caught = "__GI_abort __verbose_terminate_handler std::terminate __clang_call_terminate "
)

func shapeOf(t *testing.T, functions string, changes ...string) grouping.Shape {
	t.Helper()
	f := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/quay", "Signal": "11", "Package": "quay 1.0-1",
		crash.SymbolisedBy: "mishap", "Stacktrace": twinStack(functions)}
	if strings.Contains(functions, "__GI_abort") {
		f["Signal"] = "6"
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		f[name] = value
	}
	s, ok := grouping.NewShape(f)
	if !ok {
		t.Fatalf("got no shape of %s", functions)
	}
	return s
}

func TestTwins(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, a, b, want string }{
		{"recursion", "weigh@130 walk@137 walk@136 walk@136 stow@138 main@9",
			"weigh@130 walk@137 walk@136 walk@136 walk@136 walk@136 stow@138 main@9", "walk recurs 3 and 5 times"},
		{"a circle", "twice@29 factor@167 product@156 sum@151 factor@163 product@156 sum@151 parse@173 main@9",
			"twice@29 factor@167 product@156 sum@151 factor@163 product@156 sum@151 factor@163 product@156 sum@151 " +
				"parse@173 main@9",
			"factor recurs 2 and 3 times; product recurs 2 and 3 times; sum recurs 2 and 3 times"},
		{"an inlined function without a record", "depth@28 twice@29 sum@201 chart@206 main@9",
			"twice@28 sum@201 chart@206 main@9", "depth is missing in one"},
		{"a call of null that was a jump", "horn@56 fog@61 run@263 main@9", "fog@61 run@263 main@9",
			"horn is missing in one"},
		{"a jump in the middle", "sink@235 flood@236 hit@237 sail@238 main@9", "sink@235 flood@236 sail@238 main@9",
			"hit is missing in one"},
		{"a lambda", "twice@29 operator()(__closure)@201 std::for_each@3 sum@201 main@9",
			"twice@29 sum(int)::$_3::operator()@201 sum@201 main@9", "a lambda has the name of sum in one"},
		{"what the standard library calls", "price@3 draw@4 std::__invoke@60 std::thread::_M_run@70 ?? start_thread",
			"price@3 draw@4 ?? start_thread", "the same functions of the program"},
		{"an exception", thrown + "check@74 tie@78 moor@81 main@9", caught + "tie@80 moor@81 main@9",
			"the exception had left check in one"},
		{"folded code", "Barrel::marked@249 roll@253 fill@255 main@9", "Crate::marked@249 roll@253 fill@255 main@9",
			"Barrel::marked and Crate::marked have the same code"},
		{"no names", "read@4 load@5 parse@6 main@9", "read@4 ?? parse@6 main@9", "load is missing in one"},
		{"no lines, and little is missing", "scan load parse open main", "scan load open main", "parse is missing in one"},

		{"another line", "read@4 load@5 main@9", "read@4 load@7 main@9", ""},
		{"another function at the same place", "read@4 load@5 main@9", "write@6 load@5 main@9", ""},
		{"another lambda", "twice@29 operator()(__closure)@201 sum@202 main@9",
			"twice@29 operator()(__closure)@211 sum@202 main@9", ""},
		{"another class with its own code", "Barrel::marked@249 fill@255 main@9", "Crate::marked@248 fill@255 main@9", ""},
		{"the top is missing, and no lines are known", "read load parse main", "load parse main", ""},
		{"the top is missing, called from another line", "read@4 load@5 parse@6 main@9", "load@8 parse@6 main@9", ""},
		{"another leaf of one recursion", "weigh@130 walk@137 walk@136 stow@138 main@9",
			"count@131 walk@137 walk@136 walk@136 stow@138 main@9", ""},
		{"only main is the same", "read@4 main@9", "main@9 start@3", ""},
		{"another caller at the outer end", "read load parse main", "read load parse open main2", ""},
	} {
		a, b := shapeOf(t, test.a), shapeOf(t, test.b)
		for _, pair := range [][2]grouping.Shape{{a, b}, {b, a}} {
			k := grouping.Compare(pair[0], pair[1], false)
			checktest.Equal(t, test.name+": twins", k.Twins, test.want != "")
			if k.Twins {
				checktest.Equal(t, test.name, k.Reason, test.want)
			}
		}
		k := grouping.Compare(a, b, true)
		checktest.Equal(t, test.name+": twins in one build", k.Twins,
			strings.Contains(test.want, "recurs") || strings.HasPrefix(test.want, "the same functions"))
	}
}

// TestTwinsOfReports checks what reports must have in common.
func TestTwinsOfReports(t *testing.T) {
	t.Parallel()
	const stack = "weigh@130 walk@137 walk@136 stow@138 main@9"
	const deeper = "weigh@130 walk@137 walk@136 walk@136 stow@138 main@9"
	const inlined = "depth@28 twice@29 sum@201 chart@206 main@9"
	for _, test := range []struct {
		name, other, change string
		want                bool
	}{
		{"all", deeper, "", true},
		{"the program", deeper, "ExecutablePath=/usr/bin/pier", false},
		{"the signal", deeper, "Signal=6", false},
		{"the version, which recursion does not need", deeper, "Package=quay 2.0-1", true},
	} {
		change := test.change
		if change == "" {
			change = "Package=quay 1.0-2"
		}
		k := grouping.Compare(shapeOf(t, stack), shapeOf(t, test.other, change), false)
		checktest.Equal(t, test.name, k.Twins, test.want)
	}
	of := func(version string) bool {
		return grouping.Compare(shapeOf(t, inlined), shapeOf(t, "twice@28 sum@201 chart@206 main@9", "Package=quay "+version),
			false).Twins
	}
	checktest.Equal(t, "lines of another package of the source", of("1.0-4ubuntu1"), true)
	checktest.Equal(t, "lines of another source", of("1.1-1"), false)

	endless := "leaf@3 " + strings.Repeat("ping@4 pong@5 ", 99)
	other := strings.Repeat("pong@5 ping@4 ", 100)
	k := grouping.Compare(shapeOf(t, endless), shapeOf(t, other), true)
	checktest.Equal(t, "overflows", k.Reason, "both recur without end in ping and pong")
	checktest.Equal(t, "overflows are twins", k.Twins, true)
	checktest.Equal(t, "overflows of others are twins",
		grouping.Compare(shapeOf(t, endless), shapeOf(t, strings.Repeat("pong@5 pang@4 ", 100)), true).Twins, false)
	for name, f := range map[string]crash.Fields{
		"no names":  {"Signal": "11", "ExecutablePath": "/usr/bin/quay", "Stacktrace": twinStack("?? ??")},
		"no signal": {"ExecutablePath": "/usr/bin/quay", "Stacktrace": twinStack("load main")},
		"Go": {"Signal": "6", "ExecutablePath": "/usr/bin/quay",
			"Stacktrace": twinStack("runtime.raise main.load main.main")},
	} {
		if _, ok := grouping.NewShape(f); ok {
			t.Errorf("%s: got a shape, want none", name)
		}
	}
}

// TestUnrelatedAreNoTwins compares generated crashes of one program in different versions, of which each pair
// shares the callers and no more.
func TestUnrelatedAreNoTwins(t *testing.T) {
	t.Parallel()
	var shapes []grouping.Shape
	of := map[string]bool{}
	for k := range 600 {
		f := crashtest.VolumeProblem(k*6+2, 1, rand.New(rand.NewPCG(1, uint64(k))))
		f["ExecutablePath"], f["Package"] = "/usr/bin/quay", fmt.Sprintf("quay 1.0-%d", k)
		if s, ok := grouping.NewShape(f); ok && !of[f["StacktraceTop"]] {
			of[f["StacktraceTop"]] = true
			shapes = append(shapes, s)
		}
	}
	if len(shapes) < 300 {
		t.Fatalf("got %d stacks, want at least 300", len(shapes))
	}
	for i, a := range shapes {
		for _, b := range shapes[:i] {
			if k := grouping.Compare(a, b, false); k.Twins {
				t.Fatalf("got twins: %s", k.Reason)
			}
		}
	}
}
