package admin

import (
	"mishap/crash"
	"mishap/views/layout"
)

// HealthPage holds the results of all health checks.
type HealthPage struct {
	Shell  layout.Shell
	Checks []crash.HealthCheck
}
