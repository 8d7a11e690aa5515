package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLog writes records of at least this level to w: as text for a person at a terminal, else as JSON.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// isTerminal reports whether a person sits at the other end of a stream (an io.Reader or io.Writer).
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
