package text

// Texts of the health page and of the links to files.
const (
	HealthCheck   = "Check"
	HealthState   = "State"
	HealthDetails = "Details"
	HealthGood    = "OK"
	HealthOff     = "Off"
	HealthWarning = "Warning"
	HealthFailure = "Failure"
	HealthRemedy  = "What to do:"
	HealthPage    = "Open the page"
	HealthHint    = "For monitoring, at the address of ops_listen:"
	HealthCounts  = "To recount stored reports, run in a terminal:"
	HealthPeople  = "To manage accounts and API tokens, run in a terminal:"
	ExportsBefore = "This list as"
	AtomFeed      = "Atom feed"
	CSV           = "CSV"
	JSON          = "JSON"
)

// Commands, headers and examples that pages show. They stay the same in every language.
const (
	CommandAddUser   = "mishap user add NAME --role viewer"
	CommandReconcile = "mishap filings reconcile"
	CommandRegroup   = "mishap regroup"
	CommandDryRun    = "mishap regroup --dry-run"
	CommandConnect   = "./setup-oauth-token.sh"
	CommandCheck     = "mishap check"
	CommandUsers     = "mishap user list"
	CommandTokens    = "mishap token list"
	PathReady        = "/readyz"
	PathMetrics      = "/metrics"
	HeaderBearer     = "Authorization: Bearer …"
)
