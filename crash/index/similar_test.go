package index_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
	"mishap/crash/similar"
)

func TestSimilar(t *testing.T) {
	t.Parallel()
	b := index.New()
	set := func(n, head byte, rule crash.GroupingRule, signature string, reports int64) {
		b.Update(func(u *index.Updater) {
			u.SetBucket(index.Bucket{ID: id(n), Head: id(head), Rule: rule, Signature: signature, Reports: reports})
		})
	}
	check := func(what string, ix *index.Index, want ...string) {
		t.Helper()
		var got []string
		own := crash.Bucket{ID: id(1), Rule: crash.RuleStacktrace, Signature: "/usr/bin/a:11:f:g:h"}
		admits := func(p *index.Problem) bool { return p.Bug == 0 }
		for _, p := range ix.Similar(own, similar.Builtin, 3, admits) {
			got = append(got, fmt.Sprint(p.ID[19], " ", p.Reason()))
		}
		checktest.Equal(t, what, fmt.Sprint(got), fmt.Sprint(want))
	}
	set(1, 1, crash.RuleStacktrace, "/usr/bin/a:11:f:g:h", 1)
	check("alone", b)
	set(2, 2, crash.RuleStacktrace, "/usr/bin/b:6:f:g:h", 1)
	set(3, 3, crash.RuleStacktrace, "/usr/bin/b:6:f:x:h", 1)
	set(4, 4, crash.RuleStacktrace, "/usr/bin/b:6:x:y:z", 1)
	set(5, 5, crash.RuleAddress, "/usr/bin/a:11:f:g:h", 1)
	set(6, 1, crash.RuleStacktrace, "/usr/bin/a:6:f:g:h", 1) // of the same problem
	same, one := "2 the same 3 functions in the same order", "3 2 of 3 functions in the same order, differs from g"
	check("two others", b, same, one)
	set(7, 7, crash.RuleStacktrace, "/usr/bin/c:6:f:g:h", 9)
	check("as similar, with more reports", b, "7 the same 3 functions in the same order", same, one)
	set(2, 3, crash.RuleStacktrace, "/usr/bin/b:6:f:g:h", 1) // merged
	check("merged", b, "7 the same 3 functions in the same order", "3 the same 3 functions in the same order")
	check("hidden", b.Without([]crash.BucketID{id(7)}), "3 the same 3 functions in the same order")
	b.SetStates(map[crash.BucketID]index.State{id(3): {Bug: 5}})
	check("not admitted", b, "7 the same 3 functions in the same order")
	for n := byte(20); n < 23; n++ {
		set(n, n, crash.RuleStacktrace, "/usr/bin/a:11:f:g:i", int64(n))
	}
	check("at most three", b, "7 the same 3 functions in the same order",
		"22 2 of 3 functions in the same order, differs from h", "21 2 of 3 functions in the same order, differs from h")
}

func BenchmarkSimilar(b *testing.B) {
	const problems = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	ix := index.New()
	ix.Update(func(u *index.Updater) {
		for n := range problems {
			signature := "/usr/bin/program:11"
			for range 5 {
				signature += fmt.Sprintf(":function_%d", int(20_000*r.Float64()*r.Float64()))
			}
			id := crash.BucketIDOf(fmt.Sprint(n))
			u.SetBucket(index.Bucket{ID: id, Head: id, Rule: crash.RuleStacktrace, Signature: signature, Reports: 1})
		}
	})
	all := ix.Select(func(*index.Problem) bool { return true })
	for n := 0; b.Loop(); n++ {
		ix.Similar(all[n%problems].Named(), similar.Builtin, 5, func(*index.Problem) bool { return true })
	}
}
