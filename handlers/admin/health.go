package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db/backups"
	"mishap/views"
	"mishap/views/text"
)

// ShowHealth answers "ok" while the process runs.
func ShowHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "ok\n")
}

// ShowReady answers whether this instance can work, for load balancers. Anyone may ask, so it
// leaves out details.
func (s *Pages) ShowReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	var problems []string
	for _, c := range s.Health(ctx) {
		if c.Problem != "" {
			problems = append(problems, c.Problem)
		}
	}
	if len(problems) > 0 {
		return crash.Errorf(crash.Unavailable, "not_ready", "%s", strings.Join(problems, " "))
	}
	return writeText(w, "ready\n")
}

// healthTimeout is the time limit of all checks together.
const healthTimeout = 2 * time.Second

// ShowAdmin shows the page with the health checks.
func (s *Pages) ShowAdmin(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	page := views.HealthPage{Shell: s.Shell(r, text.AdminHealth), Checks: append(s.Health(ctx), s.filingCheck(ctx),
		s.symbolsCheck(ctx), s.backupCheck(ctx))}
	return s.Page(w, r, http.StatusOK, views.AdminHealthPage(page))
}

// filingCheck says whether bugs are filed, or why not after the database was restored. It is not part of
// the other checks, because everything else works meanwhile.
func (s *Pages) filingCheck(ctx context.Context) crash.HealthCheck {
	check := crash.HealthCheck{Name: text.FilingHealth}
	restored, err := s.Filings.Restored(ctx)
	switch {
	case err != nil:
		check.Problem, check.Detail = text.FilingHealthUnknown, err.Error()
	case !restored.At.IsZero():
		check.Problem = restored.Problem().Message
		check.Detail = text.FilingRestored(restored.At)
	}
	return check
}

// backupCheck says when the database was last backed up.
func (s *Pages) backupCheck(ctx context.Context) crash.HealthCheck {
	check := crash.HealthCheck{Name: text.BackupHealth}
	last, err := backups.Last(ctx, s.Filings.Handle)
	switch {
	case err != nil:
		check.Problem, check.Detail = text.BackupUnknown, err.Error()
	case last.Taken.IsZero():
		check.Detail = text.BackupNone
	default:
		check.Detail = text.BackupLast(last, s.Now())
		if last.Overdue(s.Now()) {
			check.Problem = text.BackupOverdue
		}
	}
	return check
}

// symbolsCheck says whether an instance symbolises core dumps, and why not. It is not part of the other
// checks, because an instance works well without that.
func (s *Pages) symbolsCheck(ctx context.Context) crash.HealthCheck {
	check := crash.HealthCheck{Name: text.SymbolsHealth}
	workers, err := s.Symbols.Workers(ctx)
	if err != nil {
		check.Problem, check.Detail = text.SymbolsUnknown, err.Error()
		return check
	}
	architectures := map[string]bool{}
	for _, w := range workers {
		for _, name := range w.Architectures {
			architectures[name] = true
		}
		if w.Problem != "" {
			check.Detail = w.Problem
		}
	}
	switch {
	case len(architectures) > 0:
		check.Detail = text.SymbolsOf(strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
	case len(workers) > 0:
		check.Problem = text.SymbolsCannot
	default:
		check.Detail = text.SymbolsNobody
	}
	return check
}

func writeText(w http.ResponseWriter, body string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(body)) // an error means that the visitor has left
	return nil
}
