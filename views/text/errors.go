package text

import (
	"strconv"
)

// Texts of error pages.
const (
	ErrorSignIn      = "Not signed in"
	ErrorForbidden   = "Not allowed"
	ErrorNotFound    = "Not found"
	ErrorTooLarge    = "Too large"
	ErrorTooOften    = "Too many requests"
	ErrorTracker     = "The bug tracker refused"
	ErrorUnavailable = "Temporarily unavailable"
	ErrorInternal    = "Something went wrong"
	ErrorInvalid     = "Invalid request"
	ErrorTryAgain    = "Try again"
	ErrorNext        = "What next?"
	ErrorProblems    = "Most common problems"
	ErrorSearch      = "Search for a package, function or bug"
	ErrorSignInHere  = "Sign in and return here"
)

// ErrorReference names a request, for the log.
func ErrorReference(status int, request string) string {
	return "Status " + strconv.Itoa(status) + ", request " + request
}
