package webhook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestEmbargo checks that deliveries about an embargoed problem wait until the embargo is lifted:
// those that were never sent, those that failed, and summaries that name the problem.
func TestEmbargo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := newReceiver(t)
	e := f.add(crash.Endpoint{Address: crash.Secret(r.URL)})
	few := f.add(crash.Endpoint{Address: crash.Secret(r.URL + "/few"), PerMinute: 1})
	id := crash.BucketID{1}
	const sqlBucket = `
		insert into buckets (id, head, signature, rule, provisional, problem_type, title, executable, package,
			source_package, changed)
		values ($1, $1, 'x', 'stack', false, 'Crash', 'x', '', 'zsh', 'zsh', 0)`
	dbtest.Exec(t, f.url, sqlBucket, id[:])
	f.publish(1, few)
	f.round()
	r.answers(status(http.StatusInternalServerError))
	f.publish(2, e, few) // 4 and 5; the limit of endpoint few holds them back
	dbtest.Exec(t, f.url, `update events set bucket_id = $1 where title = 'zsh crashed 4'`, id[:])
	f.round()
	f.clock.add(61 * time.Second)
	f.round() // makes the summary; everything fails
	if first := bodies(r.got()); !strings.Contains(first, `"type":"summary"`) {
		t.Fatalf("got %s, want failed deliveries and a summary", first)
	}
	store := problems.New(f.store.Store)
	if _, err := store.Set(t.Context(), crash.Mark{Kind: crash.MarkEmbargo, Bucket: id, Person: "eve"}); err != nil {
		t.Fatal(err)
	}
	r.answers(nil)
	for range 20 {
		f.clock.add(10 * time.Minute)
		f.round()
	}
	during := bodies(r.got())
	for title, want := range map[string]int{"zsh crashed 4": 0, `"type":"summary"`: 0, "zsh crashed 5": 1} {
		if got := strings.Count(during, title); got != want {
			t.Errorf("during the embargo: got %d times %s, want %d, in\n%s", got, title, want, during)
		}
	}
	if err := store.Lift(t.Context(), id, crash.MarkEmbargo, "eve"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		f.clock.add(10 * time.Minute)
		f.round()
	}
	after := bodies(r.got())
	for title, want := range map[string]int{"zsh crashed 4": 2, `"type":"summary"`: 1, "zsh crashed 5": 1} {
		if got := strings.Count(after, title); got != want {
			t.Errorf("after the embargo: got %d times %s, want %d, in\n%s", got, title, want, after)
		}
	}
}

// bodies returns the bodies of requests.
func bodies(requests []received) string {
	var all strings.Builder
	for _, r := range requests {
		all.WriteString(r.Path + " " + r.Body + "\n")
	}
	return all.String()
}
