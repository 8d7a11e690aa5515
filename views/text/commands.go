package text

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
	SearchExample    = `package:zsh release:"Ubuntu 24.04" frame:parse_row seen:>=5.9 -state:fixed`
)
