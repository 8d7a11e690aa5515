package views

import "mishap/crash"

// HealthPage tells an admin whether all is well.
type HealthPage struct {
	Shell  Shell
	Checks []crash.HealthCheck
}
