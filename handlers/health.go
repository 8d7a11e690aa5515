package handlers

import (
	"context"
	"net/http"
	"time"
)

// showHealth says that the process answers, and nothing more.
func showHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "ok\n")
}

// showReady says whether this unit can do its work, for load balancers: it can when the database answers soon.
func (s *Server) showReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		return err
	}
	return writeText(w, "ready\n")
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text)) // an error means that the visitor has gone
	return nil
}
