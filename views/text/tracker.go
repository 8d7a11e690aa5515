package text

import (
	"strconv"
)

// Texts of the page that connects mishap to the tracker.
const (
	TrackerHeading = "Bug tracker"

	TrackerNotConnected      = "Not connected"
	TrackerNotConnectedMeans = "Bugs cannot be created yet. Requested bugs are queued and will be created once " +
		"mishap is connected."
	TrackerRejected  = "No longer accepted"
	TrackerConnected = "Connected"

	TrackerSteps      = "Connect"
	TrackerStepsAgain = "Reconnect"
	StepDone          = "done"
	StepNext          = "next"
	StepLater         = "later"
	StepRequest       = "Request access"
	StepAuthorise     = "Authorise mishap"
	StepFinish        = "Finish"
	StepFinishMeans   = "mishap fetches the access token and checks it."
	TrackerAuthorised = "I’ve authorised it – finish"
	TrackerNewTab     = "opens in a new tab"
	TrackerLevel      = "Choose a level that may change data; with a read-only level, no bugs can be created."
	StartOver         = "Start over"

	TrackerDetails       = "Connection"
	TrackerAccount       = "Account"
	TrackerNotAsked      = "not read yet"
	TrackerSince         = "Connected"
	TrackerByConfig      = "by the configuration"
	TrackerAccess        = "Access level"
	TrackerAccessUnknown = "as chosen when authorising (the tracker does not report it)"
	TrackerLimit         = "Limited to"
	TrackerLimitUnknown  = "unknown"
	TrackerNoLimit       = "no particular project"
	TrackerToken         = "Access token"
	TrackerLastSuccess   = "Last successful call"
	TrackerLastError     = "Last error"
	TrackerTest          = "Test connection"

	TrackerEnvironment = "MISHAP_TRACKER_OAUTH_TOKEN or MISHAP_TRACKER_OAUTH_TOKEN_FILE is set in the " +
		"environment of this instance and overrides the configuration file. A new connection made here lasts until this " +
		"instance is restarted."

	TrackerUnwritten    = "The configuration file could not be written"
	TrackerSecretHint   = "The second line is a secret: anyone who has it can act as this account."
	TrackerShowLines    = "Show the lines with the secret"
	TrackerShowLinesFor = "Only you can see them, until you sign out."

	Disconnect             = "Disconnect"
	RemoveStoredToken      = "Remove token from the database"
	TrackerDisconnected    = "Disconnected. The access token has been removed from the database."
	TrackerFromDatabase    = "the database, for all instances without a token of their own"
	TrackerFromEnvironment = "the environment of this instance"

	NoRequest = "This session has no pending request, or the request is older than two hours. Start over."

	ConfigNotWritten = "The configuration file could not be written."
	TokenOfOther     = "This session did not create the access token, so it is not shown. Reconnect to get one " +
		"of your own."
	BannerConnect      = "Connect"
	AdminNavLabel      = "Administration"
	AdminTracker       = "Bug tracker"
	AdminTemplates     = "Bug templates"
	AdminGrouping      = "Grouping"
	AdminFilingLog     = "Filing log"
	AdminHealth        = "Health"
	TrackerConnectedBy = "by"
)

// TrackerConnectedTo follows the state "Connected".
func TrackerConnectedTo(tracker string) string { return "to " + tracker }

// TrackerRejectedMeans explains that the tracker refuses the token.
func TrackerRejectedMeans(tracker string) string {
	return tracker + " no longer accepts the access token. Reconnect; requested bugs wait until then."
}

// TrackerStepsMeans explains what connecting does.
func TrackerStepsMeans(tracker string) string {
	return "Bugs will be created as the " + tracker + " account that authorises mishap."
}

// StepRequestMeans explains the first step.
func StepRequestMeans(tracker string) string {
	return "mishap asks " + tracker + " for a request token."
}

// ConnectTo is the button of the first step.
func ConnectTo(tracker string) string { return "Connect to " + tracker }

// ReconnectTo is the button of the first step if there is a connection.
func ReconnectTo(tracker string) string { return "Reconnect to " + tracker }

// AuthoriseOn is the link of the second step.
func AuthoriseOn(tracker string) string { return "Authorise mishap on " + tracker }

// RequestExpires says how long the request is valid.
func RequestExpires(at string) string { return "This request expires at " + at + "." }

// TokenFrom says where an access token is stored.
func TokenFrom(origin string) string { return ", from " + origin }

// TrackerFromFile names the configuration file as an origin.
func TrackerFromFile(file string) string { return "the configuration file of this instance, " + file }

// TrackerLinesMeans says what to do with the lines.
func TrackerLinesMeans(file string) string {
	return "The connection works: the access token is stored in the database, for all instances. To store it in " + file +
		" as well, add these two lines:"
}

// DisconnectMeans says what disconnecting does.
func DisconnectMeans(tracker string) string {
	return "All instances without a token of their own stop creating bugs. mishap stays authorised on " + tracker +
		" until you revoke that there."
}

// DisconnectConfigured says how to disconnect an instance with a token in its configuration.
func DisconnectConfigured(origin string) string {
	return "This instance has its token from " + origin +
		". To disconnect it, remove the token there and restart. The button removes the copy in the database, which other " +
		"instances use."
}

// TokenRemoved confirms that only the copy in the database has been removed.
func TokenRemoved(origin string) string {
	return "The access token has been removed from the database. This instance stays connected with the token from " +
		origin + "."
}

// ConnectedAs confirms that the connection works.
func ConnectedAs(tracker, account string) string {
	return "Connected to " + tracker + " as " + account + "."
}

// BannerNotConnected warns admins on every page.
func BannerNotConnected(tracker string) string {
	return "mishap is not connected to " + tracker + ": no bugs are created."
}

// BannerRejected warns admins on every page.
func BannerRejected(tracker string) string {
	return tracker + " no longer accepts mishap’s access token: no bugs are created."
}

// BannerWaiting follows these warnings.
func BannerWaiting(n int64) string {
	return " " + Counted(n, "bug is", "bugs are") + " waiting; nothing is lost."
}

// Step numbers a step for screen readers: "Step 1 of 3, done".
func Step(number, of int, state string) string {
	return "Step " + strconv.Itoa(number) + " of " + strconv.Itoa(of) + ", " + state
}
