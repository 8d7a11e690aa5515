package views

// authoriseOn is the link of the second step.
func authoriseOn(tracker string) string { return "Authorise mishap on " + tracker }

// BannerRejected warns admins on every page.
func BannerRejected(tracker string) string {
	return tracker + " no longer accepts mishap’s access token: no bugs are created."
}

// connectTo is the button of the first step.
func connectTo(tracker string) string { return "Connect to " + tracker }

// reconnectTo is the button of the first step if there is a connection.
func reconnectTo(tracker string) string { return "Reconnect to " + tracker }

// requestExpires says how long the request is valid.
func requestExpires(at string) string { return "This request expires at " + at + "." }

const stepFinishMeans = "mishap fetches the access token and checks it."

// stepRequestMeans explains the first step.
func stepRequestMeans(tracker string) string {
	return "mishap asks " + tracker + " for a request token."
}

const trackerAccessUnknown = "as chosen when authorising (the tracker does not report it)"
