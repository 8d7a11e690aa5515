package main

import (
	"strings"
	"testing"
)

func TestSimilarCommand(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	for _, args := range [][]string{{"similar"}, {"similar", "--forget"}} {
		out := mustRun(t, environ, args...)
		if !strings.HasPrefix(out, "Weights (built in): position 0.5, share 10, distance 0.1, missing 0.5; shown from ") {
			t.Errorf("%v: got %q, want the built-in weights", args, out)
		}
	}
	status, _, stderr := runIn(t.Context(), nil, environ, "similar", "--train")
	const want = "People have merged 0 pairs of problems with function names; to learn from them, mishap needs 30."
	if status != exitFailed || !strings.Contains(stderr, want) {
		t.Errorf("train: got status %d and %q, want %d and %q", status, stderr, exitFailed, want)
	}
	if status, _, stderr = runIn(t.Context(), nil, environ, "similar", "--train", "--forget"); status != exitUsage {
		t.Errorf("both: got status %d and %q, want %d", status, stderr, exitUsage)
	}
}
