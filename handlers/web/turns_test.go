package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns checks the order of turns, and that a page does not wait longer than maxTurnWait.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := make(turns, 1)
		done := one.wait(t.Context())
		var order []int
		for i := range 3 {
			go func() {
				defer one.wait(t.Context())()
				order = append(order, i)
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("got the turns %v before the first was over", order)
		}
		done()
		synctest.Wait()
		if want := []int{0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("got the turns %v, want %v", order, want)
		}

		done = one.wait(t.Context())
		for range 2 { // the first must not end the turn that it did not get
			began := time.Now()
			one.wait(t.Context())()
			if waited := time.Since(began); waited != maxTurnWait {
				t.Errorf("behind a slow page: waited %v, want %v", waited, maxTurnWait)
			}
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		one.wait(left)()
		file := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/problems.csv", nil)
		list := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		list.Header.Set("Accept", "text/csv")
		for _, r := range []*http.Request{file, list} {
			if err := one.render(nil, r, func(http.ResponseWriter, *http.Request) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a visitor who has left, and files: waited %v, want no wait", waited)
		}
		done()
	})
}
