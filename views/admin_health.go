package views

import "mishap/crash"

// HealthPage holds the results of all health checks.
type HealthPage struct {
	Shell  Shell
	Checks []crash.HealthCheck
}
