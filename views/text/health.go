package text

// Texts of the health page and of the links to files.
const (
	HealthCheck   = "Check"
	HealthState   = "State"
	HealthDetails = "Details"
	HealthGood    = "OK"
	HealthBad     = "Problem"
	HealthHint    = "For monitoring, at the address of ops_listen:"
	HealthCounts  = "Recount stored reports in a terminal:"
	HealthPeople  = "Accounts and API tokens are managed in a terminal:"
	ExportsBefore = "This list as"
	AtomFeed      = "Atom feed"
	CSV           = "CSV"
	JSON          = "JSON"
)
