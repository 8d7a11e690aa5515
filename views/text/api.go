package text

// Texts of the reference of the API.
const (
	APITitle     = "API 1.0"
	APIBefore    = "A JSON API for scripts at"
	APIAfter     = "Its addresses, parameters and answers are those of errors.ubuntu.com. For programs:"
	APIOpenAPI   = "OpenAPI 3.1"
	APIGeneral   = "Basics"
	APILists     = "Lists"
	APIListShape = `{"meta": {"limit", "next", "offset", "previous", "total_count"}, "objects": […]}`
	APIListMeans = "with at most 360 objects per answer. meta.next is the address of the next page."
	APIErrors    = "Errors"
	APIErrorForm = `{"error": "…", "code": "…"}`
	APIErrorText = "where error is a sentence for people and code a word for programs."

	APIParameters  = "Parameters"
	APIParamsMeans = "If a parameter is repeated, the last value counts. An empty parameter counts as missing."
	APICaching     = "Caching"
	APICacheBefore = "Send the"
	APIETag        = "ETag"
	APICacheMiddle = "of an answer as"
	APINoneMatch   = "If-None-Match"
	APICacheAfter  = "to get 304 if nothing has changed."

	APIAccess       = "Access"
	APIScope        = "token with the scope"
	APIAccessBefore = "Resources that are not public need a session, or an API token of"
	APIYourAccount  = "your account"
	APIAccessAfter  = "in the header"
	APILimit        = "Limit"
	APIRetryAfter   = "Retry-After"

	APIFiles      = "Files"
	APIFilesMeans = "Lists on pages are available as files, too: append .csv, .json or .atom to the address."

	APIResources = "Resources"
	APIKind      = "Kind"
	APIRequired  = "required"
	APIType      = "Type"
	APIExample   = "Example:"
)

// APILimitMeans states the number of requests without a token.
func APILimitMeans(perMinute int64) string {
	return Counted(perMinute, "request", "requests") + " per minute without a token; beyond that, the answer is 429 with"
}

// APIParametersOf is the caption of the parameters of a resource.
func APIParametersOf(name string) string { return "Parameters of " + name }

// APIFieldsOf is the caption of the fields of a resource.
func APIFieldsOf(name string) string { return "Fields of " + name }

// APIDefault states the default of a parameter.
func APIDefault(value string) string { return "Default: " + value + "." }
