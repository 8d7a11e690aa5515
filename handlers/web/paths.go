package web

const (
	// PathAdmin is the page with the health of mishap.
	PathAdmin = "/admin"
	// PathTracker is the page that connects mishap to the tracker.
	PathTracker = "/admin/tracker"
	// PathAccount is the page of one's own account.
	PathAccount = "/account"

	apiPrefix     = "/api/1.0/" // errors below it are JSON
	pathCreateBug = apiPrefix + "create-bug-report"
)
