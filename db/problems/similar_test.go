package problems_test

import (
	"fmt"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/similar"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestLearnSimilar checks that weights are learned from merges, undone merges and splits of people, apply in other
// instances, and can be forgotten.
func TestLearnSimilar(t *testing.T) {
	t.Parallel()
	f := start(t)
	decisions := db.NewDecisions(f.Store.Store)
	stack := func(n int, functions string) crash.BucketID {
		return f.crash(n, 1, crashtest.Set("DuplicateSignature", "/usr/bin/gull:11:"+functions))
	}
	nameless := []crash.BucketID{f.crash(1, 1), f.crash(2, 1)}
	dbtest.Must(decisions.Merge(t.Context(), nameless[0], nameless[1:], "ada", ""))(t)
	_, err := f.LearnSimilar(t.Context(), "ada")
	checktest.Equal(t, "only problems without functions", crash.KindOf(err), crash.Unprocessable)
	// Problems of one fault begin alike; the rest of the stack is that of other problems.
	var first, second []crash.BucketID
	for n := range 2 * similar.MinMerges {
		first = append(first, stack(n, fmt.Sprintf("top_%d:next_%d:low_%d:loop_%d:begin_%d", n, n, n%5, n%5, n%5)))
		second = append(second, stack(n, fmt.Sprintf("top_%d:next_%d:low_%d:loop_%d:begin_%d", n, n, 5+n%4, 5+n%4, 5+n%4)))
	}
	_, err = f.LearnSimilar(t.Context(), "ada")
	checktest.Equal(t, "without merges", crash.KindOf(err), crash.Unprocessable)
	for n := range first {
		dbtest.Must(decisions.Merge(t.Context(), first[n], []crash.BucketID{second[n]}, "ada", ""))(t)
	}
	dbtest.Must(decisions.Merge(t.Context(), first[0], []crash.BucketID{first[5]}, "ada", ""))(t)
	undone := dbtest.Must(decisions.Decisions(t.Context(), first[0], 9))(t)[0]
	dbtest.Must(decisions.Undo(t.Context(), undone.ID, "ada"))(t)

	bad := similar.Weights{Position: -3, Share: 1, Distance: 0.1, Missing: 0.1, Least: 0.2, Likely: 0.4}
	dbtest.Exec(t, f.url, `insert into similar_weights values (true, $1, now(), 0, 0)`, bad)
	b := dbtest.Must(f.Bucket(t.Context(), first[7]))(t)
	best := func() crash.BucketID {
		found := dbtest.Must(f.another().Similar(t.Context(), b, 1, false))(t)
		return found[0].ID
	}
	checktest.Equal(t, "by bad weights, the end of the stack counts", best() == first[2] || best() == first[12], true)

	lesson := dbtest.Must(f.LearnSimilar(t.Context(), "ada"))(t)
	if !lesson.Better || lesson.Merges != 2*similar.MinMerges || lesson.Apart != 1 || lesson.After.First < 0.9 {
		t.Errorf("got %+v, want better weights from %d merges and 1 undone one", lesson, 2*similar.MinMerges)
	}
	learned := dbtest.Must(f.another().SimilarWeights(t.Context()))(t)
	checktest.Equal(t, "weights of another instance", learned.Weights, lesson.Weights)
	checktest.NoError(t, f.ForgetSimilar(t.Context(), "ada"))
	checktest.NoError(t, f.ForgetSimilar(t.Context(), "ada")) // again
	forgotten := dbtest.Must(f.another().SimilarWeights(t.Context()))(t)
	checktest.Equal(t, "forgotten", forgotten, similar.Learned{Weights: similar.Builtin})
	for action, n := range map[string]string{"similar.learn": "1", "similar.forget": "1"} {
		checktest.Equal(t, action, dbtest.Lines(t, f.url, `select action, count(*)::text from audit_events
			where action like 'similar.%' and before is not null and after is not null group by action`)[action], n)
	}
}
