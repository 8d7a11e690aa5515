package text

// Texts of the health page and of the links to files.
const (
	HealthCheck   = "Check"
	HealthState   = "State"
	HealthDetails = "Details"
	HealthGood    = "OK"
	HealthBad     = "Problem"
	HealthHint    = "For monitoring, at the address of ops_listen:"
	HealthCounts  = "To recount stored reports, run in a terminal:"
	HealthPeople  = "To manage accounts and API tokens, run in a terminal:"
	ExportsBefore = "This list as"
	AtomFeed      = "Atom feed"
	CSV           = "CSV"
	JSON          = "JSON"
)
