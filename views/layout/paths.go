package layout

import (
	"net/url"
)

// Addresses of pages to which those of several areas link.
const (
	PathSearch     = "/search"
	PathComplete   = "/search/complete"
	PathKeys       = "/keys"
	PathMy         = "/my"
	PathInbox      = "/inbox"
	PathCandidates = "/candidates"
	PathMuteChosen = "/problems/mute"

	PathAccess    = "/admin/access"
	PathAllTokens = "/admin/tokens"
	PathAudit     = "/admin/audit"
	PathEndpoints = "/admin/notifications"
	PathErasures  = "/admin/erasures"
	PathMailAdmin = "/admin/mail"
	PathFilings   = "/admin/filings"
	PathPrivacy   = "/admin/privacy"
	PathRegroup   = "/admin/regroup"
	PathRules     = "/admin/rules"
	PathServices  = "/admin/services"
	PathSymbols   = "/admin/symbols"
	PathTemplates = "/admin/templates"
)

// SearchURL returns the address of a search.
func SearchURL(query string) string { return PathSearch + "?" + url.Values{"q": {query}}.Encode() }

// PathCreateBug is the address to which Create sends its forms.
const PathCreateBug = "/api/1.0/create-bug-report/"
