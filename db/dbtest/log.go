package dbtest

import (
	"log/slog"
	"testing"
)

// Log is a logger whose lines appear with the test that fails.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
