package handlers

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// While a page is made anew, others get that of before, if it is not old; who asks alone gets what is true now.
func TestKeptPageOfBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k keptPages
		var later atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		release := make(chan struct{})
		page := func(tag string, wait bool) func() (*keptPage, error) {
			return func() (*keptPage, error) {
				if wait {
					<-release
				}
				return &keptPage{tag: tag}, nil
			}
		}
		want := func(state, tag string, make func() (*keptPage, error)) {
			t.Helper()
			if got, err := k.get(state, "/", clock, make); err != nil || got.tag != tag {
				t.Errorf("state %s: got %+v, %v, want page %s", state, got, err, tag)
			}
		}
		want("1", "a", page("a", false))
		want("2", "b", page("b", false)) // alone
		var waiting sync.WaitGroup
		waiting.Go(func() { want("3", "c", page("c", true)) })
		synctest.Wait()
		want("3", "b", page("x", false))
		want("4", "b", page("x", false)) // and another round meanwhile
		later.Store(int64(longestBefore))
		want("4", "d", page("d", false)) // too old
		close(release)
		waiting.Wait()
		want("4", "d", page("x", false))
		want("5", "e", page("e", false))
	})
}
