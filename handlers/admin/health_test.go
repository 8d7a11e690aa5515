package admin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// TestHealth checks that load balancers and admins see a problem, and only admins its details.
func TestHealth(t *testing.T) {
	t.Parallel()
	problem := crash.HealthCheck{Name: "Counting", Remedy: "repair the relation", Link: "/admin/regroup"}
	site := handlertest.New(t, handlertest.Options{Health: func(context.Context) []crash.HealthCheck {
		return []crash.HealthCheck{{Name: "Database"}, problem}
	}})
	visitor, admin := site.Visitor(t), site.As(t, crash.RoleAdmin)
	visitor.Get("/readyz").Want(http.StatusOK)
	admin.Get("/admin").Want(http.StatusOK).WantText("main", "OK").WantNone(".state-error")
	problem.Problem, problem.Detail = "Reports cannot be counted.", "relation secret does not exist"
	if a := visitor.Get("/readyz").Want(http.StatusServiceUnavailable); !strings.Contains(a.Body, problem.Problem) ||
		strings.Contains(a.Body, "secret") {
		t.Errorf("got %q, want the problem without its details", a.Body)
	}
	admin.Get("/admin").Want(http.StatusOK).WantText("main", problem.Problem).WantText("main",
		problem.Detail).WantText(".state-error", "Failure").WantText("main", "repair the relation")
	if got := admin.Get("/admin").Attr(".health a", "href"); got != problem.Link {
		t.Errorf("link: got %q, want %q", got, problem.Link)
	}
	problem.Warning = true
	admin.Get("/admin").Want(http.StatusOK).WantText(".state-warn", "Warning").WantNone(".state-error")
}
