package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mishap/crash"

	"github.com/prometheus/client_golang/prometheus"
)

// TestBackgroundStops checks that no loop runs its task again once it is told to stop, even if the next
// run is due by then.
func TestBackgroundStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var runs atomic.Int64
		var tasks []task
		for i := range 32 {
			tasks = append(tasks, task{fmt.Sprint("task-", i), "waits", time.Second, func(context.Context) error {
				runs.Add(1)
				_ = crash.Sleep(t.Context(), time.Minute)
				stop()
				return nil
			}})
		}
		b := newBackground(newLog(io.Discard, 0), prometheus.NewRegistry(), nil)
		b.start(ctx, tasks)
		b.wait()
		if got := runs.Load(); got != 32 {
			t.Errorf("got %d runs of 32 tasks, want one each", got)
		}
	})
}

// TestBackgroundLoop checks that a loop continues after an error and after a panic, and that both
// are logged and counted.
func TestBackgroundLoop(t *testing.T) {
	t.Parallel()
	said := &quietBuffer{}
	metrics := prometheus.NewRegistry()
	b := newBackground(newLog(said, 0), metrics, nil)
	ctx, stop := context.WithCancel(t.Context())
	runs := 0
	b.start(ctx, []task{{"sound-horn", "warns ships", time.Millisecond, func(context.Context) error {
		switch runs++; runs {
		case 1:
			return errors.New("no steam")
		case 2:
			panic("boiler")
		case 3:
			stop()
			return errors.New("stopped in the middle")
		}
		return nil
	}}})
	b.wait()
	if runs != 3 {
		t.Errorf("got %d runs, want 3", runs)
	}
	for _, want := range []string{"no steam", "panic: boiler", "background_test.go", "sound-horn"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("log: got %s, want %q in it", said, want)
		}
	}
	if strings.Contains(said.String(), "in the middle") {
		t.Error("log: got the error of a run that was cancelled by stopping")
	}
	answer := httptest.NewRecorder()
	opsHandler(metrics, startingHealth, nil).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"/metrics", nil))
	for _, want := range []string{
		`mishap_task_failures_total{task="sound-horn"} 2`,
		`mishap_task_interval_seconds{purpose="warns ships",task="sound-horn"} 0.001`,
		`mishap_task_last_run_timestamp_seconds{task="sound-horn"} 1.`,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("metrics: got\n%s\nwant %q in it", answer.Body, want)
		}
	}
}
