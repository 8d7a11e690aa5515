package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views"
)

// ShowHealth says that the process answers, and nothing more.
func ShowHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "ok\n")
}

// ShowReady says whether this instance can do its job, for load balancers. Anyone may ask, so details are left out.
func (s *Pages) ShowReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
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

// healthTime is how long all checks may take together.
const healthTime = 2 * time.Second

// ShowAdmin is the page on which an admin sees whether all is well.
func (s *Pages) ShowAdmin(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	return s.Page(w, r, http.StatusOK, views.AdminHealthPage(views.HealthPage{Shell: s.Shell(r, "Health"), Checks: s.Health(ctx)}))
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text)) // an error means that the visitor has gone
	return nil
}
