package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/admin"
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
		return crash.Errorf(crash.Unavailable, web.CodeNotReady, "%s", strings.Join(problems, " "))
	}
	return writeText(w, "ready\n")
}

// healthTimeout is the time limit of all checks together.
const healthTimeout = 2 * time.Second

// ShowAdmin shows the page with the health checks.
func (s *Pages) ShowAdmin(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	page := view.HealthPage{Shell: s.web.Shell(r, "Health"), Checks: append(s.Health(ctx), s.Vitals.Checks(ctx)...)}
	return s.web.Page(w, r, http.StatusOK, view.AdminHealthPage(page))
}

func writeText(w http.ResponseWriter, body string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(body)) // an error means that the visitor has left
	return nil
}
